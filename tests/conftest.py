"""O que vale para todo teste. Os servidores estão em `tests/servidores.py`."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def memoria_limpa(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nenhum teste herda o cache de chaves, a medida da caixa ou a janela de outro."""
    from ingestao.eventos import chaves, recepcao

    chaves.memoria.esquecer()
    recepcao.teto._medido_em = float("-inf")
    recepcao.janela._perguntar(("FLUSHDB",))
    yield
