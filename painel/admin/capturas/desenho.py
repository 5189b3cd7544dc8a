"""O quadro, a caixa mandada e a detecção dentro dela, em SVG: números inteiros em pixels do quadro. Puro."""

from dataclasses import dataclass

from ingestao.models import Captura


@dataclass(frozen=True, slots=True, kw_only=True)
class Retangulo:
    """Em pixels do quadro."""

    x: int
    y: int
    largura: int
    altura: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Desenho:
    """O que `painel/capturas/desenho.html` mostra."""

    quadro: Retangulo
    caixa: Retangulo | None
    dentro: Retangulo | None
    descricao: str


def desenhar(captura: Captura) -> Desenho | None:
    """O desenho da captura; None se o aparelho não informou o quadro."""
    if not captura.quadro_largura or not captura.quadro_altura:
        return None
    quadro = Retangulo(x=0, y=0, largura=captura.quadro_largura, altura=captura.quadro_altura)
    caixa = _caixa(captura)
    return Desenho(
        quadro=quadro,
        caixa=caixa,
        dentro=_tirar_margem(caixa, quadro, captura.caixa_margem or 0) if caixa else None,
        descricao=_descrever(quadro, caixa),
    )


def calcular_razao(captura: Captura) -> float | None:
    """Quanto do quadro a caixa cobre, em %; None sem um dos dois."""
    caixa = _caixa(captura)
    if caixa is None or not captura.quadro_largura or not captura.quadro_altura:
        return None
    return caixa.largura * caixa.altura * 100 / (captura.quadro_largura * captura.quadro_altura)


def _caixa(captura: Captura) -> Retangulo | None:
    if captura.caixa_largura is None or captura.caixa_altura is None:
        return None
    return Retangulo(
        x=captura.caixa_x or 0,
        y=captura.caixa_y or 0,
        largura=captura.caixa_largura,
        altura=captura.caixa_altura,
    )


def _tirar_margem(caixa: Retangulo, quadro: Retangulo, margem: int) -> Retangulo | None:
    """A detecção: a caixa sem a margem. Num lado encostado na borda a margem pode ter sido cortada, e fica."""
    if not margem:
        return None
    esquerda = margem if caixa.x > 0 else 0
    alto = margem if caixa.y > 0 else 0
    direita = margem if caixa.x + caixa.largura < quadro.largura else 0
    baixo = margem if caixa.y + caixa.altura < quadro.altura else 0
    largura, altura = caixa.largura - esquerda - direita, caixa.altura - alto - baixo
    if largura <= 0 or altura <= 0:
        return None
    return Retangulo(x=caixa.x + esquerda, y=caixa.y + alto, largura=largura, altura=altura)


def _descrever(quadro: Retangulo, caixa: Retangulo | None) -> str:
    texto = f"Quadro de {quadro.largura} por {quadro.altura} pixels"
    if caixa is None:
        return f"{texto}, sem caixa."
    return f"{texto}; caixa de {caixa.largura} por {caixa.altura} em ({caixa.x}, {caixa.y})."
