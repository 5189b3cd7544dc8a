"""As peças de um gráfico, já medidas: o template só as escreve."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

ALTURA_PX = 120  # da área das barras; com dois gráficos por cartão cabem os dois na dobra
FOLHA = 1_000  # largura da folha das linhas, em unidades da própria folha


class Tom(StrEnum):
    """A cor e a trama de uma série. As cores, de claro e de escuro, estão em `graficos.css`."""

    PETROLEO = "petroleo"
    VIOLETA = "violeta"
    VERDE = "verde"
    VERMELHO = "vermelho"
    AMBAR = "ambar"
    ROSA = "rosa"
    AZUL = "azul"
    CINZA = "cinza"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotulo:
    """Um instante: `curto` no eixo, `longo` na dica e na tabela."""

    curto: str
    longo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Serie:
    """Uma série: um valor por instante (None = não se mediu). `url` leva à lista por trás do total."""

    nome: str
    tom: Tom
    valores: Sequence[float | None]
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pedaco:
    """Um retângulo: `x` e `largura` em %, `y` e `altura` em px, já escritos como o SVG os quer."""

    tom: Tom
    x: str
    largura: str
    y: str
    altura: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Coluna:
    """Um instante no gráfico: o alvo do ponteiro, a dica (uma linha por série) e os pedaços."""

    x: str
    largura: str
    dica: str
    pedacos: list[Pedaco]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linha:
    """Um traço: `caminho` na folha de `FOLHA` por `ALTURA_PX`; `pontos` (x %, y px) são os isolados."""

    tom: Tom
    caminho: str
    pontos: list[tuple[str, str]]
    tracejada: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Marca:
    """Um rótulo de eixo: `onde` em % (horizontal) ou px (vertical)."""

    onde: str
    texto: str
    ancora: str = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Legenda:
    """O nome de uma série, o total (ou o último valor) por extenso e aonde ele leva."""

    nome: str
    tom: Tom
    valor: str
    url: str = ""
    tracejada: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grafico:
    """O que `painel/grafico.html` mostra. `vazio` é a frase no lugar das barras quando não há nenhuma."""

    id: str
    titulo: str
    descricao: str
    colunas: list[Coluna]
    linhas: list[Linha]
    legenda: list[Legenda]
    eixo: list[Marca]
    valores: list[Marca]
    tabela: list[tuple[str, list[str]]]
    vazio: str = ""
    tons: list[Tom] = field(default_factory=list)
    altura: int = ALTURA_PX
    altura_total: int = ALTURA_PX + 20  # a faixa de baixo é a dos rótulos
    folha: int = FOLHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Parte:
    """Uma parte de um total."""

    nome: str
    tom: Tom
    valor: int
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proporcao:
    """O que `painel/proporcao.html` mostra: a descrição por extenso e os pedaços em %."""

    id: str
    descricao: str
    pedacos: list[Pedaco]
    tons: list[Tom]
