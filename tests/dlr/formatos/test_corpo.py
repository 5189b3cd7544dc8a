"""O que os leitores têm em comum não levanta nada além de `CorpoIlegivel`."""

import pytest

from dlr.formatos.corpo import (
    PARAMETROS_MAXIMOS,
    CorpoIlegivel,
    ilegivel,
    ler_itens,
    ler_json,
    ler_parametros,
)


@pytest.mark.parametrize(
    "primeiro", [b"a=1", b"a=%ff", b"a=\xff"], ids=["utf-8", "latin-1 escapado", "latin-1 cru"]
)
def test_parametros_demais_tem_o_mesmo_erro_em_qualquer_codificacao(primeiro: bytes) -> None:
    assert ler_parametros(primeiro + b"&b=2" * (PARAMETROS_MAXIMOS - 1))["b"] == "2"
    with pytest.raises(CorpoIlegivel, match="parâmetros demais"):
        ler_parametros(primeiro + b"&b=2" * PARAMETROS_MAXIMOS)


@pytest.mark.parametrize(
    ("corpo", "esperado"), [(b"[1, {}]", ["1", {}]), (b"{}", [{}]), (b"null", [None]), (b"12", ["12"])]
)
def test_itens_sao_os_da_lista_ou_o_objeto_sozinho(corpo: bytes, esperado: list[object]) -> None:
    assert ler_itens(corpo) == esperado


@pytest.mark.parametrize("corpo", [b"", b"[]", b"[1", b"\xff"])
def test_lista_vazia_ou_torta_e_ilegivel(corpo: bytes) -> None:
    with pytest.raises(CorpoIlegivel):
        ler_itens(corpo)


def test_json_lido_na_beira_da_recursao_ainda_se_mostra() -> None:
    def mostrar(fundura: int) -> None:
        try:
            lido = ler_json(b"[" * fundura + b"]" * fundura)
        except CorpoIlegivel:
            return
        assert ilegivel("x", lido).bruto

    for fundura in range(800, 1_100):
        mostrar(fundura)
