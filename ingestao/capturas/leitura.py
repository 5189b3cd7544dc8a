"""JSON → lote lido: cada evento serve ou é inválido com o seu motivo; um ruim nunca estraga os outros. Puro."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson

from ingestao.capturas.campos import (
    IDADE_MAXIMA_MS,
    INT32_MAXIMO,
    INT63_MAXIMO,
    CampoInvalido,
    escrever_instante,
    exigir,
    ler_etiqueta,
    ler_instante,
    ler_inteiro,
    ler_inteiro_ou_nada,
    ler_objeto,
    ler_sha256,
    ler_uuid,
    recusar_campo,
)

EVENTOS_POR_LOTE = 100  # contrato das capturas
PAYLOAD_MAXIMO_BYTES = 64 * 1024  # protocolo das capturas; medido como JSON compacto
PAYLOAD_NIVEIS = 32  # uma lista de detecções tem quatro ou cinco; raso para percorrer sem risco
QUADRO_MAXIMO_BYTES = 64 * 1024 * 1024  # um quadro 8K em PNG; o JPEG de um 4K tem 2 a 6 MB
QUADRO_MAXIMO_PX = 65_535  # o que um JPEG consegue ter de lado
TOLERANCIA_DO_RELOGIO = timedelta(minutes=10)  # o corpo pode levar cinco para subir (teto da porta)
ANO_DO_RELOGIO_ACERTADO = 2020  # antes disto, o aparelho ligou sem hora certa
VERSAO_DA_IDENTIDADE = 1


class LoteInvalido(ValueError):
    """O JSON não é um lote; `codigo` estável e a frase do que corrigir."""

    def __init__(self, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.detalhe = detalhe


@dataclass(frozen=True, slots=True, kw_only=True)
class Quadro:
    """O quadro inteiro, que ficou no aparelho: é o que se pode pedir depois."""

    largura: int
    altura: int
    bytes: int
    sha256: str
    expira_em: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caixa:
    """O recorte que foi mandado, em pixels do quadro, com a margem incluída; `margem` é quanto se pediu."""

    x: int
    y: int
    largura: int
    altura: int
    margem: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventoLido:
    """Um evento que serve, ainda sem a imagem. `payload` é o JSON compacto, de chaves ordenadas."""

    indice: int
    id_evento: UUID
    capturado_em: datetime
    idade_ms: int | None
    seq: int
    tentativa: int
    payload: bytes
    quadro: Quadro | None
    caixa: Caixa | None
    sem_recorte: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventoInvalido:
    """Por que o evento de posição `indice` (a partir de zero) não serve; `id_evento` None se nem ele se leu."""

    indice: int
    id_evento: UUID | None
    codigo: str
    detalhe: str


def ler_eventos(lote: Any) -> list[EventoLido | EventoInvalido]:
    """Lê os eventos de um lote, na ordem. Levanta `LoteInvalido` (lote_invalido, eventos_demais)."""
    if not isinstance(lote, dict):
        raise LoteInvalido("lote_invalido", "O lote é um objeto com `eventos`, uma lista.")
    crus = lote.get("eventos")
    if not isinstance(crus, list):
        raise LoteInvalido("lote_invalido", "Falta `eventos`, uma lista (vazia se não há nenhum).")
    if len(crus) > EVENTOS_POR_LOTE:
        raise LoteInvalido("eventos_demais", f"Até {EVENTOS_POR_LOTE} eventos por lote; divida ao meio.")
    return [ler_evento(cru, indice) for indice, cru in enumerate(crus)]


def ler_evento(cru: Any, indice: int) -> EventoLido | EventoInvalido:
    """Um evento lido, ou por que não serve. Nunca levanta por causa do conteúdo."""
    id_evento = ler_uuid(cru.get("id_evento")) if isinstance(cru, dict) else None
    if id_evento is None:
        return EventoInvalido(
            indice=indice,
            id_evento=None,
            codigo="id_evento_invalido",
            detalhe="O evento é um objeto com `id_evento`, um UUID feito na captura.",
        )
    try:
        return _ler(cru, indice, id_evento)
    except CampoInvalido as erro:
        return EventoInvalido(indice=indice, id_evento=id_evento, codigo=erro.codigo, detalhe=erro.detalhe)


def _ler(cru: Mapping[str, Any], indice: int, id_evento: UUID) -> EventoLido:
    quadro = _ler_quadro(ler_objeto(cru, "quadro"))
    return EventoLido(
        indice=indice,
        id_evento=id_evento,
        capturado_em=ler_instante(cru, "capturado_em"),
        idade_ms=ler_inteiro_ou_nada(cru, "idade_ms", 0, IDADE_MAXIMA_MS),
        seq=ler_inteiro(cru, "seq", 0, INT63_MAXIMO),
        tentativa=ler_inteiro(cru, "tentativa", 1, INT32_MAXIMO) if "tentativa" in cru else 1,
        payload=_ler_payload(exigir(cru, "payload")),
        quadro=quadro,
        caixa=_ler_caixa(ler_objeto(cru, "caixa"), quadro),
        sem_recorte=ler_etiqueta(cru, "sem_recorte"),
    )


def _ler_payload(payload: Any) -> bytes:
    """O payload em JSON compacto. Infinito, inteiro de mais de 64 bits ou fundo demais custam o evento.

    O texto compacto dispensa quase sempre as duas voltas pela árvore: sem tantos colchetes não há fundura, e o
    orjson escreve o infinito como null.
    """
    try:
        compacto = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except TypeError as erro:  # inteiro que não cabe em 64 bits, ou mais de 254 níveis
        raise recusar_campo("payload", f"inteiros de até 64 bits e até {PAYLOAD_NIVEIS} níveis") from erro
    if len(compacto) > PAYLOAD_MAXIMO_BYTES:
        raise CampoInvalido(
            "payload_grande", f"O payload tem {len(compacto)} bytes; o teto é {PAYLOAD_MAXIMO_BYTES}."
        )
    if compacto.count(b"{") + compacto.count(b"[") > PAYLOAD_NIVEIS and _funda_demais(payload):
        raise recusar_campo("payload", f"até {PAYLOAD_NIVEIS} níveis")
    if b"null" in compacto and not _so_finitos(payload):
        raise recusar_campo("payload", "números finitos")
    return compacto


def _funda_demais(payload: Any) -> bool:
    """Se há mais níveis que o permitido; para no primeiro a mais, sem recursão."""
    nivel = [payload]
    for _ in range(PAYLOAD_NIVEIS + 1):
        nivel = [
            filho
            for no in nivel
            if isinstance(no, dict | list)
            for filho in (no.values() if isinstance(no, dict) else no)
        ]
        if not nivel:
            return False
    return True


def _so_finitos(payload: Any) -> bool:
    """Se nenhum número é infinito ou NaN: escritos como null, guardariam o que não veio."""
    pilha = [payload]
    while pilha:
        no = pilha.pop()
        if isinstance(no, float):
            if no - no != 0.0:  # infinito ou NaN
                return False
        elif isinstance(no, dict):
            pilha.extend(no.values())
        elif isinstance(no, list):
            pilha.extend(no)
    return True


def _ler_quadro(cru: Mapping[str, Any] | None) -> Quadro | None:
    if cru is None:
        return None
    return Quadro(
        largura=ler_inteiro(cru, "largura", 1, QUADRO_MAXIMO_PX),
        altura=ler_inteiro(cru, "altura", 1, QUADRO_MAXIMO_PX),
        bytes=ler_inteiro(cru, "bytes", 1, QUADRO_MAXIMO_BYTES),
        sha256=ler_sha256(cru, "sha256"),
        expira_em=None if cru.get("expira_em") is None else ler_instante(cru, "expira_em"),
    )


def _ler_caixa(cru: Mapping[str, Any] | None, quadro: Quadro | None) -> Caixa | None:
    """A caixa, inteira dentro do quadro: é o recorte que foi mandado, já preso a ele."""
    if cru is None:
        return None
    caixa = Caixa(
        x=ler_inteiro(cru, "x", 0, QUADRO_MAXIMO_PX),
        y=ler_inteiro(cru, "y", 0, QUADRO_MAXIMO_PX),
        largura=ler_inteiro(cru, "largura", 1, QUADRO_MAXIMO_PX),
        altura=ler_inteiro(cru, "altura", 1, QUADRO_MAXIMO_PX),
        margem=ler_inteiro(cru, "margem", 0, QUADRO_MAXIMO_PX) if "margem" in cru else 0,
    )
    if quadro is not None and (
        caixa.x + caixa.largura > quadro.largura or caixa.y + caixa.altura > quadro.altura
    ):
        raise recusar_campo("caixa", f"dentro do quadro de {quadro.largura} × {quadro.altura}")
    return caixa


def resumir_conteudo(evento: EventoLido, recorte_sha256: str | None) -> str:
    """SHA-256 (hexadecimal) do que identifica a captura: o mesmo id com outro resumo é conflito.

    Entram capturado_em, seq, payload, quadro sem expira_em, caixa e o SHA-256 do recorte. Idade, tentativa e hora de
    envio mudam a cada reenvio e ficam de fora.
    """
    quadro, caixa = evento.quadro, evento.caixa
    canonico = orjson.dumps(
        [
            VERSAO_DA_IDENTIDADE,
            escrever_instante(evento.capturado_em),
            evento.seq,
            quadro and [quadro.largura, quadro.altura, quadro.bytes, quadro.sha256],
            caixa and [caixa.x, caixa.y, caixa.largura, caixa.altura, caixa.margem],
            recorte_sha256,
        ]
    )
    return sha256(canonico + b"\n" + evento.payload).hexdigest()


def suspeitar_da_hora(evento: EventoLido, agora: datetime) -> str:
    """Por que não se confia em `capturado_em` (um valor de `HoraSuspeita`); vazio quando confere.

    Com a idade monotônica, a captura foi por volta de `agora - idade`, e basta comparar. Sem ela (o aparelho
    reiniciou), só se reconhece o impossível.
    """
    if evento.capturado_em.year < ANO_DO_RELOGIO_ACERTADO:
        return "anterior_a_2020"
    if evento.capturado_em > agora + TOLERANCIA_DO_RELOGIO:
        return "no_futuro"
    if evento.idade_ms is not None:
        estimado_em = agora - timedelta(milliseconds=evento.idade_ms)
        if abs(evento.capturado_em - estimado_em) > TOLERANCIA_DO_RELOGIO:
            return "diverge_da_idade"
    return ""
