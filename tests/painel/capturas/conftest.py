"""Um aparelho em campo e o depósito de quadros numa pasta do teste."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from painel.permissoes import aplicar_papeis
from tests.ingestao.capturas.conftest import deposito
from tests.painel.aparelhos import Campo

__all__ = ["deposito"]


@pytest.fixture
def campo(db: None) -> Campo:
    return Campo.criar(User.objects.create_user("carla"))


def entrar_no_papel(*papeis: str) -> Client:
    """Um navegador com alguém da equipe que tem estes papéis."""
    aplicar_papeis()
    usuario = User.objects.create_user(f"pessoa-{User.objects.count()}", is_staff=True)
    usuario.groups.set(Group.objects.filter(name__in=papeis))
    cliente = Client(headers={"accept": "text/html"})
    cliente.force_login(usuario)
    return cliente
