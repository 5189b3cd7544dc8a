"""O livro do oráculo: o que se mandou e o que se prometeu, em disco.

Trinta minutos de carga são milhões de eventos; em dicionários, passariam de um gigabyte. Aqui é um SQLite
temporário (sem nome, o próprio SQLite o apaga), que guarda poucos megabytes na memória e nada sincroniza: se o
gerador cair, a rodada acabou de qualquer forma.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

MEMORIA_KIB = 16_384


class Livro:
    """Tabelas de um fluxo. Quem chama de várias threads traz a sua trava."""

    def __init__(self, tabelas: str) -> None:
        """`tabelas` são os CREATE TABLE do fluxo."""
        self._banco = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._banco.executescript(
            f"PRAGMA cache_size = -{MEMORIA_KIB}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {tabelas}"
        )

    def anotar(self, sql: str, linhas: Iterable[Any]) -> None:
        """Roda a escrita uma vez por linha de parâmetros, numa transação só: é dez vezes mais rápido."""
        self._banco.execute("BEGIN")
        self._banco.executemany(sql, linhas)
        self._banco.execute("COMMIT")

    def buscar(self, sql: str, parametros: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """As linhas da consulta."""
        return self._banco.execute(sql, parametros).fetchall()

    def contar(self, sql: str, parametros: Sequence[Any] = ()) -> int:
        """O número que a consulta devolve."""
        return int(self._banco.execute(sql, parametros).fetchone()[0])
