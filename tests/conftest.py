"""O que vale para todo teste. Os servidores estão em `tests/servidores.py`."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import override_settings

from config import contagem

if TYPE_CHECKING:
    from tests.caos.servidor import ServidorLocal


@pytest.fixture(autouse=True)
def memoria_limpa(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nenhum teste herda o cache de chaves, a medida da caixa ou a janela de outro."""
    from ingestao.eventos import chaves, recepcao

    chaves.memoria.esquecer()
    recepcao.teto._medido_em = float("-inf")
    recepcao.janela._perguntar(("FLUSHDB",))
    yield


@pytest.fixture(scope="session", autouse=True)
def contas_so_deste_processo() -> None:
    """A pasta das contas leva o número do pai, que com `-n` é o mesmo para todos os processos dos testes."""
    contagem.PASTA = contagem.RAIZ_DAS_CONTAS / str(os.getpid())
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(contagem.PASTA)


@pytest.fixture(scope="session", autouse=True)
def so_o_custo_que_se_confere() -> Iterator[None]:
    """O que em produção se paga uma vez, e nos testes se pagaria a cada login e a cada `Client`.

    Um milhão de voltas por senha são meio segundo; listar os arquivos estáticos ao montar as camadas, 50 ms.
    """
    with override_settings(
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"], WHITENOISE_AUTOREFRESH=True
    ):
        yield


@pytest.fixture(scope="session")
def demonstrado() -> "Iterator[ServidorLocal]":
    """Um `manage.py local` cheio pela demonstração pequena, com um usuário por papel. Sobe uma vez, se alguém pedir."""
    from tests.caos.servidor import ServidorLocal
    from tests.demonstracao import demonstrar

    with ServidorLocal() as servidor:
        demonstrar(servidor, "--usuarios")
        yield servidor
