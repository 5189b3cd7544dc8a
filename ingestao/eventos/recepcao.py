"""As seis etapas da porta, na ordem do contrato, até o COMMIT. As recusas também são gravadas.

O que chegou junto anda junto: cada etapa roda em todos, a janela é uma ida ao Valkey e a caixa é um COMMIT.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone

from config.chegada import Pedido, Resposta, responder_erro
from ingestao.caixa import ItemDoGrupo, TetoDaPorta, em_cada, gravar_juntos
from ingestao.eventos import gravacao
from ingestao.eventos.chaves import AplicativoVisto, buscar_aplicativo
from ingestao.eventos.corpo import CorpoRecusado, ler_corpo
from ingestao.eventos.cota import franquia_estourada
from ingestao.eventos.gravacao import LoteNovo
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


class Recebimento(ItemDoGrupo[LoteNovo]):
    """Um POST a caminho da caixa. `aplicativo` e `vaga` só existem para o lote com eventos a guardar.

    `trazidos` e `aceitos` contam eventos; a vaga é devolvida se o lote não for gravado.
    """

    __slots__ = ("aceitos", "aplicativo", "recebido_em", "trazidos", "vaga")

    def __init__(self, pedido: Pedido, recebido_em: datetime) -> None:
        super().__init__(pedido)
        self.recebido_em = recebido_em
        self.aplicativo: AplicativoVisto | None = None
        self.vaga: Vaga | None = None
        self.trazidos = self.aceitos = 0

    def recusar(self, recusa: Recusado) -> None:
        """Troca o lote pela recusa dele, que também é gravada antes de responder."""
        self.linha = linha_da_recusa(recusa, self.recebido_em)
        self.resposta = responder_erro(recusa.status, recusa.codigo, recusa.detalhe, recusa.espera_s)


def receber(itens: Sequence[Recebimento]) -> bool:
    """Confere e grava os lotes; cada item sai com a resposta ou com a falha. Devolve se gravou algum.

    Falhas: `PortaFechada` (503 antes de contar qualquer coisa) ou o erro do banco.
    """
    em_cada(itens, lambda item: teto.conferir(settings.TETO_DA_CAIXA))
    em_cada(itens, _conferir)
    com_eventos = [item for item in itens if item.falha is None and item.aplicativo is not None]
    _contar_na_janela(com_eventos)
    em_cada(com_eventos, _conferir_franquia)
    gravados = gravar_juntos(itens, gravacao.gravar_lotes)
    for item in com_eventos:
        if item.falha is not None:  # nada gravado, nada contado
            _devolver_vaga(item)
    return gravados > 0


def linha_da_recusa(recusa: Recusado, recebido_em: datetime) -> LoteNovo:
    """A recusa de uma requisição inteira, como item da caixa: ela aparece no uso com o seu motivo."""
    return LoteNovo(
        recebido_em=recebido_em,
        aplicativo_id=recusa.aplicativo_id,
        conteudo=None,
        peso=1,
        recusas={recusa.codigo: [1, recusa.quantidade]},
    )


def _conferir(item: Recebimento) -> None:
    chegada = item.pedido.chegada
    try:
        envelope = _ler(chegada.corpo, chegada.cabecalhos)
        aplicativo = _buscar_aplicativo(envelope)
        _conferir_origem(aplicativo, chegada.cabecalhos, envelope)
        lidos = ler_eventos(envelope.eventos, item.recebido_em)
        if lidos.aceitos:
            _preparar_lote(item, aplicativo, envelope, lidos)
        else:
            _preparar_so_recusas(item, aplicativo, lidos)
    except Recusado as recusa:
        item.recusar(recusa)


def _preparar_lote(
    item: Recebimento, aplicativo: AplicativoVisto, envelope: Envelope, lidos: EventosLidos
) -> None:
    sessao = _ler_sessao(aplicativo, envelope)
    sessao["pais"] = _pais(item.pedido.chegada.cabecalhos)
    item.aplicativo, item.trazidos, item.aceitos = aplicativo, len(envelope.eventos), len(lidos.aceitos)
    item.linha = LoteNovo(
        recebido_em=item.recebido_em,
        aplicativo_id=aplicativo.id,
        conteudo=orjson.dumps({"sessao": sessao, "eventos": lidos.aceitos}),
        peso=len(lidos.aceitos),
        recusas=_contar(lidos),
    )
    item.resposta = _resposta(lidos)


def _preparar_so_recusas(item: Recebimento, aplicativo: AplicativoVisto, lidos: EventosLidos) -> None:
    """Lista vazia, ou nenhum evento que sirva: 202 com zero aceitos e nenhuma sessão."""
    recusas = _contar(lidos)
    if recusas is not None:
        item.linha = LoteNovo(
            recebido_em=item.recebido_em,
            aplicativo_id=aplicativo.id,
            conteudo=None,
            peso=1,
            recusas=recusas,
        )
    item.resposta = _resposta(lidos)


def _ler(corpo: bytes, cabecalhos: Mapping[str, str]) -> Envelope:
    try:
        return ler_envelope(ler_corpo(corpo, cabecalhos.get("content-encoding", "")))
    except CorpoRecusado as erro:
        raise Recusado(erro.status, erro.codigo, erro.detalhe) from erro
    except EnvelopeInvalido as erro:
        raise Recusado(400, erro.codigo, erro.detalhe) from erro


def _buscar_aplicativo(envelope: Envelope) -> AplicativoVisto:
    aplicativo = buscar_aplicativo(envelope.chave)
    if aplicativo is None:
        raise Recusado(
            401,
            "chave_desconhecida",
            "A chave não pertence a nenhum aplicativo ativo.",
            quantidade=len(envelope.eventos),
        )
    return aplicativo


def _conferir_origem(aplicativo: AplicativoVisto, cabecalhos: Mapping[str, str], envelope: Envelope) -> None:
    origem = ler_origem(cabecalhos.get("origin"), cabecalhos.get("referer"))
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


def _contar_na_janela(itens: Sequence[Recebimento]) -> None:
    """Conta os eventos de todos no minuto de cada chave. Lote recusado não gasta a janela."""
    vagas = janela.contar([(_chave(item), item.aceitos) for item in itens], settings.LIMITE_POR_MINUTO)
    for item, vaga in zip(itens, vagas, strict=True):
        if vaga.coube:
            item.vaga = vaga
        else:
            item.recusar(
                _recusado_no_limite(
                    item,
                    429,
                    "limite_por_minuto",
                    f"Mais de {settings.LIMITE_POR_MINUTO} eventos em um minuto nesta chave; "
                    "espere e reenvie.",
                    espera_s=vaga.espera_s,
                )
            )


def _conferir_franquia(item: Recebimento) -> None:
    assert item.aplicativo is not None
    if item.vaga is None:
        return  # já recusado pela janela
    if franquia_estourada(item.aplicativo, timezone.localtime(item.recebido_em).date()):
        _devolver_vaga(item)
        item.recusar(
            _recusado_no_limite(
                item,
                402,
                "franquia_estourada",
                "A franquia de eventos do mês acabou; fale com quem administra o Lastro.",
            )
        )


def _recusado_no_limite(
    item: Recebimento, status: int, codigo: str, detalhe: str, *, espera_s: int | None = None
) -> Recusado:
    assert item.aplicativo is not None
    return Recusado(
        status,
        codigo,
        detalhe,
        aplicativo_id=item.aplicativo.id,
        quantidade=item.trazidos,
        espera_s=espera_s,
    )


def _devolver_vaga(item: Recebimento) -> None:
    if item.vaga is not None:
        janela.devolver(_chave(item), item.aceitos, item.vaga)
        item.vaga = None


def _chave(item: Recebimento) -> str:
    assert item.aplicativo is not None
    return str(item.aplicativo.id)


def _contar(lidos: EventosLidos) -> dict[str, list[int]] | None:
    """`{motivo: [requisições, eventos]}` dos eventos recusados, ou None."""
    contagem = Counter(recusa.codigo for recusa in lidos.recusas)
    return {codigo: [0, quantos] for codigo, quantos in contagem.items()} or None


def _resposta(lidos: EventosLidos) -> Resposta:
    recusas: list[dict[str, Any]] = [
        {"indice": recusa.indice, "codigo": recusa.codigo} for recusa in lidos.recusas[:RECUSAS_LISTADAS]
    ]
    contagens = {"aceitos": len(lidos.aceitos), "recusados": len(lidos.recusas)}
    return Resposta(status=202, corpo=orjson.dumps({**contagens, "recusas": recusas}))


def _pais(cabecalhos: Mapping[str, str]) -> str:
    """O país que a borda (Cloudflare ou Vercel) anotou; o IP não é guardado."""
    pais = cabecalhos.get("cf-ipcountry") or cabecalhos.get("x-vercel-ip-country") or ""
    pais = pais.strip().upper()
    return (
        pais if 0 < len(pais) <= PAIS_CARACTERES and pais.isalnum() and pais.isascii() else PAIS_DESCONHECIDO
    )
