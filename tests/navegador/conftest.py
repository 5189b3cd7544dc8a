"""O servidor, o Chromium da máquina e uma página servida de outra origem."""

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.caos.servidor import RAIZ, ServidorLocal

LIMITE_POR_MINUTO = "600"  # um teste o alcança em dois lotes; os do coletor, nunca
ARGUMENTOS_DO_CHROMIUM = [
    "--no-sandbox",  # como root, o Chromium recusa a caixa de areia
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="package")
def servidor() -> Iterator[ServidorLocal]:
    with ServidorLocal(ambiente={"LASTRO_LIMITE_POR_MINUTO": LIMITE_POR_MINUTO}) as servidor:
        yield servidor


@pytest.fixture
def criar_chave(servidor: ServidorLocal) -> Callable[..., str]:
    """Cria um aplicativo pelo comando de verdade e devolve a chave."""

    def criar(*opcoes: str) -> str:
        saida = subprocess.run(
            [
                sys.executable,
                "manage.py",
                "criar_aplicativo",
                "--nome",
                "Loja",
                "--dominio",
                "127.0.0.1",
                *opcoes,
            ],
            cwd=RAIZ,
            env=servidor.ambiente(),
            capture_output=True,
            text=True,
            check=True,
        )
        return str(json.loads(saida.stdout)["chave"])

    return criar


@contextmanager
def abrir_chromium() -> Iterator[Browser]:
    """O Chromium da máquina; enquanto está aberto, esta thread tem um laço de eventos que não é dela."""
    caminho = shutil.which("chromium") or shutil.which("chromium-browser")
    assert caminho, "falta o Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        navegador = playwright.chromium.launch(executable_path=caminho, args=ARGUMENTOS_DO_CHROMIUM)
        yield navegador
        navegador.close()


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with abrir_chromium() as navegador:
        yield navegador


@pytest.fixture(scope="package")
def porta_do_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Um site estático qualquer: outra porta, logo outra origem."""
    pasta: Path = tmp_path_factory.mktemp("site")
    (pasta / "index.html").write_text("<!doctype html><title>Loja</title><h1>Loja</h1>", "utf-8")

    class Calado(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    servidor = http.server.ThreadingHTTPServer(("", 0), functools.partial(Calado, directory=str(pasta)))
    threading.Thread(target=servidor.serve_forever, daemon=True).start()
    yield servidor.server_port
    servidor.shutdown()


@pytest.fixture
def pagina(chromium: Browser, porta_do_site: int) -> Iterator[Page]:
    """Uma página aberta em http://127.0.0.1:<porta do site>, origem autorizada."""
    contexto = chromium.new_context()
    aberta = contexto.new_page()
    aberta.goto(f"http://127.0.0.1:{porta_do_site}/")
    yield aberta
    contexto.close()
