"""O formato dos registros: uma frase fixa e os campos, numa linha."""

import logging
import re
from types import TracebackType

_DO_PYTHON = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "request"}

# O PostgreSQL põe nestas linhas o que recebeu: a linha inteira que recusou, o trecho da instrução, o valor copiado.
_COM_CONTEUDO = re.compile(r"^(DETAIL|CONTEXT|LINE \d+):.*(\n[ \t]*\^)?\n?", re.MULTILINE)
_Levantada = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class FormatadorDeCampos(logging.Formatter):
    """`2026-11-30 12:00:00 ERROR lastro.caixa item da caixa falhou item=7 tentativas=2`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """A frase, e os campos passados em `extra`."""
        campos = (f"{nome}={valor!r}" for nome, valor in vars(record).items() if nome not in _DO_PYTHON)
        return " ".join([super().formatMessage(record), *campos])

    def formatException(self, ei: _Levantada) -> str:
        """O traço, sem o conteúdo que um erro do banco repete: ele pode ser um telefone, ou um segredo."""
        return _COM_CONTEUDO.sub(r"\1: (omitido)\n", super().formatException(ei))
