"""A documentação da API também responde erro em JSON com `codigo`, seja qual for o método ou o `Accept`."""

import pytest
from django.test import Client

HOSPEDEIRO = {"host": "localhost"}


@pytest.mark.parametrize("rota", ["/api/docs", "/api/esquema"])
@pytest.mark.parametrize("metodo", ["POST", "OPTIONS", "DELETE"])
def test_metodo_errado_e_405_em_json(rota: str, metodo: str) -> None:
    resposta = Client().generic(metodo, rota, headers=HOSPEDEIRO)
    assert (resposta.status_code, resposta.json()["codigo"]) == (405, "metodo_nao_permitido")


@pytest.mark.parametrize("rota", ["/api/docs", "/api/esquema"])
@pytest.mark.parametrize(
    ("consulta", "aceita", "status", "codigo"),
    [("", "image/png", 406, "formato_nao_oferecido"), ("?format=xml", "*/*", 404, "nao_encontrado")],
)
def test_formato_que_nao_ha_e_erro_em_json(
    rota: str, consulta: str, aceita: str, status: int, codigo: str
) -> None:
    resposta = Client().get(rota + consulta, headers={**HOSPEDEIRO, "accept": aceita})
    assert (resposta.status_code, resposta.json()["codigo"]) == (status, codigo)


def test_quem_pede_direito_recebe_o_que_pediu() -> None:
    assert Client().get("/api/docs", headers={**HOSPEDEIRO, "accept": "text/html"}).status_code == 200
    assert Client().get("/api/esquema?format=json", headers=HOSPEDEIRO).json()["openapi"].startswith("3.1")
