"""O formato dos registros: uma frase fixa e os campos, numa linha."""

import logging

_DO_PYTHON = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}


class FormatadorDeCampos(logging.Formatter):
    """`2026-11-30 12:00:00 ERROR lastro.caixa item da caixa falhou item=7 tentativas=2`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """A frase, e os campos passados em `extra`."""
        campos = (f"{nome}={valor!r}" for nome, valor in vars(record).items() if nome not in _DO_PYTHON)
        return " ".join([super().formatMessage(record), *campos])
