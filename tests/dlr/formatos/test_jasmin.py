"""Jasmin: `ESME_ROK` é só aceite, qualquer outro `ESME_R*` é recusa, e a resposta tem de ser a palavra exata."""

import pytest

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.contrato import Contexto
from dlr.formatos.jasmin import FORMATO, ler


def estado_de(codigo: str) -> Estado | None:
    chamada = Chamada(
        metodo="GET",
        url="https://x/y",
        consulta=f"id=a&message_status={codigo}".encode(),
        cabecalhos={},
        corpo=b"",
    )
    [item] = ler(chamada, Contexto())
    assert isinstance(item, Recibo)
    assert item.estado_bruto == codigo
    return item.estado


@pytest.mark.parametrize(
    ("codigo", "estado"),
    [
        ("ESME_ROK", Estado.ACCEPTED),
        ("ESME_RTHROTTLED", Estado.REJECTED),
        ("ESME_RINVNUMDESTS", Estado.REJECTED),
        ("ESME_RUNKNOWNERR", Estado.REJECTED),
        ("ESME_X", None),
        ("DELIVRD", Estado.DELIVERED),
        ("2", None),
    ],
)
def test_codigo_vira_estado(codigo: str, estado: Estado | None) -> None:
    assert estado_de(codigo) is estado


def test_aceite_nao_encerra_e_recusa_encerra() -> None:
    assert Estado.ACCEPTED not in FORMATO.finais
    assert Estado.REJECTED in FORMATO.finais


def test_resposta_e_a_palavra_exata() -> None:
    assert (FORMATO.resposta.status, FORMATO.resposta.corpo) == (200, b"ACK/Jasmin")
