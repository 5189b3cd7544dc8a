"""O cursor do psycopg na conexão do Django: parâmetros no servidor, bytes como bytes, consultas preparadas."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def cursor_direto() -> Iterator[psycopg.Cursor[Any]]:
    """Um cursor na conexão desta thread, na transação que estiver aberta.

    Confere se a conexão guardada ainda vive, como o cursor do Django faria: sem isto, a primeira consulta
    de cada thread depois de uma queda do banco falharia à toa. Erros saem como os do Django.
    """
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        yield cursor
