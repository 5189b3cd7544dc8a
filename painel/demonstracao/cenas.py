"""As imagens que os aparelhos da demonstração veem: um quadro desenhado, e a caixa do que se detectou nele. Puro."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

LARGURA, ALTURA = 960, 540
MARGEM = 16  # px em volta do que se detectou, como o aparelho os pede
QUALIDADE = 82
LETRAS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
CORES = ((178, 34, 52), (36, 78, 130), (240, 240, 236), (60, 64, 70), (196, 150, 40), (46, 110, 82))


class Assunto(StrEnum):
    """O que aparece na cena."""

    CARRO = "carro"
    CAMINHAO = "caminhao"
    PESSOA = "pessoa"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caixa:
    """Um retângulo em pixels do quadro."""

    x: int
    y: int
    largura: int
    altura: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cena:
    """O quadro inteiro e o recorte (JPEG), a caixa do recorte, e a placa lida (vazia se não há)."""

    assunto: Assunto
    quadro: bytes
    recorte: bytes
    caixa: Caixa
    placa: str

    @property
    def quadro_sha256(self) -> str:
        """O que confere o quadro, se ele for pedido."""
        return sha256(self.quadro).hexdigest()


def sortear_placa(acaso: random.Random) -> str:
    """Uma placa no padrão do Mercosul: LLLNLNN."""
    letras = [acaso.choice(LETRAS) for _ in range(4)]
    numeros = [str(acaso.randint(0, 9)) for _ in range(3)]
    return f"{''.join(letras[:3])}{numeros[0]}{letras[3]}{numeros[1]}{numeros[2]}"


def pintar(acaso: random.Random, assunto: Assunto, *, noite: bool, recortar: bool = True) -> Cena:
    """Pinta uma cena, sempre igual para o mesmo acaso.

    `recortar=False` é o aparelho cujo corte parou: o recorte é o quadro inteiro.
    """
    imagem = _fundo(acaso, noite)
    placa = "" if assunto is Assunto.PESSOA else sortear_placa(acaso)
    caixa = _PINTORES[assunto](ImageDraw.Draw(imagem), acaso, placa)
    if noite:
        imagem = Image.blend(imagem, Image.new("RGB", imagem.size, (8, 12, 30)), 0.35)
    caixa = _com_margem(caixa) if recortar else Caixa(x=0, y=0, largura=LARGURA, altura=ALTURA)
    recorte = imagem.crop((caixa.x, caixa.y, caixa.x + caixa.largura, caixa.y + caixa.altura))
    return Cena(assunto=assunto, quadro=_em_jpeg(imagem), recorte=_em_jpeg(recorte), caixa=caixa, placa=placa)


def _fundo(acaso: random.Random, noite: bool) -> Image.Image:
    """Céu, muro, pista com faixas, e o grão de uma câmera."""
    alto, baixo = ((24, 30, 58), (58, 62, 88)) if noite else ((150, 190, 224), (222, 232, 238))
    imagem = _degrade(alto, baixo).copy()
    desenho = ImageDraw.Draw(imagem)
    horizonte = 250 + acaso.randint(-12, 12)
    tom = acaso.randint(-10, 10)
    desenho.rectangle((0, horizonte - 90, LARGURA, horizonte), fill=(168 + tom, 158 + tom, 146 + tom))
    for x in range(-40 + acaso.randint(0, 60), LARGURA, 120):
        desenho.line((x, horizonte - 90, x, horizonte), fill=(140 + tom, 132 + tom, 122 + tom), width=3)
    desenho.rectangle((0, horizonte, LARGURA, horizonte + 26), fill=(128, 130, 126))
    desenho.rectangle((0, horizonte + 26, LARGURA, ALTURA), fill=(74, 76, 80))
    for x in range(-80 + acaso.randint(0, 160), LARGURA, 190):
        desenho.polygon(((x, 470), (x + 96, 470), (x + 80, 484), (x - 16, 484)), fill=(214, 206, 178))
    return imagem


@lru_cache(maxsize=4)
def _degrade(alto: tuple[int, int, int], baixo: tuple[int, int, int]) -> Image.Image:
    coluna = Image.new("RGB", (1, ALTURA))
    for y in range(ALTURA):
        fracao = min(1.0, y / 250)
        coluna.putpixel((0, y), tuple(round(a + (b - a) * fracao) for a, b in zip(alto, baixo, strict=True)))
    return coluna.resize((LARGURA, ALTURA))


def _pintar_carro(desenho: ImageDraw.ImageDraw, acaso: random.Random, placa: str) -> Caixa:
    """Um carro de frente, com faróis, vidro e placa."""
    x, y, cor = acaso.randint(120, 520), acaso.randint(210, 250), acaso.choice(CORES)
    escuro = tuple(c * 6 // 10 for c in cor)
    desenho.ellipse((x + 8, y + 196, x + 312, y + 236), fill=(48, 49, 52))
    for roda in (x + 18, x + 250):
        desenho.rounded_rectangle((roda, y + 150, roda + 52, y + 222), 12, fill=(26, 27, 30))
    desenho.polygon(((x + 66, y), (x + 254, y), (x + 290, y + 86), (x + 30, y + 86)), fill=escuro)
    desenho.polygon(
        ((x + 80, y + 12), (x + 240, y + 12), (x + 266, y + 78), (x + 54, y + 78)), fill=(150, 182, 200)
    )
    desenho.line((x + 104, y + 16, x + 78, y + 74), fill=(206, 226, 236), width=5)
    desenho.rounded_rectangle((x, y + 80, x + 320, y + 196), 30, fill=cor)
    desenho.rounded_rectangle((x + 78, y + 112, x + 242, y + 138), 8, fill=(34, 36, 40))
    for farol in (x + 18, x + 252):
        desenho.ellipse((farol, y + 104, farol + 50, y + 138), fill=(250, 246, 214), outline=escuro, width=3)
    _pintar_placa(desenho, x + 104, y + 150, placa)
    return Caixa(x=x, y=y, largura=321, altura=237)


def _pintar_caminhao(desenho: ImageDraw.ImageDraw, acaso: random.Random, placa: str) -> Caixa:
    """Um baú de lado, com a cabine à direita."""
    x, y, cor = acaso.randint(60, 320), acaso.randint(150, 190), acaso.choice(CORES)
    desenho.ellipse((x, y + 258, x + 520, y + 300), fill=(48, 49, 52))
    desenho.rectangle((x, y, x + 360, y + 232), fill=(232, 232, 228), outline=(150, 150, 148), width=4)
    desenho.rectangle((x + 4, y + 92, x + 356, y + 130), fill=cor)
    desenho.rounded_rectangle((x + 366, y + 66, x + 512, y + 240), 18, fill=cor)
    desenho.polygon(
        ((x + 404, y + 82), (x + 486, y + 82), (x + 504, y + 148), (x + 404, y + 148)), fill=(150, 182, 200)
    )
    desenho.rectangle((x, y + 232, x + 512, y + 252), fill=(52, 54, 58))
    for roda in (x + 40, x + 118, x + 410):
        desenho.ellipse((roda, y + 222, roda + 72, y + 294), fill=(24, 25, 28))
        desenho.ellipse((roda + 22, y + 244, roda + 50, y + 272), fill=(150, 152, 156))
    _pintar_placa(desenho, x + 224, y + 246, placa)
    return Caixa(x=x, y=y, largura=521, altura=301)


def _pintar_pessoa(desenho: ImageDraw.ImageDraw, acaso: random.Random, placa: str) -> Caixa:
    """Alguém de colete e capacete."""
    x, y = acaso.randint(180, 700), acaso.randint(170, 210)
    colete = acaso.choice(((236, 120, 28), (198, 214, 40)))
    desenho.ellipse((x + 4, y + 286, x + 132, y + 312), fill=(48, 49, 52))
    for perna in (x + 40, x + 76):
        desenho.rounded_rectangle((perna, y + 180, perna + 28, y + 300), 10, fill=(44, 56, 84))
    desenho.rounded_rectangle((x + 26, y + 76, x + 118, y + 196), 22, fill=colete)
    for faixa in (y + 112, y + 150):
        desenho.rectangle((x + 28, faixa, x + 116, faixa + 12), fill=(238, 238, 226))
    for braco in (x + 6, x + 112):
        desenho.rounded_rectangle((braco, y + 84, braco + 24, y + 184), 12, fill=(66, 80, 112))
    desenho.ellipse((x + 44, y + 22, x + 100, y + 84), fill=(150, 104, 76))
    desenho.pieslice((x + 36, y, x + 108, y + 76), 180, 360, fill=(244, 244, 240))
    desenho.rectangle((x + 30, y + 36, x + 114, y + 44), fill=(214, 214, 208))
    return Caixa(x=x, y=y, largura=141, altura=313)


def _pintar_placa(desenho: ImageDraw.ImageDraw, x: int, y: int, placa: str) -> None:
    desenho.rounded_rectangle((x, y, x + 112, y + 38), 5, fill=(246, 246, 242), outline=(30, 30, 34), width=2)
    desenho.rectangle((x + 2, y + 2, x + 110, y + 11), fill=(24, 62, 140))
    desenho.text((x + 56, y + 24), placa, font=_letra(22), fill=(24, 24, 28), anchor="mm")


@lru_cache(maxsize=4)
def _letra(tamanho: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(tamanho)


def _com_margem(caixa: Caixa) -> Caixa:
    """A caixa com a margem em volta, presa ao quadro."""
    x, y = max(0, caixa.x - MARGEM), max(0, caixa.y - MARGEM)
    return Caixa(
        x=x,
        y=y,
        largura=min(LARGURA, caixa.x + caixa.largura + MARGEM) - x,
        altura=min(ALTURA, caixa.y + caixa.altura + MARGEM) - y,
    )


def _em_jpeg(imagem: Image.Image) -> bytes:
    saida = BytesIO()
    imagem.save(saida, "JPEG", quality=QUALIDADE)
    return saida.getvalue()


_PINTORES: dict[Assunto, Callable[[ImageDraw.ImageDraw, random.Random, str], Caixa]] = {
    Assunto.CARRO: _pintar_carro,
    Assunto.CAMINHAO: _pintar_caminhao,
    Assunto.PESSOA: _pintar_pessoa,
}
