"""As seis etapas da porta, na ordem do contrato, até o COMMIT. As recusas também são gravadas."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from ingestao.caixa.medida import TetoDaPorta
from ingestao.eventos import gravacao
from ingestao.eventos.chaves import AplicativoVisto, buscar_aplicativo
from ingestao.eventos.corpo import CorpoRecusado, ler_corpo
from ingestao.eventos.cota import franquia_estourada
from ingestao.eventos.leitura import (
    Envelope,
    EnvelopeInvalido,
    EventosLidos,
    ler_envelope,
    ler_eventos,
    ler_sessao,
)
from ingestao.eventos.limites import Janela, Vaga
from ingestao.eventos.origem import ler_origem, origem_autorizada
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models.sessao import PAIS_DESCONHECIDO

RECUSAS_LISTADAS = 50  # contrato da ingestão, etapa 6
PAIS_CARACTERES = 12

janela = Janela()
teto = TetoDaPorta(CAIXA_DE_LOTES)


class Recusado(Exception):
    """O lote inteiro foi recusado. `quantidade` é o número de eventos que ele trazia, se chegou a ser lido."""

    def __init__(
        self,
        status: int,
        codigo: str,
        detalhe: str,
        *,
        aplicativo_id: UUID | None = None,
        quantidade: int = 0,
        espera_s: int | None = None,
    ) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe
        self.aplicativo_id = aplicativo_id
        self.quantidade = quantidade
        self.espera_s = espera_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Recibo:
    """O que responder. `gravou` diz se há algo na caixa que um worker deva aplicar."""

    resposta: dict[str, Any]
    gravou: bool


def receber(corpo: bytes, cabecalhos: Mapping[str, Any], recebido_em: datetime) -> Recibo:
    """Confere e grava um lote; `cabecalhos` na forma WSGI (`HTTP_ORIGIN`…).

    Levanta `Recusado`, `PortaFechada` (503 antes de contar qualquer coisa) ou o erro do banco.
    """
    teto.conferir(settings.TETO_DA_CAIXA)
    envelope = _ler(corpo, cabecalhos)
    aplicativo = buscar_aplicativo(envelope.chave)
    if aplicativo is None:
        raise Recusado(
            401,
            "chave_desconhecida",
            "A chave não pertence a nenhum aplicativo ativo.",
            quantidade=len(envelope.eventos),
        )
    _conferir_origem(aplicativo, cabecalhos, envelope)
    lidos = ler_eventos(envelope.eventos, recebido_em)
    if not lidos.aceitos:
        return _so_recusas(aplicativo, lidos, recebido_em)
    sessao = _ler_sessao(aplicativo, envelope)
    sessao["pais"] = _pais(cabecalhos)
    vaga = _conferir_limites(aplicativo, len(envelope.eventos), len(lidos.aceitos), recebido_em)
    try:
        gravacao.gravar_lote(
            recebido_em=recebido_em,
            aplicativo_id=aplicativo.id,
            conteudo=orjson.dumps({"sessao": sessao, "eventos": lidos.aceitos}),
            peso=len(lidos.aceitos),
            recusas=_contar(lidos),
        )
    except (OperationalError, InterfaceError):
        janela.devolver(str(aplicativo.id), len(lidos.aceitos), vaga)  # nada gravado, nada contado
        raise
    return Recibo(resposta=_resposta(lidos), gravou=True)


def recusar(recusa: Recusado, recebido_em: datetime) -> None:
    """Grava a recusa de uma requisição inteira: ela aparece no uso com o seu motivo."""
    gravacao.gravar_lote(
        recebido_em=recebido_em,
        aplicativo_id=recusa.aplicativo_id,
        conteudo=None,
        peso=1,
        recusas={recusa.codigo: [1, recusa.quantidade]},
    )


def _ler(corpo: bytes, cabecalhos: Mapping[str, Any]) -> Envelope:
    try:
        return ler_envelope(ler_corpo(corpo, cabecalhos.get("HTTP_CONTENT_ENCODING", "")))
    except CorpoRecusado as erro:
        raise Recusado(erro.status, erro.codigo, erro.detalhe) from erro
    except EnvelopeInvalido as erro:
        raise Recusado(400, erro.codigo, erro.detalhe) from erro


def _conferir_origem(aplicativo: AplicativoVisto, cabecalhos: Mapping[str, Any], envelope: Envelope) -> None:
    origem = ler_origem(cabecalhos.get("HTTP_ORIGIN"), cabecalhos.get("HTTP_REFERER"))
    if origem is None or not (
        origem_autorizada(origem, aplicativo.dominios) or origem == _origem_do_painel()
    ):
        raise Recusado(
            403,
            "origem_nao_autorizada",
            "A origem desta página não está nos domínios do aplicativo; acrescente-a no painel.",
            aplicativo_id=aplicativo.id,
            quantidade=len(envelope.eventos),
        )


def _origem_do_painel() -> str | None:
    return ler_origem(settings.URL_FRONTEND or None, None)


def _ler_sessao(aplicativo: AplicativoVisto, envelope: Envelope) -> dict[str, str | None]:
    try:
        return ler_sessao(envelope.sessao)
    except EnvelopeInvalido as erro:
        raise Recusado(
            400, erro.codigo, erro.detalhe, aplicativo_id=aplicativo.id, quantidade=len(envelope.eventos)
        ) from erro


def _conferir_limites(
    aplicativo: AplicativoVisto, trazidos: int, aceitos: int, recebido_em: datetime
) -> Vaga:
    """Confere a janela e a franquia, nesta ordem; devolve a vaga contada. Lote recusado não gasta a janela."""
    vaga = janela.contar(str(aplicativo.id), aceitos, settings.LIMITE_POR_MINUTO)
    if not vaga.coube:
        raise Recusado(
            429,
            "limite_por_minuto",
            f"Mais de {settings.LIMITE_POR_MINUTO} eventos em um minuto nesta chave; espere e reenvie.",
            aplicativo_id=aplicativo.id,
            quantidade=trazidos,
            espera_s=vaga.espera_s,
        )
    try:
        estourada = franquia_estourada(aplicativo, timezone.localtime(recebido_em).date())
    except (OperationalError, InterfaceError):
        janela.devolver(str(aplicativo.id), aceitos, vaga)
        raise
    if estourada:
        janela.devolver(str(aplicativo.id), aceitos, vaga)
        raise Recusado(
            402,
            "franquia_estourada",
            "A franquia de eventos do mês acabou; fale com quem administra o Lastro.",
            aplicativo_id=aplicativo.id,
            quantidade=trazidos,
        )
    return vaga


def _so_recusas(aplicativo: AplicativoVisto, lidos: EventosLidos, recebido_em: datetime) -> Recibo:
    """Lista vazia, ou nenhum evento que sirva: 202 com zero aceitos e nenhuma sessão."""
    recusas = _contar(lidos)
    if recusas is not None:
        gravacao.gravar_lote(
            recebido_em=recebido_em, aplicativo_id=aplicativo.id, conteudo=None, peso=1, recusas=recusas
        )
    return Recibo(resposta=_resposta(lidos), gravou=recusas is not None)


def _contar(lidos: EventosLidos) -> dict[str, list[int]] | None:
    """`{motivo: [requisições, eventos]}` dos eventos recusados, ou None."""
    contagem = Counter(recusa.codigo for recusa in lidos.recusas)
    return {codigo: [0, quantos] for codigo, quantos in contagem.items()} or None


def _resposta(lidos: EventosLidos) -> dict[str, Any]:
    return {
        "aceitos": len(lidos.aceitos),
        "recusados": len(lidos.recusas),
        "recusas": [
            {"indice": recusa.indice, "codigo": recusa.codigo} for recusa in lidos.recusas[:RECUSAS_LISTADAS]
        ],
    }


def _pais(cabecalhos: Mapping[str, Any]) -> str:
    """O país que a borda (Cloudflare ou Vercel) anotou; o IP não é guardado."""
    pais = cabecalhos.get("HTTP_CF_IPCOUNTRY") or cabecalhos.get("HTTP_X_VERCEL_IP_COUNTRY") or ""
    pais = pais.strip().upper()
    return (
        pais if 0 < len(pais) <= PAIS_CARACTERES and pais.isalnum() and pais.isascii() else PAIS_DESCONHECIDO
    )
