"""Quanto de CPU cada parte gastou: web, worker, banco, Valkey, o resto do servidor e o gerador."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil

PARTES = ("web", "worker", "banco", "valkey", "outros", "gerador")
PARTE_MINIMA = 0.005  # abaixo de meio por cento, não se mostra


@dataclass(slots=True)
class Gasto:
    """Segundos de CPU por parte num intervalo, e a duração dele."""

    duracao_s: float = 0.0
    segundos: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def descrever(self, unidades: int) -> str:
        """Núcleos ocupados e µs de CPU por unidade em cada parte.

        O custo por unidade quase não depende do que mais roda na máquina; a vazão, sim.
        """
        total = sum(self.segundos.values())
        partes = " ".join(
            f"{parte} {self.segundos[parte] / unidades * 1e6:.0f}"
            for parte in PARTES
            if self.segundos[parte] >= PARTE_MINIMA * total
        )
        return f"{total / self.duracao_s:.2f} núcleos; µs por evento: {partes}"


@contextlib.contextmanager
def medir_gasto(pid_do_servidor: int) -> Iterator[Gasto]:
    """Mede o bloco; o `Gasto` entregue só está completo na saída.

    Quem nasceu e morreu no meio conta pelo pai, que o recolheu: o worker abre uma conexão por tarefa, e o
    processo do banco que a atende acaba com ela.
    """
    antes = _ler(pid_do_servidor)
    comeco_s = time.perf_counter()
    gasto = Gasto()
    yield gasto
    gasto.duracao_s = time.perf_counter() - comeco_s
    for parte, segundos in _ler(pid_do_servidor).items():
        gasto.segundos[parte] += segundos - antes[parte]


def _ler(pid_do_servidor: int) -> defaultdict[str, float]:
    """Segundos de CPU até agora, por parte, do servidor inteiro e deste processo."""
    proprios = psutil.Process().cpu_times()
    segundos = defaultdict(float, gerador=proprios.user + proprios.system)
    for processo in psutil.Process(pid_do_servidor).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            segundos[_parte(processo)] += sum(processo.cpu_times()[:4])  # dele e dos filhos já recolhidos
    return segundos


def _parte(processo: psutil.Process) -> str:
    comando = " ".join(processo.cmdline())
    for marca, parte in (
        ("granian", "web"),
        (" worker", "worker"),
        ("postgres", "banco"),
        ("valkey", "valkey"),
    ):
        if marca in comando:
            return parte
    return "outros"
