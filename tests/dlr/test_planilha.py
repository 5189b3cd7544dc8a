"""Uma célula do relatório em CSV nunca é fórmula numa planilha."""

import pytest

from dlr.consultas import neutralizar


@pytest.mark.parametrize(
    "celula",
    [
        "=1+1",
        "+55",
        "-2",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "=cmd|' /C calc'!A0",
        "\n=1",
        "＝1+1",
        "＋1",
        "－1",
        "＠A1",
    ],
)
def test_o_que_comeca_como_formula_ganha_apostrofo(celula: str) -> None:
    assert neutralizar(celula) == f"'{celula}"


@pytest.mark.parametrize("celula", ["DELIVERED", "operadora-a", "12", "a=1", ""])
def test_o_resto_fica_como_esta(celula: str) -> None:
    assert neutralizar(celula) == celula
