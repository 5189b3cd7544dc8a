"""Quando duas recepções são o mesmo evento lógico.

Com id de evento do fornecedor, ele é a chave, no âmbito da integração. Sem ele, a chave é a impressão
digital de atributos que a transportadora repete iguais quando reenvia. Ficam de fora os que variam na
forma (destino com e sem `+`) ou que são nossos (hora de recepção, cabeçalhos).

Risco conhecido da versão 1: dois acontecimentos com o mesmo id, estado, erro e datas, que a
transportadora não distingue, contam como um. É o que a evidência permite dizer; as recepções ficam todas.
"""

import hashlib
from dataclasses import dataclass

from dlr.dominio.recibo import Recibo

VERSAO = 1
ID_CARACTERES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaveDeEvento:
    """A chave de deduplicação e do que ela foi feita (guardado com o evento).

    `conteudo` é a impressão digital mesmo quando a chave é o id do fornecedor: o mesmo id com outro
    conteúdo é `id_de_evento_reutilizado`, não repetição.
    """

    chave: str
    conteudo: str
    componentes: tuple[tuple[str, str], ...]
    versao: int = VERSAO


def decidir_chave(recibo: Recibo) -> ChaveDeEvento:
    """Devolve a chave do evento lógico de um recibo."""
    componentes = tuple((nome, valor) for nome, valor in _atributos(recibo) if valor is not None)
    # Comprimento antes de cada parte: "a" + "bc" nunca se confunde com "ab" + "c".
    canonica = "".join(f"{len(nome)}:{nome}{len(valor)}:{valor}" for nome, valor in componentes)
    conteudo = hashlib.sha256(f"v{VERSAO}|{canonica}".encode("utf-8", "surrogatepass")).hexdigest()
    chave = f"evento:{_encurtar(recibo.id_evento)}" if recibo.id_evento else f"impressao:v{VERSAO}:{conteudo}"
    return ChaveDeEvento(chave=chave, conteudo=conteudo, componentes=componentes)


def _encurtar(id_evento: str) -> str:
    """O id como veio; acima de `ID_CARACTERES`, o resumo dele (cabe no índice e continua único)."""
    if len(id_evento) <= ID_CARACTERES:
        return id_evento
    return "sha256:" + hashlib.sha256(id_evento.encode("utf-8", "surrogatepass")).hexdigest()


def _atributos(recibo: Recibo) -> tuple[tuple[str, str | None], ...]:
    return (
        ("id_externo", recibo.id_externo),
        ("parte", None if recibo.parte is None else str(recibo.parte)),
        ("estado_bruto", recibo.estado_bruto),
        ("codigo_erro", recibo.codigo_erro),
        ("apresentada", recibo.apresentada.bruto if recibo.apresentada else None),
        ("concluida", recibo.concluida.bruto if recibo.concluida else None),
    )
