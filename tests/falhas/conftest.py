"""O servidor compartilhado da pasta e um site novo para cada teste."""

from collections.abc import Iterator

import pytest

from tests.caos.execucao import LIMITE_POR_MINUTO
from tests.caos.fluxo_eventos import criar_sites
from tests.caos.lotes import Site
from tests.caos.servidor import ServidorLocal, esperar
from tests.falhas.carga import ja_esvaziou

SITES_DE_RESERVA = 120


@pytest.fixture(scope="package")
def servidor_da_pasta() -> Iterator[ServidorLocal]:
    """Um `manage.py local` que vive enquanto durarem os testes desta pasta."""
    with ServidorLocal(ambiente={"LASTRO_LIMITE_POR_MINUTO": LIMITE_POR_MINUTO}) as servidor:
        yield servidor


@pytest.fixture(scope="package")
def reserva(servidor_da_pasta: ServidorLocal) -> Iterator[Site]:
    """Sites criados de uma vez: cada processo do Django leva mais de um segundo para começar."""
    return iter(criar_sites(servidor_da_pasta, SITES_DE_RESERVA))


@pytest.fixture
def servidor(servidor_da_pasta: ServidorLocal) -> ServidorLocal:
    """O servidor da pasta, de pé e com a caixa vazia, tenha o teste anterior derrubado o que for."""
    servidor_da_pasta.esperar_de_pe()
    assert esperar(lambda: ja_esvaziou(servidor_da_pasta), 30), "a caixa não esvaziou antes do teste"
    return servidor_da_pasta


@pytest.fixture
def site(reserva: Iterator[Site]) -> Site:
    """Um site que só este teste usa: as contas dele são só deste teste."""
    return next(reserva)
