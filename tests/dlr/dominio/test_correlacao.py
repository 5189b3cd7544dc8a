"""A que mensagem um recibo pertence: o que casa, o que só sugere, o que nunca casa."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlr.dominio.correlacao import (
    Candidata,
    OpcoesDeId,
    Resultado,
    Semelhanca,
    comparar,
    correlacionar,
    formas,
)

NADA = OpcoesDeId()
TUDO = OpcoesDeId(ignorar_caixa=True, ignorar_zeros=True, hex_decimal=True)


def resultado(recebido: str | None, guardado: str, opcoes: OpcoesDeId) -> tuple[str, list[tuple[str, ...]]]:
    achado = correlacionar(recebido, [Candidata(mensagem=1, id_externo=guardado)], opcoes)
    return achado.resultado.value, [dica.diferencas for dica in achado.dicas]


@pytest.mark.parametrize(
    ("guardado", "recebido", "opcoes", "esperado"),
    [
        ("00B8BE19", "00B8BE19", NADA, ("unica", [])),
        ("39f99dd5", "0972660181", NADA, ("nenhuma", [("base", "zeros")])),
        ("39f99dd5", "0972660181", OpcoesDeId(hex_decimal=True), ("nenhuma", [("base", "zeros")])),
        ("39f99dd5", "0972660181", OpcoesDeId(hex_decimal=True, ignorar_zeros=True), ("unica", [])),
        ("39f99dd5", "972660181", OpcoesDeId(hex_decimal=True), ("unica", [])),
        ("972660181", "39F99DD5", OpcoesDeId(hex_decimal=True), ("unica", [])),
        ("abc", "ABC", NADA, ("nenhuma", [("caixa",)])),
        ("abc", "ABC", OpcoesDeId(ignorar_caixa=True), ("unica", [])),
        ("123", "00123", OpcoesDeId(ignorar_zeros=True), ("unica", [])),
        ("00ab", "AB", OpcoesDeId(ignorar_zeros=True), ("nenhuma", [("caixa", "zeros")])),
        (
            "0b9f6c1e-3a56-4c57-8a2e-9c1b7f6f2f10",
            "b9f6c1e-3a56-4c57-8a2e-9c1b7f6f2f10",
            TUDO,
            ("nenhuma", []),
        ),
        ("123", "124", TUDO, ("nenhuma", [])),
        ("f" * 64, str(int("f" * 64, 16)), OpcoesDeId(hex_decimal=True), ("unica", [])),
    ],
)
def test_so_casa_o_que_a_integracao_autoriza_e_o_resto_e_dica(
    guardado: str, recebido: str, opcoes: OpcoesDeId, esperado: tuple[str, list[tuple[str, ...]]]
) -> None:
    assert resultado(recebido, guardado, opcoes) == esperado


@pytest.mark.parametrize("nada", ["", " ", "None", "null", "NULL", "undefined", None])
def test_id_que_nao_e_id_nunca_casa_nem_com_outro_igual(nada: str | None) -> None:
    assert resultado(nada, str(nada), TUDO) == ("sem_id", [])
    assert formas(nada or "") == frozenset()
    assert resultado("abc", str(nada), TUDO) == ("nenhuma", [])


def test_duas_mensagens_com_o_mesmo_id_e_nenhuma_leva() -> None:
    candidatas = [Candidata(mensagem=1, id_externo="x"), Candidata(mensagem=2, id_externo="x")]
    achado = correlacionar("x", candidatas, NADA)
    assert (achado.resultado, achado.mensagem, achado.candidatas) == (Resultado.VARIAS, None, (1, 2))


def test_o_identico_vale_antes_do_autorizado() -> None:
    candidatas = [Candidata(mensagem=1, id_externo="4660"), Candidata(mensagem=2, id_externo="1234")]
    assert correlacionar("4660", candidatas, TUDO).mensagem == 1


def test_a_mesma_mensagem_por_duas_partes_e_uma_so() -> None:
    candidatas = [Candidata(mensagem=1, id_externo="x"), Candidata(mensagem=1, id_externo="x")]
    assert correlacionar("x", candidatas, NADA).mensagem == 1


@given(st.text(alphabet="0123456789abcdefABCDEF-xyz", min_size=1, max_size=30), st.text(max_size=30))
def test_o_que_se_compara_tem_forma_em_comum_e_a_comparacao_e_simetrica(um: str, outro: str) -> None:
    diferencas = comparar(um, outro)
    assert comparar(outro, um) == diferencas
    if diferencas is not None:
        assert formas(um) & formas(outro), "a busca por formas acharia esta candidata"


@given(st.integers(min_value=0, max_value=2**256), st.integers(0, 5), st.booleans())
def test_numero_escrito_de_outro_jeito_e_achado_pelas_formas(
    numero: int, zeros: int, maiusculo: bool
) -> None:
    hexadecimal = f"{numero:x}"
    decimal = "0" * zeros + str(numero)
    assert formas(decimal) & formas(hexadecimal.upper() if maiusculo else hexadecimal)
    diferencas = comparar(decimal, hexadecimal)
    assert diferencas is not None
    assert set(diferencas) <= {Semelhanca.BASE, Semelhanca.ZEROS}
