"""Apagar muitas linhas vencidas sem segurar o banco: em pedaços, cada um na sua transação."""

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction


def apagar_em_pedacos(sql: str, parametros: Mapping[str, Any], *, por_vez: int) -> int:
    """Repete o DELETE (que leva `%(limite)s`) até um pedaço vir incompleto; devolve quantas linhas saíram."""
    total = 0
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, {**parametros, "limite": por_vez})
            apagadas = cursor.rowcount
        total += apagadas
        if apagadas < por_vez:
            return total
