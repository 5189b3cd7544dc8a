"""O recorte: a conta da caixa, pura, e o corte em JPEG.

A caixa é presa ao quadro e arredondada para fora; nunca há preenchimento. O que não é caixa não impede o
evento: ele segue sem imagem, com o motivo.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image


MAX_RECORTE_BYTES = 2 * 1024 * 1024  # teto do servidor por imagem
LADOS = ("x", "y", "largura", "altura")
QUALIDADES_MENORES = (60, 35, 15)  # as tentativas seguintes de um recorte que passa do teto


@dataclass(frozen=True)
class Caixa:
    """Uma detecção em pixels do quadro; aceita frações e pode sair dele."""

    x: float
    y: float
    largura: float
    altura: float


@dataclass(frozen=True)
class Corte:
    """O retângulo que se corta: inteiro, dentro do quadro, com a margem já incluída."""

    x: int
    y: int
    largura: int
    altura: int
    margem: int


class SemRecorte(Exception):
    """Não há o que cortar; `motivo` é o código que vai no evento."""

    def __init__(self, motivo: str) -> None:
        super().__init__(motivo)
        self.motivo = motivo


def ler_caixa(valor: object) -> Caixa:
    """`Caixa`, dicionário com x, y, largura e altura, ou quatro números. Levanta SemRecorte("caixa_invalida")."""
    if isinstance(valor, Caixa):
        return valor
    try:
        partes: Any = [valor[nome] for nome in LADOS] if isinstance(valor, dict) else valor
        x, y, largura, altura = (float(parte) for parte in partes)
    except (TypeError, ValueError, KeyError, OverflowError) as erro:
        raise SemRecorte("caixa_invalida") from erro
    return Caixa(x, y, largura, altura)


def prender(
    caixa: Caixa, *, largura_quadro: int, altura_quadro: int, margem_px: int, lado_minimo_px: int
) -> Corte:
    """A caixa com margem, presa ao quadro e arredondada para fora.

    Levanta SemRecorte: `caixa_invalida` (lado zero ou negativo, NaN, infinito) ou `caixa_fora_do_quadro`.
    """
    numeros = (caixa.x, caixa.y, caixa.largura, caixa.altura)
    if not all(math.isfinite(numero) for numero in numeros) or min(caixa.largura, caixa.altura) <= 0:
        raise SemRecorte("caixa_invalida")
    x, largura = _prender_eixo(caixa.x, caixa.largura, largura_quadro, margem_px, lado_minimo_px)
    y, altura = _prender_eixo(caixa.y, caixa.altura, altura_quadro, margem_px, lado_minimo_px)
    return Corte(x=x, y=y, largura=largura, altura=altura, margem=margem_px)


def _prender_eixo(inicio: float, tamanho: float, limite: int, margem: int, minimo: int) -> tuple[int, int]:
    """Início e tamanho num eixo. O que falta para o mínimo cresce dos dois lados, sem sair do quadro."""
    fim = inicio + tamanho  # pode transbordar para infinito; o `min` abaixo o traz de volta
    if inicio >= limite or fim <= 0:
        raise SemRecorte("caixa_fora_do_quadro")
    de = math.floor(max(0.0, inicio - margem))
    ate = math.ceil(min(float(limite), fim + margem))
    falta = min(minimo, limite) - (ate - de)
    if falta > 0:
        de = min(max(0, de - falta // 2), limite - (ate - de) - falta)
        ate = de + min(minimo, limite)
    return de, ate - de


def unir(caixas: Iterable[Caixa]) -> Caixa:
    """A menor caixa que contém todas as que servem; se nenhuma serve, devolve uma delas (a conta dirá por quê)."""
    todas = list(caixas)
    validas = [c for c in todas if _serve(c)]
    if not validas:
        return todas[0]
    x, y = min(c.x for c in validas), min(c.y for c in validas)
    direita, base = max(c.x + c.largura for c in validas), max(c.y + c.altura for c in validas)
    return Caixa(x, y, direita - x, base - y)


def _serve(caixa: Caixa) -> bool:
    cantos = (caixa.x, caixa.y, caixa.x + caixa.largura, caixa.y + caixa.altura)
    return all(math.isfinite(canto) for canto in cantos) and caixa.largura > 0 and caixa.altura > 0


def cortar(imagem: Image.Image, corte: Corte, *, qualidade: int) -> bytes:
    """O recorte em JPEG, piorado até caber no teto. Levanta SemRecorte: `quadro_ilegivel` ou `recorte_grande`."""
    try:
        pedaco = imagem.crop((corte.x, corte.y, corte.x + corte.largura, corte.y + corte.altura))
        if pedaco.mode not in ("RGB", "L"):
            pedaco = pedaco.convert("RGB")
        for tentativa in (qualidade, *QUALIDADES_MENORES):
            saida = io.BytesIO()
            pedaco.save(saida, "JPEG", quality=tentativa)
            if saida.tell() <= MAX_RECORTE_BYTES:
                return saida.getvalue()
    except (OSError, ValueError, SyntaxError, MemoryError) as erro:
        raise SemRecorte("quadro_ilegivel") from erro
    raise SemRecorte("recorte_grande")
