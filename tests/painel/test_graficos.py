"""Os gráficos: medidas certas, texto por extenso, e o que não depende só da cor."""

from datetime import UTC, date, datetime

import pytest
from django.template.loader import render_to_string

from painel.graficos import (
    Parte,
    Rotulo,
    Serie,
    Tom,
    montar_barras,
    montar_linhas,
    montar_proporcao,
    mostrar_duracao,
    rotular_dias,
    rotular_minutos,
)
from painel.graficos.rotulos import abreviar, arredondar_teto

TRES = [Rotulo(curto=str(i), longo=f"instante {i}") for i in range(3)]


def barras(*series: Serie):  # type: ignore[no-untyped-def]
    return montar_barras(id="g", titulo="Chegadas", rotulos=TRES, series=series, vazio="Nada chegou.")


@pytest.mark.parametrize(
    ("maior", "teto"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 20), (10_000_000, 10_000_000)],
)
def test_eixo_acaba_num_numero_redondo_que_cobre_o_maior(maior: int, teto: int) -> None:
    assert arredondar_teto(maior) == teto


@pytest.mark.parametrize(
    ("numero", "texto"),
    [(0, "0"), (950, "950"), (9_999, "9.999"), (12_000, "12 mil"), (1_500_000, "1,5 mi"), (2e9, "2 bi")],
)
def test_numeros_do_eixo_cabem_na_margem(numero: float, texto: str) -> None:
    assert abreviar(numero) == texto


@pytest.mark.parametrize(
    ("ms", "texto"), [(None, "—"), (0, "0 ms"), (180.4, "180 ms"), (1_240, "1,2 s"), (120_000, "2 min")]
)
def test_duracao_na_unidade_que_se_le(ms: float | None, texto: str) -> None:
    assert mostrar_duracao(ms) == texto


def test_barras_se_empilham_sem_se_cobrir() -> None:
    grafico = barras(
        Serie(nome="a", tom=Tom.PETROLEO, valores=[4, 0, 0]),
        Serie(nome="b", tom=Tom.VIOLETA, valores=[4, 0, 8]),
    )
    primeira, meio, ultima = (coluna.pedacos for coluna in grafico.colunas)
    assert [(p.y, p.altura) for p in primeira] == [("60", "60"), ("0", "60")]
    assert meio == []
    assert [(p.y, p.altura) for p in ultima] == [("0", "120")]


def test_um_ao_lado_de_um_milhao_ainda_se_ve() -> None:
    grafico = barras(Serie(nome="a", tom=Tom.PETROLEO, valores=[1_000_000, 1, 0]))
    assert grafico.colunas[1].pedacos[0].altura == "2"
    assert grafico.colunas[2].pedacos == []


def test_legenda_dica_e_tabela_trazem_o_numero_por_extenso() -> None:
    grafico = barras(Serie(nome="Eventos", tom=Tom.PETROLEO, valores=[12_345, 0, 1], url="/lista"))
    assert [(item.nome, item.valor, item.url) for item in grafico.legenda] == [
        ("Eventos", "12.346", "/lista")
    ]
    assert [coluna.dica for coluna in grafico.colunas[:2]] == [
        "instante 0\nEventos: 12.345",
        "instante 1\nnada",
    ]
    assert grafico.tabela == [("instante 2", ["1"]), ("instante 0", ["12.345"])]
    assert grafico.descricao == "Chegadas, de instante 0 a instante 2. Eventos: 12.346."


def test_serie_sem_nada_some_e_sem_nenhuma_o_grafico_diz_que_esta_vazio() -> None:
    assert [
        item.nome
        for item in barras(
            Serie(nome="a", tom=Tom.PETROLEO, valores=[1, 0, 0]),
            Serie(nome="b", tom=Tom.ROSA, valores=[0, 0, 0]),
        ).legenda
    ] == ["a"]
    vazio = barras(Serie(nome="a", tom=Tom.PETROLEO, valores=[0, 0, 0]))
    assert (vazio.vazio, vazio.legenda) == ("Nada chegou.", [])


def test_linha_nao_liga_o_que_nao_se_mediu() -> None:
    grafico = montar_linhas(
        id="g",
        titulo="Latência",
        rotulos=[*TRES, *TRES],
        series=[Serie(nome="p50", tom=Tom.PETROLEO, valores=[100, 200, None, 50, None, None])],
        vazio="Nada medido.",
    )
    (linha,) = grafico.linhas
    assert linha.caminho.count("M") == 1  # os dois primeiros, ligados
    assert len(linha.pontos) == 1  # o que ficou sozinho
    assert grafico.legenda[0].valor == "50 ms"  # o último medido


def test_segunda_linha_e_tracejada() -> None:
    series = [
        Serie(nome="p50", tom=Tom.PETROLEO, valores=[1, 2, 3]),
        Serie(nome="p95", tom=Tom.AMBAR, valores=[4, 5, 6]),
    ]
    grafico = montar_linhas(id="g", titulo="Latência", rotulos=TRES, series=series, vazio="")
    assert [linha.tracejada for linha in grafico.linhas] == [False, True]


def test_proporcao_ocupa_o_total_ou_a_franquia() -> None:
    partes = [Parte(nome="a", tom=Tom.AMBAR, valor=1), Parte(nome="b", tom=Tom.CINZA, valor=3)]
    assert [(p.x, p.largura) for p in montar_proporcao(id="p", partes=partes).pedacos] == [
        ("0%", "25%"),
        ("25%", "75%"),
    ]
    assert montar_proporcao(id="p", partes=partes[:1], de=10).pedacos[0].largura == "10%"
    assert montar_proporcao(id="p", partes=[Parte(nome="a", tom=Tom.AMBAR, valor=0)]).descricao == "nada"


def test_instantes_no_fuso_do_servidor() -> None:
    assert rotular_minutos([datetime(2026, 7, 3, 17, 5, tzinfo=UTC)])[0].curto == "14:05"
    assert rotular_dias([date(2026, 7, 3)])[0].longo == "03/07/2026"


def test_nome_hostil_sai_inerte_e_nenhum_estilo_vai_no_proprio_elemento() -> None:
    hostil = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
    grafico = barras(Serie(nome=hostil, tom=Tom.VERMELHO, valores=[1, 2, 3]))
    html = render_to_string("painel/grafico.html", {"grafico": grafico})
    assert "<script" not in html
    assert "<img" not in html
    assert " style=" not in html  # a política de conteúdo o ignoraria


def test_grafico_se_le_sem_ver() -> None:
    html = render_to_string(
        "painel/grafico.html", {"grafico": barras(Serie(nome="Eventos", tom=Tom.VERDE, valores=[1, 2, 3]))}
    )
    assert 'role="img" aria-label="Chegadas, de instante 0 a instante 2. Eventos: 6."' in html
    assert '<th scope="row">instante 2</th><td>3</td>' in html
    assert 'class="lastro-trama-cheia"' in html  # o verde tem trama: não é só a cor
