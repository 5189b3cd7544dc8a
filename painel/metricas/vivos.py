"""Quantos workers respondem. O ping leva um segundo: é feito por fora, e a leitura mostra o último."""

import threading
import time

from painel.situacao import contar_workers

VALIDADE_S = 10.0


class WorkersVivos:
    """A última contagem, renovada por uma thread quando alguém a lê depois de `VALIDADE_S`."""

    def __init__(self) -> None:
        self._trava = threading.Lock()
        self._contado_em = float("-inf")
        self._quantos: int | None = None

    def ler(self) -> int | None:
        """A última contagem; None antes da primeira ou com o broker fora. Não espera."""
        if time.monotonic() - self._contado_em > VALIDADE_S and self._trava.acquire(blocking=False):
            threading.Thread(target=self._contar, name="workers-vivos", daemon=True).start()
        return self._quantos

    def _contar(self) -> None:
        try:
            self._quantos = contar_workers()
        finally:
            self._contado_em = time.monotonic()
            self._trava.release()


workers_vivos = WorkersVivos()
