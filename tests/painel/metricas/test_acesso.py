"""Quem lê `/metricas`: o token, a rede e o proxy."""

from typing import Any

import pytest
from django.test import Client

from painel.metricas.acesso import Acesso, decidir

LOCAIS = ["127.0.0.0/8", "::1/128"]


@pytest.mark.parametrize(
    ("token", "autorizacao", "ip", "repassado", "acesso"),
    [
        ("", "", "127.0.0.1", False, Acesso.LIVRE),
        ("", "", "::1", False, Acesso.LIVRE),
        ("", "", "::ffff:127.0.0.1", False, Acesso.LIVRE),
        ("", "", "10.0.0.7", False, Acesso.DE_FORA),
        ("", "", "", False, Acesso.DE_FORA),
        ("", "", "lixo", False, Acesso.DE_FORA),
        ("", "Bearer ", "10.0.0.7", False, Acesso.DE_FORA),  # token vazio não é senha de ninguém
        ("", "", "127.0.0.1", True, Acesso.DE_FORA),  # o proxy da própria máquina não é a própria máquina
        ("segredo", "Bearer segredo", "10.0.0.7", True, Acesso.LIVRE),
        ("segredo", "Bearer segred", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "segredo", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "Bearer é", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "", "127.0.0.1", False, Acesso.LIVRE),
    ],
)
def test_quem_entra(token: str, autorizacao: str, ip: str, repassado: bool, acesso: Acesso) -> None:
    assert decidir(token=token, autorizacao=autorizacao, ip=ip, redes=LOCAIS, repassado=repassado) is acesso


def test_rede_cadastrada_entra_e_a_propria_maquina_deixa_de_entrar() -> None:
    def com(ip: str) -> Acesso:
        return decidir(token="", autorizacao="", ip=ip, redes=["10.0.0.0/8"], repassado=False)

    assert (com("10.9.9.9"), com("127.0.0.1")) == (Acesso.LIVRE, Acesso.DE_FORA)


def test_rota_recusa_com_o_codigo_e_o_que_fazer(client: Client, db: None, settings: Any) -> None:
    de_fora = client.get("/metricas", REMOTE_ADDR="203.0.113.9")
    assert (de_fora.status_code, de_fora.json()["codigo"]) == (403, "rede_nao_permitida")
    assert client.get("/metricas", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403
    settings.TOKEN_METRICAS = "segredo"
    sem = client.get("/metricas", REMOTE_ADDR="203.0.113.9")
    assert (sem.status_code, sem.json()["codigo"], sem["WWW-Authenticate"]) == (
        401,
        "token_invalido",
        "Bearer",
    )
    com = client.get("/metricas", REMOTE_ADDR="203.0.113.9", headers={"Authorization": "Bearer segredo"})
    assert (com.status_code, com["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


def test_atras_de_um_proxy_calado_so_entra_quem_tem_o_token(client: Client, settings: Any) -> None:
    settings.ATRAS_DE_PROXY = True
    assert client.get("/metricas").status_code in (401, 403)
