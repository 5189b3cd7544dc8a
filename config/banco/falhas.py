"""De quem é a culpa de um erro do banco: dele (esperar resolve) ou do que se pediu (repetir não resolve)."""

import traceback

import psycopg
from django.db import InterfaceError, OperationalError

# Classes de SQLSTATE que passam sozinhas: conexão, conflito, falta de recurso, trava, servidor parando, disco.
# Fora delas, um OperationalError é do pedido (54: limite do programa; 57014: consulta cancelada por tempo).
CLASSES_DO_BANCO = ("08", "40", "53", "55", "57P", "58")


def e_do_banco(erro: BaseException) -> bool:
    """Diz se o banco está sem condições (503, tentar de novo) ou se o erro é do que lhe foi pedido."""
    if not isinstance(erro, OperationalError | InterfaceError):
        return False
    sqlstate = getattr(erro.__cause__, "sqlstate", None)
    return sqlstate is None or sqlstate.startswith(CLASSES_DO_BANCO)


def descrever(erro: BaseException) -> str:
    """O erro por extenso, sem o DETAIL do PostgreSQL: ele traz a linha inteira, com o que foi recebido."""
    causa = erro.__cause__ if isinstance(erro.__cause__, psycopg.Error) else erro
    if not isinstance(causa, psycopg.Error):
        return f"{type(erro).__name__}: {erro}"
    diagnostico = causa.diag
    alvo = " ".join(
        filter(None, (diagnostico.table_name, diagnostico.column_name, diagnostico.constraint_name))
    )
    frase = diagnostico.message_primary or str(causa).partition("\n")[0]
    return f"{type(erro).__name__} [{causa.sqlstate}]: {frase}" + (f" ({alvo})" if alvo else "")


def onde(erro: BaseException) -> str:
    """`arquivo.py:linha` de onde o erro saiu: o que se registra quando a mensagem pode trazer conteúdo."""
    quadros = traceback.extract_tb(erro.__traceback__)
    return f"{quadros[-1].filename.rpartition('/')[2]}:{quadros[-1].lineno}" if quadros else "?"
