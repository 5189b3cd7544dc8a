"""Plugin do pytest: como o `-n` reparte os testes entre os processos (`make test`).

Um arquivo inteiro vai para um processo só, e o processo continua na pasta em que está: o servidor que ela sobe já está
de pé. As pastas que mais demoram saem primeiro: deixadas para o fim, um processo trabalharia sozinho.
"""

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

COM_SERVIDOR = ("tests/navegador/", "tests/falhas/", "tests/painel/inicio/test_ao_vivo.py")
JUNTOS = {  # o servidor demonstrado leva meio minuto para encher: um para os dois
    "tests/painel/test_demonstracao.py": "tests/navegador/test_passeios.py",
}


def onde_fica(nodeid: str) -> str:
    """O grupo do teste: o arquivo dele, ou o arquivo com que ele anda junto."""
    arquivo = nodeid.split("::", 1)[0]
    return JUNTOS.get(arquivo, arquivo)


def pasta_de(grupo: str) -> str:
    """O lugar cujo servidor o grupo usa; vazio para os que só usam os do processo."""
    return next((pasta for pasta in COM_SERVIDOR if grupo.startswith(pasta)), "")


class PorArquivo(LoadFileScheduling):
    """A repartição por arquivo do xdist; cada processo prefere a sua pasta, depois uma em que não haja ninguém."""

    def _split_scope(self, nodeid: str) -> str:
        return onde_fica(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        if escolhido := self._escolher(node):
            self.workqueue.move_to_end(escolhido, last=False)
        super()._assign_work_unit(node)

    def _escolher(self, node: WorkerController) -> str | None:
        atuais = {n: pasta_de(next(reversed(grupos))) for n, grupos in self.assigned_work.items() if grupos}
        minha = atuais.pop(node, None)
        ocupadas = set(atuais.values())
        na_fila = [(pasta_de(grupo), grupo) for grupo in self.workqueue]
        preferidos = [grupo for pasta, grupo in na_fila if pasta == minha]
        preferidos += [grupo for pasta, grupo in na_fila if pasta not in ocupadas]
        return preferidos[0] if preferidos else None


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> PorArquivo:
    config.option.loadscopereorder = (
        False  # pelo número de testes, mil de um milissegundo viriam antes de tudo
    )
    return PorArquivo(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not pasta_de(onde_fica(item.nodeid)))
