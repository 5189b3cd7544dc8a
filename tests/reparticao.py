"""Plugin do pytest: como o `-n` reparte os testes entre os processos (`make test`).

Um arquivo inteiro vai para um processo só, com os servidores que ele sobe; e arquivos que usam o mesmo servidor
caro vão juntos. Os que mais demoram saem primeiro: deixados para o fim, um processo trabalharia sozinho.
"""

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

JUNTOS = {  # o servidor demonstrado leva meio minuto para encher: um para os dois
    "tests/painel/test_demonstracao.py": "tests/navegador/test_passeios.py",
}
PRIMEIRO = (
    "tests/navegador/",
    "tests/falhas/",
    "tests/test_esquema.py",
)  # o resto, na ordem do pytest-django


def onde_fica(nodeid: str) -> str:
    """O grupo do teste: o arquivo dele, ou o arquivo com que ele anda junto."""
    arquivo = nodeid.split("::", 1)[0]
    return JUNTOS.get(arquivo, arquivo)


class PorArquivo(LoadFileScheduling):
    """A repartição por arquivo do xdist, na ordem da coleta, com os que andam juntos."""

    def _split_scope(self, nodeid: str) -> str:
        return onde_fica(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> PorArquivo:
    config.option.loadscopereorder = (
        False  # pelo número de testes, mil de um milissegundo viriam antes de tudo
    )
    return PorArquivo(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not onde_fica(item.nodeid).startswith(PRIMEIRO))
