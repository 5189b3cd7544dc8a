"""Só um processo envia cada fila. A trava é do sistema: quem morre, até com kill -9, a solta."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from .erros import FilaEmUso, FilaIndisponivel


class VagaDeEnvio:
    """A vaga de quem envia. Com ela, `pid` de quem a tem fica escrito no arquivo, para a mensagem do segundo."""

    def __init__(self, pasta: Path) -> None:
        self._caminho = pasta / "envio.trava"
        self._descritor = -1

    def ocupar(self) -> None:
        """Ocupa a vaga; já sendo nossa, nada faz. Levanta FilaEmUso, com o pid do outro, se ela tem dono."""
        if self._descritor >= 0:
            return
        try:
            descritor = os.open(str(self._caminho), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as erro:
            raise FilaIndisponivel(f"Não foi possível abrir {self._caminho}: {erro.strerror}.") from erro
        try:
            fcntl.flock(descritor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as erro:
            dono = os.pread(descritor, 20, 0).decode("ascii", "replace").strip() or "?"
            os.close(descritor)
            raise FilaEmUso(
                f"O processo {dono} já envia a fila de {self._caminho.parent}. Enfileirar pode continuar; "
                "para enviar daqui, pare o outro."
            ) from erro
        os.ftruncate(descritor, 0)
        os.pwrite(descritor, str(os.getpid()).encode("ascii"), 0)
        self._descritor = descritor

    def desocupar(self) -> None:
        """Solta a vaga; soltar duas vezes não faz nada."""
        if self._descritor >= 0:
            os.close(self._descritor)
            self._descritor = -1


def ler_dono(pasta: Path) -> int | None:
    """O pid de quem envia a fila desta pasta; None se ninguém."""
    try:
        with (pasta / "envio.trava").open("rb") as arquivo:
            try:
                fcntl.flock(arquivo, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(arquivo.read(20) or b"0")
    except (OSError, ValueError):
        return None
    return None
