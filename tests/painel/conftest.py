"""O que as telas têm para mostrar, gravado pela porta e aplicado pela caixa, como em produção."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from ingestao.eventos.chaves import memoria
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo
from tests.painel.recibos import Ligada, criar

HOSTIL = '<script>alert(1)</script> \x1b[31mcor\x1b[0m \u202egpj.exe "><img src=x onerror=alert(2)>'


@pytest.fixture
def painel(client: Client, db: None) -> Client:
    """Um navegador com um administrador dentro."""
    client.force_login(User.objects.create_superuser("ana"))
    return client


@pytest.fixture
def aplicativo(db: None) -> Aplicativo:
    return Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"], chave="pk_live_loja")


@pytest.fixture
def mandar(aplicativo: Aplicativo) -> Callable[..., int]:
    """Manda eventos pela porta e devolve o status; por padrão, já os aplica."""

    def mandar(
        *eventos: dict[str, Any], chave: str = "pk_live_loja", aplicar: bool = True, **sessao: Any
    ) -> int:
        memoria.esquecer()  # o cache de chaves vale segundos; o teste não espera por ele
        corpo = {"chave": chave, "sessao": {"sessao_externa": "s1", **sessao}, "eventos": eventos}
        resposta = Client().post(
            "/evento/ingestao",
            json.dumps(corpo),
            content_type="text/plain",
            headers={"origin": "https://loja.com.br"},
        )
        if aplicar:
            CAIXA_DE_LOTES.esvaziar()
        return resposta.status_code

    return mandar


@pytest.fixture
def ligada(db: None) -> Ligada:
    return criar()


def erro_js(evento_id: str = "e1", mensagem: str = "x is undefined", **campos: Any) -> dict[str, Any]:
    """Um evento de erro como o site o manda."""
    return {"evento_id": evento_id, "tipo": "ERRO_JS", "nome": "TypeError", "mensagem": mensagem, **campos}


def mensagens(resposta: Any) -> list[str]:
    """As mensagens que a tela mostrou."""
    return [str(mensagem) for mensagem in resposta.context["messages"]]


def entrar_com(*permissoes: str) -> Client:
    """Um navegador com alguém da equipe que só tem estas permissões."""
    usuario = User.objects.create_user("bia", is_staff=True)
    usuario.user_permissions.set(Permission.objects.filter(codename__in=permissoes))
    cliente = Client()
    cliente.force_login(usuario)
    return cliente
