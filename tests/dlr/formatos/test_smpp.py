"""SMPP por HTTP: o TLV vence o texto, e o tipo da PDU se lê nos bits do esm_class."""

import json
from typing import Any

import pytest

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Ilegivel, Recibo
from dlr.formatos.contrato import Contexto
from dlr.formatos.smpp import ler


def ler_pdu(**pdu: Any) -> Recibo | Ilegivel:
    chamada = Chamada(
        metodo="POST",
        url="https://x/y",
        consulta=b"",
        cabecalhos={"content-type": "application/json"},
        corpo=json.dumps(pdu).encode(),
    )
    [item] = ler(chamada, Contexto())
    return item


@pytest.mark.parametrize(
    ("esm_class", "final"),
    [
        (4, None),
        ("0x04", None),
        (0x44, None),
        (0x84, None),
        (32, False),
        (0x60, False),
        ("0x24", False),
        ("x", None),
    ],
)
def test_tipo_da_pdu_vem_dos_bits(esm_class: Any, final: bool | None) -> None:
    item = ler_pdu(esm_class=esm_class, short_message="id:1 stat:DELIVRD")
    assert isinstance(item, Recibo)
    assert (item.estado, item.final) == (Estado.DELIVERED, final)


@pytest.mark.parametrize("esm_class", [0, 3, 0x40, 0xC3, 0x08, 0x10, "0x00"])
def test_texto_que_imita_recibo_numa_mensagem_comum_nao_e_recibo(esm_class: Any) -> None:
    assert isinstance(ler_pdu(esm_class=esm_class, short_message="id:1 stat:DELIVRD"), Ilegivel)


def test_tlv_prova_o_recibo_mesmo_com_esm_class_zero() -> None:
    item = ler_pdu(esm_class=0, receipted_message_id="1", message_state=2)
    assert isinstance(item, Recibo)
    assert item.estado is Estado.DELIVERED


def test_id_so_com_zeros_ou_uuid_fica_como_veio() -> None:
    item = ler_pdu(receipted_message_id="00b8be19-0000-4000-8000-000000000000", message_state=2)
    assert isinstance(item, Recibo)
    assert item.id_externo == "00b8be19-0000-4000-8000-000000000000"


def test_mesmo_estado_no_tlv_e_no_texto_nao_gera_nota() -> None:
    item = ler_pdu(receipted_message_id="1", message_state=5, short_message="id:1 stat:UNDELIV")
    assert isinstance(item, Recibo)
    assert item.notas == ()


def test_estado_desconhecido_no_tlv_nao_cai_para_o_do_texto() -> None:
    item = ler_pdu(receipted_message_id="1", message_state="99", short_message="id:1 stat:DELIVRD")
    assert isinstance(item, Recibo)
    assert (item.estado_bruto, item.estado) == ("99", None)
