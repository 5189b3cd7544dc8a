"""Plugin do pytest: PostgreSQL e Valkey de verdade antes de o Django ler a configuração.

É um plugin (`-p tests.servidores`) e não um conftest porque o pytest-django lê `DATABASES` antes de
carregar os conftest. Com DATABASE_URL e REDIS_URL no ambiente, usa esses e não sobe nada.

Com `-n`, cada processo do xdist sobe os seus e só conhece os seus: um esvazia o Valkey a cada teste, e o outro
não pode notar. Quem reparte não roda teste algum, e não sobe nada.
"""

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from config.embutido import iniciar_servidores

_no_ar = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    os.environ.setdefault("LASTRO_SEGREDO", "segredo-so-dos-testes-" + "0" * 32)
    os.environ.setdefault("LASTRO_LOCAL", "1")
    if _precisa_de_servidores(early_config):
        pasta = Path(tempfile.mkdtemp(prefix="lastro-testes-", dir="/tmp"))
        pasta.chmod(0o755)  # como root, o PostgreSQL roda com outro usuário e precisa atravessar a pasta
        _no_ar.callback(shutil.rmtree, pasta, ignore_errors=True)
        enderecos = _no_ar.enter_context(iniciar_servidores(pasta))
        os.environ.setdefault("DATABASE_URL", enderecos.banco_url)
        os.environ.setdefault("REDIS_URL", enderecos.redis_url)
        os.environ["LASTRO_DADOS"] = str(pasta / "dados")
    return (yield)


def _precisa_de_servidores(config: pytest.Config) -> bool:
    if "PYTEST_XDIST_WORKER" in os.environ:
        for alheio in ("DATABASE_URL", "REDIS_URL"):  # os de fora seriam um só para todos
            os.environ.pop(alheio, None)
        return True
    so_reparte = bool(getattr(config.known_args_namespace, "numprocesses", None))
    so_lista = "--collect-only" in config.invocation_params.args
    return not (so_reparte or so_lista or {"DATABASE_URL", "REDIS_URL"} <= os.environ.keys())


def pytest_unconfigure() -> None:
    _no_ar.close()


atexit.register(_no_ar.close)  # uma falha antes de o pytest começar também encerra os servidores
