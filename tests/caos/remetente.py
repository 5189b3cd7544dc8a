"""O que todo remetente da carga é: uma thread com dois canais, que manda até `parar` e insiste até `desistir`."""

import threading
from typing import Any

from tests.caos.envio import Canal


class Remetente(threading.Thread):
    """Roda `_trabalhar`; se ele quebrar, o oráculo é avisado, e os canais são fechados de qualquer modo."""

    def __init__(
        self,
        nome: str,
        *,
        canais: tuple[Canal, Canal],
        oraculo: Any,
        parar: threading.Event,
        desistir: threading.Event,
    ) -> None:
        super().__init__(name=nome, daemon=True)
        self._canais = canais
        self._oraculo = oraculo
        self._parar, self._desistir = parar, desistir

    def run(self) -> None:
        try:
            self._trabalhar()
        except Exception as erro:  # noqa: BLE001 - um defeito de quem manda não pode passar por silêncio
            self._oraculo.acusar(f"{self.name} quebrou: {erro!r}")
        finally:
            for canal in self._canais:
                canal.fechar()

    def _trabalhar(self) -> None:
        raise NotImplementedError
