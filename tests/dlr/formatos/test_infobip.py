"""Infobip: o nome do status é o bruto; o grupo decide quando o nome não tem linha própria."""

import json
from typing import Any

import pytest

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.contrato import Contexto
from dlr.formatos.infobip import FORMATO, ler


def ler_resultados(resultados: list[Any]) -> list[Any]:
    chamada = Chamada(
        metodo="POST",
        url="https://x/y",
        consulta=b"",
        cabecalhos={"content-type": "application/json"},
        corpo=json.dumps({"results": resultados}).encode(),
    )
    return ler(chamada, Contexto())


@pytest.mark.parametrize(
    ("status", "bruto", "estado"),
    [
        (
            {"groupName": "DELIVERED", "name": "DELIVERED_TO_HANDSET"},
            "DELIVERED_TO_HANDSET",
            Estado.DELIVERED,
        ),
        (
            {"groupName": "DELIVERED", "name": "DELIVERED_TO_OPERATOR"},
            "DELIVERED_TO_OPERATOR",
            Estado.ENROUTE,
        ),
        ({"groupName": "REJECTED", "name": "REJECTED_NOVO"}, "REJECTED_NOVO", Estado.REJECTED),
        ({"groupId": 4, "name": "EXPIRED_EXPIRED"}, "EXPIRED_EXPIRED", Estado.EXPIRED),
        ({"groupId": 2}, "UNDELIVERABLE", Estado.UNDELIVERABLE),
        ({"groupName": "OK", "name": "NO_ERROR"}, "NO_ERROR", None),
        ({"name": "SEM_GRUPO"}, "SEM_GRUPO", None),
    ],
)
def test_nome_primeiro_e_grupo_depois(status: dict[str, Any], bruto: str, estado: Estado | None) -> None:
    [item] = ler_resultados([{"messageId": "a", "status": status}])
    assert isinstance(item, Recibo)
    assert (item.estado_bruto, item.estado) == (bruto, estado)


def test_chegar_a_operadora_nao_encerra() -> None:
    assert FORMATO.estados["DELIVERED_TO_OPERATOR"] not in FORMATO.finais


def test_lote_maior_que_o_padrao_e_lido_inteiro() -> None:
    resultados = [{"messageId": str(numero), "status": {"groupId": 3}} for numero in range(250)]
    assert [item.id_externo for item in ler_resultados(resultados)] == [str(numero) for numero in range(250)]
