"""O formato dos registros: os campos aparecem, e o que o banco repete do conteúdo recebido não."""

import logging

import pytest
from django.db import DatabaseError, connection, transaction

from config.registros import FormatadorDeCampos


def formatar(erro: BaseException) -> str:
    registro = logging.LogRecord(
        "lastro.x", logging.ERROR, "x.py", 1, "frase fixa", None, (type(erro), erro, erro.__traceback__)
    )
    registro.item = 7
    return FormatadorDeCampos().format(registro)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO django_site_de_teste (id, texto) VALUES (1, '+5511912345678')",
        "SELECT '+5511912345678' FROM tabela_que_nao_existe",
        "SELECT '{\"a\": x5511912345678'::json",
    ],
)
def test_o_traco_de_um_erro_do_banco_nao_repete_o_que_foi_recebido(db: None, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE django_site_de_teste (id int, texto text, CHECK (texto = ''))")
        with pytest.raises(DatabaseError) as levantado, transaction.atomic():
            cursor.execute(sql)
    texto = formatar(levantado.value)
    assert "912345678" in str(levantado.value)  # estaria lá
    assert "frase fixa item=7" in texto and "Traceback" in texto and type(levantado.value).__name__ in texto
    assert "912345678" not in texto


def test_um_traco_qualquer_sai_inteiro() -> None:
    try:
        raise ValueError("nada a esconder")
    except ValueError as erro:
        assert "ValueError: nada a esconder" in formatar(erro)
