"""Quadros sorteados: ruído, degradês e retângulos, com as detecções dentro e nas bordas. Puro."""

import random
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageDraw, ImageFilter

TAMANHOS = ((320, 240), (640, 360), (640, 480), (800, 600))
LETRAS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cena:
    """Um quadro JPEG, as caixas (x, y, largura, altura) e o payload."""

    quadro: bytes
    caixas: list[tuple[float, float, float, float]]
    payload: dict[str, object]


def sortear_cena(dado: random.Random) -> Cena:
    """Uma cena nova; o mesmo dado dá a mesma."""
    largura, altura = dado.choice(TAMANHOS)
    imagem = _fundo(dado, largura, altura)
    desenho = ImageDraw.Draw(imagem)
    caixas = [_caixa(dado, largura, altura) for _ in range(dado.choices((0, 1, 2, 3), (1, 7, 2, 1))[0])]
    for x, y, lado_x, lado_y in caixas:
        desenho.rectangle((x, y, x + lado_x, y + lado_y), fill=_cor(dado), outline=_cor(dado), width=3)
    saida = BytesIO()
    imagem.save(saida, "JPEG", quality=dado.choice((70, 80, 90)))
    placa = f"{''.join(dado.choices(LETRAS, k=3))}{dado.randrange(10)}{dado.choice(LETRAS)}{dado.randrange(100):02d}"
    return Cena(
        quadro=saida.getvalue(),
        caixas=caixas,
        payload={"placa": placa, "confianca": round(dado.uniform(0.5, 1), 3), "faixa": dado.randrange(4)},
    )


def _fundo(dado: random.Random, largura: int, altura: int) -> Image.Image:
    """Ruído suave, que comprime mal, ou um degradê colorido, que comprime bem."""
    if dado.random() < 0.3:
        cinza = Image.frombytes("L", (largura, altura), dado.randbytes(largura * altura))
        cinza = cinza.filter(ImageFilter.GaussianBlur(1))
    else:
        cinza = Image.linear_gradient("L").resize((largura, altura)).rotate(dado.choice((0, 180)))
    deslocados = [cinza.point([(tom + desvio) % 256 for tom in range(256)]) for desvio in _cor(dado)]
    return Image.merge("RGB", deslocados)


def _caixa(dado: random.Random, largura: int, altura: int) -> tuple[float, float, float, float]:
    """Quase sempre dentro; às vezes passando da borda, como as de um detector."""
    return (
        round(dado.uniform(-20, largura - 30), 1),
        round(dado.uniform(-20, altura - 30), 1),
        round(dado.uniform(25, largura / 3), 1),
        round(dado.uniform(25, altura / 3), 1),
    )


def _cor(dado: random.Random) -> tuple[int, int, int]:
    return dado.randrange(256), dado.randrange(256), dado.randrange(256)
