"""O que cruza a fronteira entre a transportadora e nós: a chamada crua, o recibo lido e a resposta."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from dlr.dominio.estados import Estado


class MotivoIlegivel(StrEnum):
    """Por que um item não virou recibo; é também o tipo da exceção que ele abre."""

    FORMATO_NAO_RECONHECIDO = "formato_nao_reconhecido"
    RECIBO_PARCIAL = "recibo_parcial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chamada:
    """Uma chamada da transportadora, exatamente como chegou.

    `url` é a pública, inteira, com a consulta (há assinaturas sobre ela). `cabecalhos` tem nomes em
    minúsculas. `consulta` e `corpo` são os bytes recebidos.
    """

    metodo: str
    url: str
    consulta: bytes
    cabecalhos: Mapping[str, str]
    corpo: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempo:
    """Uma data comunicada: como veio e, se foi possível ler sem adivinhar, o instante."""

    bruto: str
    em: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recibo:
    """Um recibo lido. Textos são os recebidos, sem espaço nas pontas e nada mais; números de id são texto.

    `estado` None com `estado_bruto` presente: o estado não está na tabela do formato. `final` só é
    preenchido quando a própria transportadora diz se o recibo encerra a história; senão decide a regra da
    integração. `id_evento` é o id do evento, não da mensagem. `notas` são observações para pessoas.
    """

    id_externo: str | None
    estado_bruto: str | None
    estado: Estado | None
    final: bool | None = None
    codigo_erro: str | None = None
    origem: str | None = None
    destino: str | None = None
    parte: int | None = None
    id_evento: str | None = None
    apresentada: Tempo | None = None
    concluida: Tempo | None = None
    notas: tuple[str, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def completo(self) -> bool:
        """Tem o mínimo para valer: de que mensagem fala e o que diz dela."""
        return bool(self.id_externo) and self.estado_bruto is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ilegivel:
    """Um item (ou a chamada inteira) de que não saiu recibo. `bruto` é o pedaço, para a pessoa ler."""

    motivo: MotivoIlegivel
    detalhe: str
    bruto: str = ""


Item = Recibo | Ilegivel


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """O que a transportadora espera ouvir quando deu certo."""

    status: int = 200
    corpo: bytes = b""
    tipo: str = "text/plain; charset=utf-8"
