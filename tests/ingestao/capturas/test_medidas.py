"""Faixas com erro de até 5 %, percentis que batem com a amostra, e o sinal do corte que parou."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestao.capturas.medidas import (
    AMOSTRAS_MINIMAS,
    UM_EM_PPM,
    achar_faixa,
    calcular_percentil,
    decidir_corte_parado,
    resumir_contagens,
    valor_da_faixa,
)


@given(st.integers(min_value=1, max_value=10**15))
def test_a_faixa_erra_no_maximo_cinco_por_cento(valor: int) -> None:
    assert abs(valor_da_faixa(achar_faixa(valor)) - valor) <= valor * 0.05


@given(st.integers(min_value=0, max_value=10**15))
def test_a_faixa_nunca_diminui_com_o_valor(valor: int) -> None:
    assert achar_faixa(valor) <= achar_faixa(valor + 1)


def test_zero_tem_faixa_propria() -> None:
    assert (achar_faixa(0), achar_faixa(0.5), achar_faixa(-3)) == (0, 0, 0)
    assert achar_faixa(1) == 1
    assert valor_da_faixa(0) == 0.0


@given(st.lists(st.integers(min_value=1, max_value=10**9), min_size=1), st.sampled_from([0.5, 0.95, 1.0]))
def test_percentil_das_faixas_bate_com_o_da_amostra(amostra: list[int], fracao: float) -> None:
    certo = sorted(amostra)[max(1, math.ceil(fracao * len(amostra))) - 1]
    achado = calcular_percentil(Counter(map(achar_faixa, amostra)), fracao)
    assert achado is not None and abs(achado - certo) <= certo * 0.05


def test_sem_amostras_nao_ha_percentil() -> None:
    assert calcular_percentil({}, 0.5) is None


@pytest.mark.parametrize(
    ("razao", "amostras", "parado"),
    [
        (1.0, AMOSTRAS_MINIMAS, True),
        (0.9, 1_000, True),
        (0.5, 1_000, False),
        (0.01, 1_000, False),
        (1.0, AMOSTRAS_MINIMAS - 1, False),
    ],
)
def test_corte_que_parou_de_funcionar(razao: float, amostras: int, parado: bool) -> None:
    assert decidir_corte_parado({achar_faixa(razao * UM_EM_PPM): amostras}) is parado


def test_um_quadro_inteiro_de_vez_em_quando_nao_e_corte_parado() -> None:
    faixas = {achar_faixa(0.02 * UM_EM_PPM): 60, achar_faixa(UM_EM_PPM): 40}
    assert not decidir_corte_parado(faixas)


def test_resumo_junta_contadores_e_distribuicoes() -> None:
    resumo = resumir_contagens(
        {
            ("gravadas", 0): 8,
            ("reenvio_link", 0): 1,
            ("reenvio_fila", 0): 1,
            ("latencia_ms", achar_faixa(100)): 9,
            ("latencia_ms", achar_faixa(5_000)): 1,
            ("invalidos:imagem_cortada", 0): 3,
            ("conflitos:conteudo_diferente", 0): 2,
            ("descartados:teto_de_tentativas", 0): 4,
            ("relatos_ilegiveis", 0): 1,
        }
    )
    assert (resumo.gravadas, resumo.taxa_de_reenvio) == (8, 0.2)
    assert resumo.latencia_ms.p50 == pytest.approx(100, rel=0.05)
    assert resumo.latencia_ms.p95 == pytest.approx(5_000, rel=0.05)
    assert resumo.invalidos == {"imagem_cortada": 3}
    assert resumo.conflitos == {"conteudo_diferente": 2}
    assert resumo.descartados == {"teto_de_tentativas": 4}
    assert resumo.outros == {"relatos_ilegiveis": 1}
    assert (resumo.bytes.p50, resumo.corte_parado) == (None, False)
