"""Peças de fora, de verdade: só roda por `make escala`, que as instala."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from config.embutido import iniciar_servidores
from config.embutido.enderecos import Enderecos
from tests.escala.pecas import pasta_alcancavel

if os.environ.get("LASTRO_ESCALA") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def pilha() -> Iterator[ExitStack]:
    """Tudo o que o teste põe de pé cai no fim, na ordem contrária."""
    with ExitStack() as aberta:
        yield aberta


@pytest.fixture
def pasta(pilha: ExitStack) -> Path:
    """Uma pasta que os servidores sem privilégio alcançam."""
    return pilha.enter_context(pasta_alcancavel())


@pytest.fixture
def embutidos(pilha: ExitStack, pasta: Path) -> Enderecos:
    """Um PostgreSQL e um Valkey só deste teste."""
    return pilha.enter_context(iniciar_servidores(pasta / "embutidos"))
