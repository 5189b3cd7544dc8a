"""Mede e monta: de séries de números às peças do SVG. Funções puras."""

from collections.abc import Callable, Sequence

from painel.graficos.formas import (
    ALTURA_PX,
    FOLHA,
    Coluna,
    Grafico,
    Legenda,
    Linha,
    Marca,
    Parte,
    Pedaco,
    Proporcao,
    Rotulo,
    Serie,
)
from painel.graficos.rotulos import abreviar, arredondar_teto, mostrar_contagem, mostrar_duracao

MINIMO_PX = 2.0  # um só evento ao lado de um milhão ainda se vê
LARGURA_DA_BARRA = 0.76  # da coluna
MARCAS_NO_EIXO = 4  # rótulos na horizontal: cabem em 390 px

Mostrar = Callable[[float | None], str]


def montar_barras(
    *, id: str, titulo: str, rotulos: Sequence[Rotulo], series: Sequence[Serie], vazio: str
) -> Grafico:
    """Barras empilhadas de contagens. Séries sem nenhum valor somem; a ordem das outras é a dada."""
    presentes = [serie for serie in series if any(serie.valores)]
    somas = [sum(serie.valores[i] or 0 for serie in presentes) for i in range(len(rotulos))]
    teto = arredondar_teto(max(somas, default=0))
    return Grafico(
        id=id,
        titulo=titulo,
        descricao=_descrever(titulo, rotulos, presentes, vazio),
        colunas=[_coluna(i, rotulos, presentes, teto) for i in range(len(rotulos))],
        linhas=[],
        legenda=[
            Legenda(nome=s.nome, tom=s.tom, valor=mostrar_contagem(_total(s)), url=s.url) for s in presentes
        ],
        eixo=_eixo(rotulos),
        valores=_valores(teto, abreviar),
        tabela=_tabela(rotulos, presentes, mostrar_contagem),
        vazio="" if presentes else vazio,
        tons=[serie.tom for serie in presentes],
    )


def montar_linhas(
    *,
    id: str,
    titulo: str,
    rotulos: Sequence[Rotulo],
    series: Sequence[Serie],
    vazio: str,
    mostrar: Mostrar = mostrar_duracao,
) -> Grafico:
    """Linhas: a primeira cheia, as outras tracejadas. A legenda traz o último valor.

    `mostrar` escreve um valor (None também); sem ele, são durações em ms.
    """
    presentes = [serie for serie in series if any(valor is not None for valor in serie.valores)]
    teto = arredondar_teto(max((v for s in presentes for v in s.valores if v is not None), default=0))
    return Grafico(
        id=id,
        titulo=titulo,
        descricao=_descrever_linhas(titulo, presentes, vazio, mostrar),
        colunas=[_alvo(i, rotulos, presentes, mostrar) for i in range(len(rotulos))],
        linhas=[_linha(serie, teto, tracejada=i > 0) for i, serie in enumerate(presentes)],
        legenda=[
            Legenda(nome=s.nome, tom=s.tom, valor=mostrar(_ultimo(s)), url=s.url, tracejada=i > 0)
            for i, s in enumerate(presentes)
        ],
        eixo=_eixo(rotulos),
        valores=_valores(teto, mostrar),
        tabela=_tabela(rotulos, presentes, mostrar),
        vazio="" if presentes else vazio,
    )


def montar_proporcao(*, id: str, partes: Sequence[Parte], de: int | None = None) -> Proporcao:
    """Uma barra deitada; `de` é o total quando as partes não o completam (uma franquia)."""
    soma = sum(parte.valor for parte in partes)
    total = max(de or soma, soma, 1)
    pedacos, x = [], 0.0
    for parte in partes:
        if parte.valor:
            largura = parte.valor * 100 / total
            pedacos.append(Pedaco(tom=parte.tom, x=_pc(x), largura=_pc(largura), y="0", altura="100%"))
            x += largura
    descricao = ", ".join(f"{p.nome}: {mostrar_contagem(p.valor)}" for p in partes if p.valor) or "nada"
    return Proporcao(id=id, descricao=descricao, pedacos=pedacos, tons=[p.tom for p in pedacos])


def _coluna(indice: int, rotulos: Sequence[Rotulo], series: Sequence[Serie], teto: float) -> Coluna:
    quantas = len(rotulos)
    passo = 100 / quantas
    x, largura = _pc((indice + (1 - LARGURA_DA_BARRA) / 2) * passo), _pc(LARGURA_DA_BARRA * passo)
    pedacos, base = [], float(ALTURA_PX)
    for serie in series:
        if valor := serie.valores[indice]:
            altura = max(valor * ALTURA_PX / teto, MINIMO_PX)
            base = max(base - altura, 0.0)
            pedacos.append(Pedaco(tom=serie.tom, x=x, largura=largura, y=_px(base), altura=_px(altura)))
    return Coluna(
        x=_pc(indice * passo),
        largura=_pc(passo),
        pedacos=pedacos,
        dica=_dica(rotulos[indice], series, indice, mostrar_contagem),
    )


