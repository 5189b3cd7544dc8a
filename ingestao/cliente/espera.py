"""Quanto esperar antes de tentar de novo. Puro: o sorteio vem de fora."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Callable

Sorteio = Callable[[], float]  # devolve um número em [0, 1)

MAX_DOBRAS = 30  # 2**30 s são 34 anos: acima disso só se estaria multiplicando números sem sentido


def calcular_recuo_s(falhas: int, *, base_s: float, teto_s: float, sorteio: Sorteio) -> float:
    """Full jitter: uniforme em [0, min(teto, base·2^(falhas-1))]. Zero falhas ⇒ zero.

    O intervalo inteiro, e não só um pedaço dele, é o que separa 500 dispositivos que voltam juntos.
    """
    if falhas <= 0:
        return 0.0
    return sorteio() * min(teto_s, base_s * 2.0 ** min(falhas - 1, MAX_DOBRAS))


def calcular_pausa_s(retry_after_s: float, *, sorteio: Sorteio) -> float:
    """O que o servidor pediu, mais até metade: nunca antes da hora, nem todos na mesma hora."""
    return retry_after_s * (1.0 + sorteio() / 2.0)


def ler_retry_after_s(texto: str | None, *, teto_s: float, padrao_s: float, agora: datetime) -> float:
    """`Retry-After` em segundos ou data HTTP → segundos em [0, teto]. Ausente ou ilegível ⇒ o padrão."""
    if texto is None:
        return min(padrao_s, teto_s)
    texto = texto.strip()
    if texto.isascii() and texto.isdigit():
        return min(float(texto[:12]), teto_s)
    try:
        quando = parsedate_to_datetime(texto)
    except (TypeError, ValueError, IndexError, OverflowError):
        return min(padrao_s, teto_s)
    if quando.tzinfo is None:
        quando = quando.replace(tzinfo=timezone.utc)
    return max(0.0, min((quando - agora).total_seconds(), teto_s))
