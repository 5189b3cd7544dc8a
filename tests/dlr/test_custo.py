"""O custo não cresce com a quantidade: cem recibos custam as idas ao banco de um."""

from typing import Any

import pytest

from tests.dlr.conftest import Chamar, criar, enviada, recibo


@pytest.mark.parametrize("opcoes", [(), ("id_caixa=ignorar",)], ids=["exata", "tolerante"])
def test_cem_recibos_custam_as_mesmas_idas_ao_banco_que_um(
    db: None, callback: Chamar, registrar: Chamar, processar: Any, contar_idas: list[str], opcoes: Any
) -> None:
    outra = criar("custo", "padrao", *opcoes)

    def medir(rodada: str, quantos: int) -> int:
        registrar(*[enviada(f"{rodada}{n}", f"{rodada}{n}") for n in range(quantos)], em=outra)
        callback([recibo(f"{rodada}{n}", "DELIVERED") for n in range(quantos)], em=outra)
        contar_idas.clear()
        processar()
        return len(contar_idas)

    assert medir("a", 1) == medir("b", 100) == medir("c", 1) <= 30


def test_cem_recepcoes_custam_as_mesmas_idas_ao_banco_que_uma(
    callback: Chamar, registrar: Chamar, processar: Any, contar_idas: list[str]
) -> None:
    def medir(rodada: str, quantas: int) -> int:
        registrar(*[enviada(f"{rodada}{n}", f"{rodada}{n}") for n in range(quantas)])
        for n in range(quantas):
            callback([recibo(f"{rodada}{n}", "DELIVERED"), recibo(f"{rodada}{n}", "EXPIRED"), 3])
        contar_idas.clear()
        processar()
        return len(contar_idas)

    assert medir("a", 1) == medir("b", 60)  # as 60 cabem na primeira transação do turno


def test_um_callback_autentico_e_uma_ida_ao_banco_com_a_porta_quente(
    callback: Chamar, contar_idas: list[str]
) -> None:
    callback(recibo("x1", "DELIVERED"))
    contar_idas.clear()
    callback(recibo("x2", "DELIVERED"))
    assert len(contar_idas) == 1 and "INSERT INTO dlr_recepcao" in contar_idas[0]
