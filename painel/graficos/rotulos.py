"""Como um gráfico diz instantes, quantidades e durações, e onde acaba o eixo."""

import math
from collections.abc import Sequence
from datetime import date, datetime

from django.utils import formats, timezone

from painel.graficos.formas import Rotulo

NAO_SE_MEDIU = "—"


def rotular_minutos(instantes: Sequence[datetime]) -> list[Rotulo]:
    """`14:05` no eixo e na dica, na hora local."""
    textos = [timezone.localtime(instante).strftime("%H:%M") for instante in instantes]
    return [Rotulo(curto=texto, longo=texto) for texto in textos]


def rotular_horas(instantes: Sequence[datetime]) -> list[Rotulo]:
    """`14h` no eixo, `03/07 14h` na dica."""
    locais = [timezone.localtime(instante) for instante in instantes]
    return [Rotulo(curto=f"{em:%H}h", longo=f"{em:%d/%m %H}h") for em in locais]


def rotular_dias(dias: Sequence[date]) -> list[Rotulo]:
    """`03/07` no eixo, `03/07/2026` na dica."""
    return [Rotulo(curto=f"{dia:%d/%m}", longo=f"{dia:%d/%m/%Y}") for dia in dias]


def arredondar_teto(maior: float) -> float:
    """O alto do eixo: o primeiro 1, 2, 4, 6, 8 ou 10 vezes potência de dez que cobre `maior`.

    Pares (menos o 1), para a metade ser um número inteiro.
    """
    if maior <= 1:
        return 1
    base = 10.0 ** math.floor(math.log10(maior))
    return next(fator * base for fator in (1, 2, 4, 6, 8, 10) if maior <= fator * base)


def mostrar_contagem(numero: float | None) -> str:
    """`12.345`; o que não veio é zero."""
    return str(formats.number_format(int(numero or 0), force_grouping=True))


def abreviar(numero: float | None) -> str:
    """`950`, `12 mil`, `1,5 mi`."""
    numero = numero or 0
    for divisor, sufixo in ((1_000_000_000, " bi"), (1_000_000, " mi"), (10_000, " mil")):
        if numero >= divisor:
            escala = 1_000 if sufixo == " mil" else divisor
            return f"{numero / escala:.1f}".removesuffix(".0").replace(".", ",") + sufixo
    return mostrar_contagem(numero)


def mostrar_duracao(ms: float | None) -> str:
    """`180 ms`, `1,2 s`, `3 min`; — quando não se mediu."""
    if ms is None:
        return NAO_SE_MEDIU
    if ms < 1_000:
        return f"{round(ms)} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.1f}".removesuffix(".0").replace(".", ",") + " s"
    return f"{mostrar_contagem(round(ms / 60_000))} min"


def mostrar_percentual(percentual: float | None) -> str:
    """`12%`, `0,4%`; — quando não se mediu. Entra em pontos percentuais (0 a 100)."""
    if percentual is None:
        return NAO_SE_MEDIU
    casas = 1 if 0 < percentual < 10 else 0
    return f"{percentual:.{casas}f}".removesuffix(".0").replace(".", ",") + "%"


def mostrar_bytes(quantos: float | None) -> str:
    """`850 B`, `21 kB`, `1,4 MB`, em potências de mil; — quando não se mediu."""
    if quantos is None:
        return NAO_SE_MEDIU
    for divisor, unidade in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if quantos >= divisor:
            escala = quantos / divisor
            casas = 1 if escala < 10 else 0
            return f"{escala:.{casas}f}".removesuffix(".0").replace(".", ",") + f" {unidade}"
    return f"{round(quantos)} B"
