"""Um dono por pasta de dados.

Dois donos se derrubariam: cada um tomaria os servidores do outro por órfãos.
"""

import fcntl
import os
from pathlib import Path

NOME_ARQUIVO = "local.trava"


class DadosEmUso(Exception):
    """Outro processo é o dono da pasta de dados; `pid` é 0 quando não se sabe qual."""

    def __init__(self, dados: Path, pid: int) -> None:
        self.pid = pid
        super().__init__(
            f"A pasta {dados} já está em uso por outro `manage.py local` (processo {pid or 'desconhecido'}). "
            f"Encerre-o antes, ou use outra pasta com LASTRO_DADOS."
        )


class Trava:
    """Posse exclusiva da pasta de dados. O núcleo a solta quando o processo morre, seja como for."""

    def __init__(self, dados: Path) -> None:
        """Toma a posse; levanta DadosEmUso se já tem dono."""
        self._descritor = os.open(dados / NOME_ARQUIVO, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descritor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as ocupada:
            pid = os.pread(self._descritor, 20, 0).strip()
            os.close(self._descritor)
            raise DadosEmUso(dados, int(pid) if pid.isdigit() else 0) from ocupada
        os.ftruncate(self._descritor, 0)
        os.pwrite(self._descritor, f"{os.getpid()}\n".encode("ascii"), 0)

    def soltar(self) -> None:
        """Devolve a posse. O arquivo fica: apagá-lo deixaria dois donos de arquivos de mesmo nome."""
        os.close(self._descritor)
