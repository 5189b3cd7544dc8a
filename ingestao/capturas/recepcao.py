"""Um lote de capturas, dos bytes ao COMMIT: ler, conferir, gravar, reconhecer reenvios, somar medidas."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from config.erros import ErroDaApi
from ingestao.capturas import gravacao, medidas
from ingestao.capturas.campos import escrever_instante
from ingestao.capturas.corpo import CorpoLido, ler_corpo
from ingestao.capturas.leitura import EventoInvalido, LoteInvalido, ler_eventos
from ingestao.capturas.medidas import Contagens, achar_faixa
from ingestao.capturas.preparo import Pronta, preparar
from ingestao.capturas.reenvios import CONFLITOS, Gravada
from ingestao.capturas.relatos import Relato, ler_pulso, ler_relato
from ingestao.eventos.corpo import CorpoRecusado
from ingestao.models import SituacaoDaRecusa

DETALHE_CARACTERES = 300


@dataclass(slots=True, kw_only=True)
class _Lote:
    """O que se acumula na transação de um lote."""

    dispositivo_id: UUID
    agora: datetime
    contagens: Contagens = field(default_factory=Counter)
    recusadas: dict[tuple[str | None, str], dict[str, Any]] = field(default_factory=dict)

    def contar(self, medida: str, quantas: int = 1) -> None:
        if quantas:
            self.contagens[medida, 0] += quantas

    def medir(self, medida: str, valor: float) -> None:
        self.contagens[medida, achar_faixa(valor)] += 1

    def recusar(
        self, situacao: SituacaoDaRecusa, indice: int, id_evento: str | None, codigo: str, detalhe: str
    ) -> dict[str, Any]:
        """Conta a recusa e devolve o resultado do evento."""
        prefixo = medidas.CONFLITOS if situacao == SituacaoDaRecusa.CONFLITO else medidas.INVALIDOS
        self.contar(prefixo + codigo)
        linha = self.recusadas.setdefault(
            (id_evento, codigo),
            {"id_evento": id_evento, "situacao": situacao.value, "codigo": codigo, "quantidade": 0},
        )
        linha["quantidade"] += 1
        linha["detalhe"] = detalhe[:DETALHE_CARACTERES]
        return {
            "id_evento": id_evento,
            "situacao": situacao.value,
            "codigo": codigo,
            "indice": indice,
            "detail": detalhe,
        }


def receber(
    dispositivo_id: UUID, corpo: bytes, cabecalhos: Mapping[str, Any], agora: datetime
) -> dict[str, Any]:
    """Grava um lote e devolve a resposta. Voltou sem exceção: está no disco.

    Levanta `ErroDaApi` (400, 413, 415) quando o lote inteiro não serve, ou o erro do banco.
    """
    lido = _ler(corpo, cabecalhos)
    try:
        itens = ler_eventos(lido.lote)
    except LoteInvalido as erro:
        status = 413 if erro.codigo == "eventos_demais" else 400
        raise ErroDaApi(status, erro.codigo, erro.detalhe) from erro
    crus = lido.lote["eventos"]
    relato = ler_relato(lido.lote, (cru.get("id_evento") if isinstance(cru, dict) else None for cru in crus))
    lote = _Lote(dispositivo_id=dispositivo_id, agora=agora)
    conferidos = [preparar(item, lido, agora) for item in itens]
    ids = {item.id_evento for item in itens}
    lote.contar(medidas.RECORTES_SEM_EVENTO, lido.partes_soltas + len(lido.recortes.keys() - ids))
    with transaction.atomic():
        resultados = _gravar(lote, conferidos, relato, lido.corpo)
        pedidos = _encerrar(lote, relato)
    return _responder(pedidos, agora, resultados=resultados)


def receber_pulso(dispositivo_id: UUID, cru: Any, agora: datetime) -> dict[str, Any]:
    """Grava o estado do aparelho, os descartes e as latências; devolve a hora e os pedidos."""
    if not isinstance(cru, dict):
        raise ErroDaApi(400, "lote_invalido", "O pulso é um objeto JSON.")
    relato = ler_relato(cru)
    lote = _Lote(dispositivo_id=dispositivo_id, agora=agora)
    with transaction.atomic():
        _gravar(lote, [], relato, b"")
        gravacao.gravar_pulso(dispositivo_id, ler_pulso(cru), agora)
        pedidos = _encerrar(lote, relato)
    return _responder(pedidos, agora)


def _ler(corpo: bytes, cabecalhos: Mapping[str, Any]) -> CorpoLido:
    try:
        return ler_corpo(
            corpo,
            str(cabecalhos.get("CONTENT_TYPE", "")),
            str(cabecalhos.get("HTTP_CONTENT_ENCODING", "")),
        )
    except CorpoRecusado as erro:
        raise ErroDaApi(erro.status, erro.codigo, erro.detalhe) from erro


def _gravar(
    lote: _Lote, conferidos: list[Pronta | EventoInvalido], relato: Relato, corpo: bytes
) -> list[dict[str, Any]]:
    """Grava as novas, reconhece as outras e anota as latências; um resultado por evento, na ordem."""
    primeiras: dict[str, Pronta] = {}
    for item in conferidos:
        if isinstance(item, Pronta):
            primeiras.setdefault(item.id, item)
    novas = gravacao.gravar_capturas(lote.dispositivo_id, [p.linha for p in primeiras.values()], corpo)
    repetidas = {
        item.id
        for item in conferidos
        if isinstance(item, Pronta) and (item.id not in novas or item is not primeiras[item.id])
    }
    travadas = (
        gravacao.travar_capturas(repetidas | relato.latencias_ms.keys())
        if (repetidas or relato.latencias_ms)
        else {}
    )
    mudadas = _anotar_latencias(lote, relato.latencias_ms, travadas)
    resultados = []
    for indice, item in enumerate(conferidos):
        if isinstance(item, EventoInvalido):
            id_evento = str(item.id_evento) if item.id_evento else None
            resultados.append(
                lote.recusar(SituacaoDaRecusa.INVALIDO, indice, id_evento, item.codigo, item.detalhe)
            )
        elif item.id in novas and item is primeiras[item.id]:
            _medir_nova(lote, item)
            resultados.append(_gravado(item.id, novas[item.id]))
        else:
            resultados.append(_reconhecer(lote, indice, item, travadas[item.id], mudadas))
    gravacao.atualizar_capturas(mudadas[id_] for id_ in sorted(mudadas))
    return resultados


def _anotar_latencias(
    lote: _Lote, latencias_ms: Mapping[str, int], travadas: Mapping[str, Gravada]
) -> dict[str, Gravada]:
    """Anota, uma vez por captura, a latência que o aparelho mediu; devolve as capturas que mudaram."""
    mudadas = {}
    for id_evento, ms in latencias_ms.items():
        gravada = travadas.get(id_evento)
        if gravada is None or gravada.dispositivo_id != lote.dispositivo_id:
            lote.contar(medidas.LATENCIAS_SEM_CAPTURA)
        elif gravada.anotar_latencia(ms):
            mudadas[id_evento] = gravada
            lote.medir(medidas.LATENCIA_MS, ms)
    return mudadas


def _reconhecer(
    lote: _Lote, indice: int, item: Pronta, gravada: Gravada, mudadas: dict[str, Gravada]
) -> dict[str, Any]:
    """O resultado de um evento cujo id já estava gravado: o mesmo ACK, ou conflito."""
    codigo = gravada.decidir_conflito(lote.dispositivo_id, item.resumo)
    if codigo is not None:
        return lote.recusar(SituacaoDaRecusa.CONFLITO, indice, item.id, codigo, CONFLITOS[codigo])
    por_link = gravada.contar_reenvio(item.evento.tentativa)
    lote.contar(medidas.REENVIO_LINK if por_link else medidas.REENVIO_FILA)
    mudadas[item.id] = gravada
    return _gravado(item.id, gravada.gravado_em)


def _medir_nova(lote: _Lote, item: Pronta) -> None:
    lote.contar(medidas.GRAVADAS)
    recorte_bytes = item.linha.get("recorte_bytes")
    lote.medir(medidas.BYTES, len(item.evento.payload) + (recorte_bytes or 0))
    quadro = item.evento.quadro
    if recorte_bytes is None:
        lote.contar(medidas.RECORTES_AUSENTES)
    elif quadro is not None:
        area = item.linha["recorte_largura"] * item.linha["recorte_altura"]
        lote.medir(medidas.RAZAO_PPM, area * medidas.UM_EM_PPM / (quadro.largura * quadro.altura))


def _gravado(id_evento: str, gravado_em: datetime) -> dict[str, Any]:
    """Exatamente estas chaves, nesta ordem: um reenvio recebe os mesmos bytes."""
    return {
        "id_evento": id_evento,
        "situacao": "gravado",
        "gravado_em": escrever_instante(gravado_em),
    }


def _encerrar(lote: _Lote, relato: Relato) -> list[tuple[Any, ...]]:
    """O que fecha a transação de todo contato: descartes uma vez, recusadas, medidas; devolve os pedidos."""
    lote.contar(medidas.RELATOS_ILEGIVEIS, relato.ilegiveis)
    if relato.descartados and gravacao.gravar_relato(
        lote.dispositivo_id, relato.chave, relato.descartados, lote.agora
    ):
        for motivo, quantos in relato.descartados.items():
            lote.contar(medidas.DESCARTADOS + motivo, quantos)
    gravacao.gravar_recusadas(lote.dispositivo_id, list(lote.recusadas.values()), lote.agora)
    return gravacao.somar_e_listar_pedidos(lote.dispositivo_id, lote.contagens, lote.agora)


def _responder(pedidos: list[tuple[Any, ...]], agora: datetime, **mais: Any) -> dict[str, Any]:
    return {
        **mais,
        "pedidos": [descrever_pedido(pedido) for pedido in pedidos],
        "hora_servidor": escrever_instante(agora),
    }


def descrever_pedido(pedido: tuple[Any, ...]) -> dict[str, Any]:
    """Um pedido como o aparelho o recebe."""
    id_, id_evento, vence_em, quadro_bytes, quadro_sha256, recebidos_bytes, _ = pedido
    return {
        "id": id_,
        "id_evento": id_evento,
        "vence_em": escrever_instante(vence_em),
        "bytes": quadro_bytes,
        "sha256": quadro_sha256,
        "offset": recebidos_bytes,
    }