def _alvo(indice: int, rotulos: Sequence[Rotulo], series: Sequence[Serie], mostrar: Mostrar) -> Coluna:
    passo = 100 / len(rotulos)
    dica = _dica(rotulos[indice], series, indice, mostrar)
    return Coluna(x=_pc(indice * passo), largura=_pc(passo), pedacos=[], dica=dica)


def _dica(rotulo: Rotulo, series: Sequence[Serie], indice: int, mostrar: Mostrar) -> str:
    """O instante e, numa linha cada, as séries que têm algo nele."""
    linhas = [f"{serie.nome}: {mostrar(serie.valores[indice])}" for serie in series if serie.valores[indice]]
    return "\n".join([rotulo.longo, *(linhas or ["nada"])])


def _linha(serie: Serie, teto: float, *, tracejada: bool) -> Linha:
    """Um `M…L…` por trecho sem buraco; um valor sozinho entre buracos vira ponto."""
    passo = FOLHA / len(serie.valores)
    trechos: list[list[tuple[float, float]]] = [[]]
    for indice, valor in enumerate(serie.valores):
        if valor is None:
            trechos.append([])
        else:
            trechos[-1].append(((indice + 0.5) * passo, ALTURA_PX - valor * ALTURA_PX / teto))
    caminho = "".join(
        "M" + "L".join(f"{_px(x)} {_px(y)}" for x, y in trecho) for trecho in trechos if len(trecho) > 1
    )
    pontos = [(_pc(x * 100 / FOLHA), _px(y)) for trecho in trechos if len(trecho) == 1 for x, y in trecho]
    return Linha(tom=serie.tom, caminho=caminho, pontos=pontos, tracejada=tracejada)


def _eixo(rotulos: Sequence[Rotulo]) -> list[Marca]:
    """Poucos rótulos, do primeiro ao último; as pontas se encostam nas bordas para não saírem da folha."""
    ultimo = len(rotulos) - 1
    indices = sorted({round(i * ultimo / (MARCAS_NO_EIXO - 1)) for i in range(MARCAS_NO_EIXO)})
    passo = 100 / len(rotulos)
    return [
        Marca(
            onde=_pc(0 if i == 0 else 100 if i == ultimo else (i + 0.5) * passo),
            texto=rotulos[i].curto,
            ancora="start" if i == 0 else "end" if i == ultimo else "middle",
        )
        for i in indices
    ]


def _valores(teto: float, mostrar: Mostrar) -> list[Marca]:
    """As linhas de grade, de cima para baixo: o teto, a metade (se é um número redondo) e o zero."""
    alturas = [teto, teto / 2, 0] if teto > 1 else [teto, 0]
    return [
        Marca(onde=_px(ALTURA_PX - v * ALTURA_PX / teto), texto=mostrar(v) if v else "0") for v in alturas
    ]


def _tabela(
    rotulos: Sequence[Rotulo], series: Sequence[Serie], mostrar: Mostrar
) -> list[tuple[str, list[str]]]:
    """Os instantes que têm algum valor, do mais novo ao mais antigo."""
    return [
        (rotulos[i].longo, [mostrar(serie.valores[i]) for serie in series])
        for i in reversed(range(len(rotulos)))
        if any(serie.valores[i] for serie in series)
    ]


def _descrever(titulo: str, rotulos: Sequence[Rotulo], series: Sequence[Serie], vazio: str) -> str:
    if not series:
        return vazio
    totais = "; ".join(f"{serie.nome}: {mostrar_contagem(_total(serie))}" for serie in series)
    return f"{titulo}, de {rotulos[0].longo} a {rotulos[-1].longo}. {totais}."


def _descrever_linhas(titulo: str, series: Sequence[Serie], vazio: str, mostrar: Mostrar) -> str:
    if not series:
        return vazio
    ultimos = "; ".join(f"{serie.nome}: {mostrar(_ultimo(serie))}" for serie in series)
    return f"{titulo}. Último valor: {ultimos}."


def _total(serie: Serie) -> float:
    return sum(valor or 0 for valor in serie.valores)


def _ultimo(serie: Serie) -> float | None:
    return next((valor for valor in reversed(serie.valores) if valor is not None), None)


def _pc(numero: float) -> str:
    """Como o SVG quer: ponto decimal, que o template localizado trocaria por vírgula."""
    return f"{numero:.3f}".rstrip("0").rstrip(".") + "%"


def _px(numero: float) -> str:
    return f"{numero:.1f}".removesuffix(".0")
