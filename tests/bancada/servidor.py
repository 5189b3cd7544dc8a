"""Sobe um servidor novo (`manage.py local`) numa pasta temporária e o encerra na saída."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.embutido.enderecos import ler_enderecos
from config.supervisao.processos import montar_lancamento

RAIZ = Path(__file__).resolve().parents[2]
PRAZO_PRONTO_S = 150  # leva uns 10 s; a primeira vez de uma máquina ainda compila os .pyc
PRAZO_PARADA_S = 90  # o checkpoint final do PostgreSQL escreve tudo o que a bancada gravou
PASSO_S = 0.1
CAUDA_BYTES = 3_000
# O que muda o servidor medido não pode vir do terminal de quem mede.
VARIAVEIS_IGNORADAS = ("DATABASE_URL", "REDIS_URL", "LASTRO_SEGREDO", "LASTRO_ENDERECO", "URL_FRONTEND")


class ServidorNaoSubiu(Exception):
    """O servidor terminou ou não ficou pronto no prazo; a mensagem traz o fim da saída dele."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servidor:
    """Um servidor pronto: o pid do supervisor, a porta HTTP, a pasta de dados e a URL do PostgreSQL."""

    pid: int
    porta: int
    dados: Path
    banco_url: str


@contextmanager
def subir_servidor() -> Iterator[Servidor]:
    """Entrega um servidor novo, com os processos padrão, e apaga tudo na saída.

    Levanta `ServidorNaoSubiu`. A pasta tem modo 755 porque, como root, o PostgreSQL roda com outro
    usuário e precisa atravessá-la.
    """
    pasta = Path(tempfile.mkdtemp(prefix="lastro-bancada-"))
    pasta.chmod(0o755)
    try:
        porta = _porta_livre()
        processo = _iniciar(pasta, porta)
        try:
            _esperar_pronto(processo, pasta, porta)
            enderecos = ler_enderecos(pasta / "dados")
            if enderecos is None:
                raise ServidorNaoSubiu(f"o servidor não gravou os endereços em {pasta / 'dados'}")
            yield Servidor(
                pid=processo.pid, porta=porta, dados=pasta / "dados", banco_url=enderecos.banco_url
            )
        finally:
            _parar(processo)
    finally:
        shutil.rmtree(pasta, ignore_errors=True)


def ambiente_do_servidor(dados: Path) -> dict[str, str]:
    """O ambiente em que um comando do `manage.py` fala com o servidor desta pasta, e com nenhum outro."""
    limpo = {nome: valor for nome, valor in os.environ.items() if nome not in VARIAVEIS_IGNORADAS}
    return {**limpo, "LASTRO_DADOS": str(dados), "LASTRO_LOCAL": "1"}


def _iniciar(pasta: Path, porta: int) -> "subprocess.Popen[bytes]":
    comando = montar_lancamento(
        [sys.executable, str(RAIZ / "manage.py"), "local"],
        sinal_orfandade=signal.SIGTERM,  # bancada morta a tiro não deixa servidor de pé
    )
    with (pasta / "saida.log").open("wb") as saida:
        return subprocess.Popen(
            comando,
            env={**ambiente_do_servidor(pasta / "dados"), "PORTA": str(porta)},
            cwd=RAIZ,
            stdin=subprocess.DEVNULL,
            stdout=saida,
            stderr=saida,
            start_new_session=True,  # Ctrl-C é da bancada, que encerra o servidor em ordem
        )


def _esperar_pronto(processo: "subprocess.Popen[bytes]", pasta: Path, porta: int) -> None:
    limite = time.monotonic() + PRAZO_PRONTO_S
    while time.monotonic() < limite:
        if processo.poll() is not None:
            raise ServidorNaoSubiu(f"o servidor terminou com código {processo.returncode}:\n{_cauda(pasta)}")
        if _responde(porta):
            return
        time.sleep(PASSO_S)
    raise ServidorNaoSubiu(f"/prontidao não respondeu 200 em {PRAZO_PRONTO_S} s:\n{_cauda(pasta)}")


def _responde(porta: int) -> bool:
    conexao = http.client.HTTPConnection("127.0.0.1", porta, timeout=2)
    try:
        conexao.request("GET", "/prontidao")
        return conexao.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        conexao.close()


def _parar(processo: "subprocess.Popen[bytes]") -> None:
    if processo.poll() is None:
        processo.send_signal(signal.SIGTERM)
    try:
        processo.wait(PRAZO_PARADA_S)
    except subprocess.TimeoutExpired:
        processo.kill()  # os filhos morrem com o supervisor (ver config/supervisao/lancador.py)
        processo.wait()


def _porta_livre() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sonda:
        return int(sonda.getsockname()[1])


def _cauda(pasta: Path) -> str:
    return (pasta / "saida.log").read_bytes()[-CAUDA_BYTES:].decode("utf-8", "replace")
