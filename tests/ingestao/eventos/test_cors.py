"""O que o navegador pergunta antes de mandar, e o que a rota responde a quem chega de outro jeito."""

from typing import Any

import pytest
from django.test import Client

from tests.ingestao.conftest import Postar, evento


def test_preflight_e_aceito_por_um_dia_e_nao_custa_consulta(
    client: Client, django_assert_num_queries: Any, db: None
) -> None:
    with django_assert_num_queries(0):
        resposta = client.options(
            "/evento/ingestao",
            headers={
                "origin": "https://qualquer.lugar",
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-encoding,content-type",
            },
        )
    assert resposta.status_code == 200
    assert resposta.headers["access-control-allow-origin"] == "*"
    assert resposta.headers["access-control-max-age"] == "86400"
    assert {"POST", "OPTIONS"} == set(resposta.headers["access-control-allow-methods"].split(", "))
    assert "content-encoding" in resposta.headers["access-control-allow-headers"]


def test_cors_e_so_nesta_rota(client: Client, db: None) -> None:
    for rota in ("/saude", "/admin/login/", "/evento/outra"):
        assert (
            "access-control-allow-origin" not in client.get(rota, headers={"origin": "https://x.com"}).headers
        )


@pytest.mark.parametrize("aceita", ["text/html", "image/png", "nada", ""])
def test_o_accept_do_remetente_nao_perde_o_lote(postar: Postar, aceita: str) -> None:
    assert postar(evento(), cabecalhos={"accept": aceita}).status_code == 202


@pytest.mark.parametrize("metodo", ["get", "put", "patch", "delete"])
def test_outro_metodo_e_405_em_json(client: Client, db: None, metodo: str) -> None:
    resposta = getattr(client, metodo)("/evento/ingestao")
    assert (resposta.status_code, resposta.json()["codigo"]) == (405, "metodo_nao_permitido")


def test_rota_inexistente_e_404_em_json(client: Client, db: None) -> None:
    assert client.get("/evento/outra").json()["codigo"] == "rota_inexistente"
