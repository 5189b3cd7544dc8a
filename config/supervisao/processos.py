"""Olhar e encerrar processos do sistema, sem dependências."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LANCADOR = Path(__file__).with_name("lancador.py")
PASSO_ESPERA_S = 0.02  # morte por SIGKILL leva poucos milissegundos; esperar mais só atrasa a retomada


class ProcessoVisto(NamedTuple):
    """Um processo do sistema: o pid e a linha de comando, argumento por argumento."""

    pid: int
    argumentos: tuple[str, ...]


def montar_lancamento(
    comando: Sequence[str], *, sinal_orfandade: int, identidade: tuple[int, int] | None = None
) -> list[str]:
    """Devolve o argv que executa o comando como filho que não sobrevive a este processo.

    `identidade` é (uid, gid) a assumir; None continua como quem chamou.
    O núcleo vigia a thread que criou o filho: iniciar sempre pela principal.
    """
    uid, gid = identidade or ("-", "-")
    lancador = [sys.executable, "-I", "-S", str(LANCADOR), str(os.getpid()), str(int(sinal_orfandade))]
    return [*lancador, str(uid), str(gid), *comando]


def listar_processos() -> list[ProcessoVisto]:
    """Devolve os processos visíveis. Lê /proc; onde não existe (macOS), pergunta ao `ps`."""
    if not Path("/proc/self/cmdline").exists():
        return _listar_por_ps()
    vistos = []
    for pasta in Path("/proc").iterdir():
        if not pasta.name.isdigit():
            continue
        try:
            bruto = (pasta / "cmdline").read_bytes()
        except OSError:
            continue  # terminou entre a listagem e a leitura
        if bruto:
            argumentos = os.fsdecode(bruto).rstrip("\0").split("\0")
            vistos.append(ProcessoVisto(int(pasta.name), tuple(argumentos)))
    return vistos


def _listar_por_ps() -> list[ProcessoVisto]:
    saida = subprocess.run(
        ["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True
    ).stdout
    partes = (linha.split() for linha in saida.splitlines())
    return [ProcessoVisto(int(pid), tuple(resto)) for pid, *resto in partes]


def listar_grupo(pgid: int) -> list[int]:
    """Devolve os pids do grupo de processos; sem /proc devolve vazio."""
    return [visto.pid for visto in listar_processos() if _grupo_de(visto.pid) == pgid]


def _grupo_de(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def ler_variavel(pid: int, nome: str) -> str | None:
    """Devolve a variável de ambiente com que o processo começou; None se não há ou não se pode ler."""
    try:
        bruto = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    prefixo = f"{nome}=".encode()
    for par in bruto.split(b"\0"):
        if par.startswith(prefixo):
            return os.fsdecode(par[len(prefixo) :])
    return None


def esta_vivo(pid: int) -> bool:
    """Diz se o processo existe e não é zumbi (um zumbi já não segura arquivo, porta nem memória)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        situacao = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except OSError:
        return True
    return situacao not in {"Z", "X"}


def sinalizar(pid: int, sinal: int, *, grupo: bool = False) -> None:
    """Manda o sinal ao processo, ou ao grupo que ele lidera; quem já terminou não é erro."""
    try:
        (os.killpg if grupo else os.kill)(pid, sinal)
    except ProcessLookupError:
        return
    except PermissionError:
        # macOS responde EPERM quando no grupo só restam zumbis; no Linux root não passa por aqui.
        return


def encerrar(pids: Iterable[int], etapas: Sequence[tuple[signal.Signals, float]]) -> list[int]:
    """Manda cada sinal e espera o prazo dele (s) antes do seguinte; devolve os pids que sobraram."""
    restantes = [pid for pid in pids if esta_vivo(pid)]
    for sinal, prazo_s in etapas:
        for pid in restantes:
            sinalizar(pid, sinal)
        limite = time.monotonic() + prazo_s
        while restantes and time.monotonic() < limite:
            time.sleep(PASSO_ESPERA_S)
            restantes = [pid for pid in restantes if esta_vivo(pid)]
    return restantes
