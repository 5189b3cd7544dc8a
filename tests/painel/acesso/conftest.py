"""Ana, a senha dela, e um navegador que tenta entrar."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

SENHA = "uma senha comprida 42"
LOGIN, CODIGO, FATOR = "/admin/login/", "/admin/login/codigo/", "/admin/segundo-fator/"


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_superuser("ana", password=SENHA)


@pytest.fixture
def navegador() -> Client:
    return Client(headers={"accept": "text/html"})


def tentar(cliente: Client, nome: str = "ana", senha: str = "errada", **extras: Any) -> Any:
    return cliente.post(LOGIN, {"username": nome, "password": senha, "next": "/admin/"}, **extras)


def dentro(cliente: Client) -> bool:
    return bool(cliente.get("/admin/").status_code == 200)
