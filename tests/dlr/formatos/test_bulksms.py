"""A lista da BulkSMS: itens não colidem, a lista repetida é repetição, e `final` é o que eles dizem."""

import json
from typing import Any

import pytest

from dlr.dominio.chave import decidir_chave
from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.bulksms import ler
from dlr.formatos.contrato import Contexto


def item(id_externo: str, tipo: str, **situacao: Any) -> dict[str, Any]:
    return {"id": id_externo, "status": {"type": tipo, "date": "2026-11-30T12:00:05Z", **situacao}}


def chaves(lista: list[dict[str, Any]], entrega: str, tentativa: str) -> list[str]:
    chamada = Chamada(
        metodo="POST",
        url="https://x/y",
        consulta=b"",
        cabecalhos={"x-bulksms-delivery": entrega, "x-bulksms-delivery-attempt": tentativa},
        corpo=json.dumps(lista).encode(),
    )
    recibos = ler(chamada, Contexto())
    assert all(isinstance(recibo, Recibo) for recibo in recibos)
    return [decidir_chave(recibo).chave for recibo in recibos if isinstance(recibo, Recibo)]


def test_itens_da_mesma_lista_nao_colidem_nem_dois_estados_da_mesma_mensagem() -> None:
    lista = [
        item("1", "SENT"),
        item("1", "DELIVERED"),
        item("2", "DELIVERED"),
        item("2", "FAILED", subtype="EXPIRED"),
    ]
    assert len(set(chaves(lista, "1", "1"))) == 4


@pytest.mark.parametrize(("entrega", "tentativa"), [("1", "2"), ("2", "1")])
def test_lista_repetida_e_repeticao_com_qualquer_cabecalho(entrega: str, tentativa: str) -> None:
    lista = [item("1", "SENT"), item("2", "DELIVERED")]
    assert chaves(lista, "1", "1") == chaves(lista, entrega, tentativa)


def test_item_repetido_na_lista_seguinte_e_o_mesmo_evento() -> None:
    primeira = chaves([item("1", "SENT"), item("2", "DELIVERED")], "1", "1")
    seguinte = chaves([item("2", "DELIVERED"), item("3", "DELIVERED")], "2", "1")
    assert set(primeira) & set(seguinte) == {primeira[1]}
