"""Quando duas recepções são o mesmo evento lógico."""

from typing import Any

import pytest

from dlr.dominio.chave import VERSAO, decidir_chave
from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Recibo, Tempo


def recibo(**campos: Any) -> Recibo:
    base: dict[str, Any] = {"id_externo": "x", "estado_bruto": "DELIVRD", "estado": Estado.DELIVERED}
    return Recibo(**{**base, **campos})


def test_id_do_fornecedor_e_a_chave_e_o_conteudo_fica_ao_lado() -> None:
    um, outro = (
        decidir_chave(recibo(id_evento="e1")),
        decidir_chave(recibo(id_evento="e1", estado_bruto="EXPIRED")),
    )
    assert um.chave == outro.chave == "evento:e1"
    assert um.conteudo != outro.conteudo


@pytest.mark.parametrize(
    "diferenca",
    [
        {"id_externo": "y"},
        {"parte": 2},
        {"estado_bruto": "EXPIRED"},
        {"codigo_erro": "000"},
        {"concluida": Tempo(bruto="2611301200", em=None)},
        {"apresentada": Tempo(bruto="2611301200", em=None)},
    ],
    ids=repr,
)
def test_o_que_distingue_um_acontecimento_muda_a_chave(diferenca: dict[str, Any]) -> None:
    assert decidir_chave(recibo()).chave != decidir_chave(recibo(**diferenca)).chave


@pytest.mark.parametrize(
    "igual", [{"destino": "+5511"}, {"origem": "x"}, {"notas": ("n",)}, {"extras": {"a": 1}}], ids=repr
)
def test_o_que_so_varia_na_forma_nao_muda_a_chave(igual: dict[str, Any]) -> None:
    assert decidir_chave(recibo()).chave == decidir_chave(recibo(**igual)).chave


def test_partes_coladas_nao_se_confundem() -> None:
    assert (
        decidir_chave(recibo(id_externo="ab", estado_bruto="c")).chave
        != decidir_chave(recibo(id_externo="a", estado_bruto="bc")).chave
    )


def test_componentes_e_versao_sao_guardados() -> None:
    chave = decidir_chave(recibo(codigo_erro="0"))
    assert chave.componentes == (("id_externo", "x"), ("estado_bruto", "DELIVRD"), ("codigo_erro", "0"))
    assert chave.versao == VERSAO == 1


def test_impressao_da_versao_1_nao_muda() -> None:
    # Mudou? Então a regra mudou: crie a versão 2 em vez de corrigir este valor.
    assert (
        decidir_chave(recibo()).conteudo == "322e8e4d1f14063f8e56f097bf58b8fd606ad6448611933d0a0b92a5a9bba19b"
    )


def test_texto_com_meio_emoji_tem_chave() -> None:
    assert decidir_chave(recibo(id_externo="\ud83d")).chave
