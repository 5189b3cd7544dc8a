"""A recepção é evidência: o próprio banco recusa que ela mude."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from dlr.models import Recepcao
from tests.dlr.conftest import Chamar, recibo


@pytest.mark.parametrize(
    "mudar",
    [
        lambda cursor: cursor.execute("UPDATE dlr_recepcao SET metodo = 'GET'"),
        lambda cursor: cursor.execute("UPDATE dlr_recepcao SET corpo = corpo"),
        lambda cursor: cursor.execute("DELETE FROM dlr_recepcao"),
    ],
    ids=["update", "update sem mudar", "delete"],
)
def test_o_banco_recusa_mudar_ou_apagar_uma_recepcao(callback: Chamar, mudar: Callable[[Any], None]) -> None:
    callback(recibo("x1", "DELIVERED"))
    antes = Recepcao.objects.values().get()
    with (
        pytest.raises(DatabaseError, match="evidencia"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        mudar(cursor)
    depois = Recepcao.objects.values().get()
    assert {c: bytes(v) if isinstance(v, memoryview) else v for c, v in depois.items()} == {
        c: bytes(v) if isinstance(v, memoryview) else v for c, v in antes.items()
    }
