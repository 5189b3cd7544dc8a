"""Dois hospedeiros em espaços de rede próprios, ligados a um meio de campo onde ficam o banco e o broker.

    [hospedeiro a] 10.77.1.2 ── 10.77.1.1 ┐
                                          ├ aqui: PostgreSQL e Valkey em 10.77.0.1
    [hospedeiro b] 10.77.2.2 ── 10.77.2.1 ┘

Os espaços são desta máquina e morrem com o teste; nada sai dela.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from config.embutido import postgres
from config.embutido.sessao import manter_no_ar
from tests.escala.pecas import processo

MEIO = "10.77.0.1"
PORTA_DO_BROKER, PORTA_DA_WEB = 16_379, 18_000


def ip(*argumentos: str) -> None:
    subprocess.run(["ip", *argumentos], check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Hospedeiro:
    """Um espaço de rede com um cabo até o meio."""

    espaco: str
    cabo: str
    endereco: str

    def no_espaco(self, comando: Sequence[str]) -> list[str]:
        """O comando, rodando neste hospedeiro."""
        return ["ip", "netns", "exec", self.espaco, *comando]

    def tirar_o_cabo(self) -> None:
        """Ninguém se despede: os pacotes só deixam de chegar."""
        ip("link", "set", self.cabo, "down")

    def por_o_cabo(self) -> None:
        ip("link", "set", self.cabo, "up")


@contextmanager
def hospedeiro(letra: str, numero: int) -> Iterator[Hospedeiro]:
    """Cria o espaço, o cabo e a rota até o meio; apaga tudo na saída."""
    espaco, cabo, ponta = (
        f"lastro-{letra}-{os.getpid()}",
        f"la{letra}{os.getpid()}",
        f"lb{letra}{os.getpid()}",
    )
    rede = f"10.77.{numero}"
    ip("netns", "add", espaco)
    try:
        ip("link", "add", cabo, "type", "veth", "peer", "name", ponta, "netns", espaco)
        ip("addr", "add", f"{rede}.1/24", "dev", cabo)
        ip("link", "set", cabo, "up")
        ip("-n", espaco, "addr", "add", f"{rede}.2/24", "dev", ponta)
        ip("-n", espaco, "link", "set", "lo", "up")
        ip("-n", espaco, "link", "set", ponta, "up")
        ip("-n", espaco, "route", "add", "default", "via", f"{rede}.1")
        yield Hospedeiro(espaco, cabo, f"{rede}.2")
    finally:
        ip("netns", "del", espaco)  # leva o cabo junto


@contextmanager
def meio_de_campo(pasta: Path) -> Iterator[tuple[str, str]]:
    """PostgreSQL e Valkey (Redis do sistema) ouvindo no endereço do meio; entrega as URLs deles."""
    ip("addr", "add", f"{MEIO}/32", "dev", "lo")
    try:
        with ExitStack() as pilha:
            yield _banco(pilha, pasta), _broker(pilha, pasta)
    finally:
        ip("addr", "del", f"{MEIO}/32", "dev", "lo")


def _banco(pilha: ExitStack, pasta: Path) -> str:
    dados = pasta / "meio"
    dados.mkdir()
    registros = dados / "registros"
    registros.mkdir()
    pronto = postgres.preparar(dados)
    hba = pronto.pasta / "pg_hba.conf"
    hba.write_text(hba.read_text() + "host all all 10.77.0.0/16 trust\n")
    servidor = replace(pronto, comando=(*pronto.comando, "-c", f"listen_addresses={MEIO}"))
    pilha.enter_context(manter_no_ar(servidor, registros))
    return f"postgresql://lastro@{MEIO}/lastro"


def _broker(pilha: ExitStack, pasta: Path) -> str:
    comando = ["redis-server", "--bind", MEIO, "--port", str(PORTA_DO_BROKER), "--save", ""]
    pilha.enter_context(processo([*comando, "--protected-mode", "no"], pasta / "broker.log"))
    return f"redis://{MEIO}:{PORTA_DO_BROKER}/0"


def servir(
    pilha: ExitStack, onde: Hospedeiro, papel: str, python: str, ambiente: Mapping[str, str], saida: Path
) -> None:
    """Põe um papel de produção no hospedeiro."""
    comando = onde.no_espaco([python, "manage.py", "servir", papel, "--processos", "1"])
    pilha.enter_context(processo(comando, saida, ambiente={**ambiente, "LASTRO_ENDERECO": onde.endereco}))
