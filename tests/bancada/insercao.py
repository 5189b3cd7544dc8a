"""A referência do aceite: `INSERT` e COMMIT dos mesmos bytes, sem nada no meio.

O laço é o mesmo do gerador HTTP (uma thread, N conexões, uma instrução por vez em cada), para que a
diferença entre os dois seja o servidor e não o cliente. Fala com a libpq direto: o cursor do psycopg
custaria ao cliente mais do que a instrução custa ao banco.
"""

import selectors
import time
from collections import deque
from collections.abc import Sequence

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn

SQL_PREPARAR = """
    DROP TABLE IF EXISTS bancada_insercao;
    CREATE TABLE bancada_insercao (conteudo bytea NOT NULL)
"""
SQL_INSERIR = b"INSERT INTO bancada_insercao (conteudo) VALUES ($1)"
NOME = b"inserir"
BINARIO = 1
ESPERA_S = 60


class FalhaDeInsercao(Exception):
    """O PostgreSQL não gravou uma linha da referência."""


def inserir(banco_url: str, corpos: Sequence[bytes], *, conexoes: int) -> list[float]:
    """Grava cada corpo numa transação própria; devolve as latências (ms), na ordem das respostas."""
    with psycopg.connect(banco_url, autocommit=True) as preparo:
        preparo.execute(SQL_PREPARAR)
    abertas = [_abrir(banco_url) for _ in range(conexoes)]
    seletor = selectors.DefaultSelector()
    try:
        latencias_ms = _girar(seletor, abertas, corpos)
    finally:
        seletor.close()
        for conexao in abertas:
            conexao.finish()
    with psycopg.connect(banco_url, autocommit=True) as fim:
        gravadas = fim.execute("SELECT count(*) FROM bancada_insercao").fetchone()
        fim.execute("DROP TABLE bancada_insercao")
    if gravadas != (len(corpos),):
        raise FalhaDeInsercao(f"a referência gravou {gravadas} linhas de {len(corpos)}")
    return latencias_ms


def _abrir(banco_url: str) -> PGconn:
    conexao = pq.PGconn.connect(banco_url.encode())
    if conexao.status != pq.ConnStatus.OK:
        raise FalhaDeInsercao(conexao.get_error_message())
    resultado = conexao.prepare(NOME, SQL_INSERIR)
    if resultado.status != pq.ExecStatus.COMMAND_OK:
        raise FalhaDeInsercao(resultado.get_error_message())
    return conexao


def _girar(
    seletor: selectors.BaseSelector, abertas: Sequence[PGconn], corpos: Sequence[bytes]
) -> list[float]:
    latencias_ms: list[float] = []
    pendentes = deque(corpos)
    enviadas_s: dict[int, float] = {}

    def mandar(conexao: PGconn) -> None:
        if pendentes:
            enviadas_s[conexao.socket] = time.perf_counter()
            conexao.send_query_prepared(NOME, [pendentes.popleft()], [BINARIO])
            conexao.flush()

    for conexao in abertas:
        seletor.register(conexao.socket, selectors.EVENT_READ, conexao)
        mandar(conexao)
    while len(latencias_ms) < len(corpos):
        prontas = seletor.select(ESPERA_S)
        if not prontas:
            raise FalhaDeInsercao(f"nenhuma resposta do PostgreSQL em {ESPERA_S} s")
        for chave, _ in prontas:
            conexao = chave.data
            conexao.consume_input()
            if conexao.is_busy():
                continue
            while (resultado := conexao.get_result()) is not None:
                if resultado.status != pq.ExecStatus.COMMAND_OK:
                    raise FalhaDeInsercao(resultado.get_error_message())
            latencias_ms.append((time.perf_counter() - enviadas_s[conexao.socket]) * 1000)
            mandar(conexao)
    return latencias_ms
