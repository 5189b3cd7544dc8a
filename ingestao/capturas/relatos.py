"""O que um aparelho conta além dos eventos: descartes, latências e o pulso. Puro.

Um relato ruim não custa o lote: o que se lê vale, o que não se lê é contado (`relatos_ilegiveis`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson

from ingestao.capturas.campos import (
    IDADE_MAXIMA_MS,
    INT63_MAXIMO,
    CampoInvalido,
    ler_inteiro,
    ler_texto,
    ler_uuid,
)

LATENCIAS_MAXIMO = 1_000  # dez lotes cheios de ACKs
MOTIVOS_MAXIMO = 20
MOTIVO_CARACTERES = 40
DESCARTADOS_MAXIMO = (
    10**9
)  # por motivo e relato; mais que isto é engano, e a soma dos relatos cabe num bigint
RELATO_CARACTERES = 64
BOOT_CARACTERES = 64
VERSAO_CARACTERES = 60
OUTRO_MOTIVO = "outro"

_FORA_DO_MOTIVO = re.compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relato:
    """O que acompanha um contato. `chave` identifica o delta de descartes: aplicado uma vez por aparelho."""

    chave: str
    descartados: Mapping[str, int]
    latencias_ms: Mapping[str, int]
    ilegiveis: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulso:
    """O estado do aparelho; None é o que não veio ou não se leu."""

    versao: str
    boot_id: str
    fila_qtd: int | None
    fila_mais_antigo_s: float | None
    disco_livre_bytes: int | None
    quarentena: int | None
    quadros_qtd: int | None
    quadros_bytes: int | None
    relogio_suspeito: bool


def ler_relato(cru: Mapping[str, Any], ids: Iterable[Any] = ()) -> Relato:
    """Descartes e latências de um lote ou pulso; `ids` são os `id_evento` crus do lote.

    Sem `relato_id`, a chave se deriva da partida do aparelho, dos ids do lote e dos próprios descartes (da hora
    de envio, se não há eventos): o reenvio do mesmo lote tem a mesma chave.
    """
    descartados, ruins = _ler_descartados(cru.get("descartados"))
    latencias_ms, ruins_tambem = _ler_latencias(cru.get("latencias"))
    return Relato(
        chave=_ler_chave(cru, [str(id_) for id_ in ids], descartados) if descartados else "",
        descartados=descartados,
        latencias_ms=latencias_ms,
        ilegiveis=ruins + ruins_tambem,
    )


def _ler_chave(cru: Mapping[str, Any], ids: list[str], descartados: Mapping[str, int]) -> str:
    dado = cru.get("relato_id")
    if isinstance(dado, str) and 0 < len(dado) <= RELATO_CARACTERES:
        return dado
    origem = ids or [str(cru.get("enviado_em"))]
    canonico = orjson.dumps(
        [ler_texto(cru, "boot_id", BOOT_CARACTERES), sorted(origem), dict(descartados)],
        option=orjson.OPT_SORT_KEYS,
    )
    return sha256(canonico).hexdigest()


def _ler_descartados(cru: Any) -> tuple[dict[str, int], int]:
    if cru is None:
        return {}, 0
    if not isinstance(cru, dict):
        return {}, 1
    lidos: dict[str, int] = {}
    ruins = 0
    for motivo, quantos in cru.items():
        if type(quantos) is not int or not 0 <= quantos <= DESCARTADOS_MAXIMO:
            ruins += 1
        elif quantos:
            nome = _FORA_DO_MOTIVO.sub("_", motivo.lower())[:MOTIVO_CARACTERES].strip("_") or OUTRO_MOTIVO
            if nome not in lidos and len(lidos) >= MOTIVOS_MAXIMO:
                nome = OUTRO_MOTIVO
            lidos[nome] = lidos.get(nome, 0) + quantos
    return lidos, ruins


def _ler_latencias(cru: Any) -> tuple[dict[str, int], int]:
    if cru is None:
        return {}, 0
    if not isinstance(cru, list):
        return {}, 1
    lidas: dict[str, int] = {}
    ruins = max(0, len(cru) - LATENCIAS_MAXIMO)
    for item in cru[:LATENCIAS_MAXIMO]:
        lida = _ler_latencia(item)
        if lida is None:
            ruins += 1
        else:
            lidas.setdefault(str(lida[0]), lida[1])
    return lidas, ruins


def _ler_latencia(item: Any) -> tuple[UUID, int] | None:
    id_evento = ler_uuid(item.get("id_evento")) if isinstance(item, dict) else None
    ms = item.get("ms") if id_evento is not None else None
    if isinstance(ms, bool) or not isinstance(ms, int | float) or not 0 <= ms <= IDADE_MAXIMA_MS:
        return None
    return (id_evento, round(ms)) if id_evento is not None else None


def ler_pulso(cru: Mapping[str, Any]) -> Pulso:
    """O pulso; cada campo que não se lê vira None, e os outros valem."""
    fila = _objeto(cru, "fila")
    quadros = _objeto(cru, "quadros")
    return Pulso(
        versao=ler_texto(cru, "versao", VERSAO_CARACTERES),
        boot_id=ler_texto(cru, "boot_id", BOOT_CARACTERES),
        fila_qtd=_inteiro(fila, "qtd"),
        fila_mais_antigo_s=_segundos(fila, "mais_antigo_s"),
        disco_livre_bytes=_inteiro(cru, "disco_livre_bytes"),
        quarentena=_inteiro(cru, "quarentena"),
        quadros_qtd=_inteiro(quadros, "qtd"),
        quadros_bytes=_inteiro(quadros, "bytes"),
        relogio_suspeito=cru.get("relogio_suspeito") is True,
    )


def _objeto(cru: Mapping[str, Any], nome: str) -> Mapping[str, Any]:
    valor = cru.get(nome)
    return valor if isinstance(valor, dict) else {}


def _inteiro(cru: Mapping[str, Any], nome: str) -> int | None:
    try:
        return ler_inteiro(cru, nome, 0, INT63_MAXIMO)
    except CampoInvalido:
        return None


def _segundos(cru: Mapping[str, Any], nome: str) -> float | None:
    valor = cru.get(nome)
    if isinstance(valor, bool) or not isinstance(valor, int | float) or not 0 <= valor < INT63_MAXIMO:
        return None
    return float(valor)
