"""Arquivo da fila danificado: posto de lado, e o que ainda se lê passa para o novo.

Salvar é seguro porque reenviar é seguro: o id viaja com o evento. Só passa quem confere com o seu resumo.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from .contadores import MOTIVO_FILA_DANIFICADA, somar_descarte

COLUNAS = (
    "seq", "id_evento", "corpo", "tamanho_bytes", "resumo", "capturado_em", "boot_id", "mono_ms",
    "situacao", "tentativas", "falhas", "nao_antes_ms", "motivo", "detalhe", "quarentena_em",
)  # fmt: skip
SQL_LER = (
    f"SELECT {', '.join(f'e.{c}' for c in COLUNAS)}, r.jpeg FROM evento e LEFT JOIN recorte r USING (seq)"
)
SQL_GRAVAR = f"INSERT OR IGNORE INTO evento ({', '.join(COLUNAS)}) VALUES ({', '.join('?' * len(COLUNAS))})"
SALVO = "salvo:"  # prefixo da anotação de um arquivo danificado já tratado
# O que é pequeno e se copia inteiro, se der: contagens por entregar e o índice dos quadros.
TABELAS_PEQUENAS = ("descarte", "relato", "latencia", "quadro", "quadro_de", "anotacao")


def calcular_resumo(corpo: str, recorte: bytes | None) -> bytes:
    """O SHA-256 que acompanha o evento no disco."""
    return hashlib.sha256(corpo.encode("utf-8") + b"\0" + (recorte or b"")).digest()


def por_de_lado(caminho: Path) -> Path:
    """Renomeia o arquivo e o WAL dele; devolve o novo nome. Nada é apagado."""
    destino = caminho.with_name(f"{caminho.name}.danificada-{time.time_ns()}")
    for sufixo in ("-wal", ""):  # o principal por último: morto no meio, o próximo a abrir refaz
        with suppress(FileNotFoundError):
            caminho.with_name(caminho.name + sufixo).rename(destino.with_name(destino.name + sufixo))
    with suppress(FileNotFoundError):
        caminho.with_name(caminho.name + "-shm").unlink()
    return destino


def salvar_o_legivel(velho: Path, novo: sqlite3.Connection) -> int | None:
    """Copia para o novo o que se lê do velho e conta o estrago como descarte; devolve os eventos salvos.

    A contagem é do que se sabe perdido, e no mínimo 1: o incidente aparece no servidor mesmo sem perda. Feito uma
    vez por arquivo, numa transação: morto no meio, ou sem espaço agora, a próxima abertura refaz. None se já estava
    feito, ou se não coube.
    """
    salvos = 0
    novo.execute("BEGIN IMMEDIATE")
    try:
        if novo.execute("SELECT 1 FROM anotacao WHERE nome = ?", (SALVO + velho.name,)).fetchone():
            novo.execute("ROLLBACK")
            return None
        with closing(sqlite3.connect(str(velho), isolation_level=None)) as conexao:
            havia = _contar(conexao)
            for tabela in TABELAS_PEQUENAS:
                _copiar_tabela(conexao, novo, tabela)
            for linha in _ler_dos_dois_lados(conexao):
                salvos += _copiar_evento(novo, linha)
        somar_descarte(novo, MOTIVO_FILA_DANIFICADA, max(1, havia - salvos))
        novo.execute("INSERT OR IGNORE INTO anotacao (nome, valor) VALUES (?, '')", (SALVO + velho.name,))
        novo.execute("COMMIT")
    except sqlite3.Error:  # erro do novo: os do velho já foram tratados linha a linha
        if novo.in_transaction:
            novo.execute("ROLLBACK")
        return None
    return salvos


def _contar(conexao: sqlite3.Connection) -> int:
    with suppress(sqlite3.Error):
        return int(conexao.execute("SELECT count(*) FROM evento").fetchone()[0])
    return 0


def _ler_dos_dois_lados(conexao: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """As linhas até a primeira página ruim, vindo do começo, e depois vindo do fim."""
    for ordem in ("ASC", "DESC"):
        with suppress(sqlite3.Error, UnicodeDecodeError):
            yield from conexao.execute(f"{SQL_LER} ORDER BY e.seq {ordem}")
            return


def _copiar_evento(novo: sqlite3.Connection, linha: tuple[Any, ...]) -> int:
    """1 se o evento confere com o resumo e ainda não estava no novo; 0 se não."""
    evento = dict(zip(COLUNAS, linha))
    jpeg = linha[len(COLUNAS)]
    if not isinstance(evento["corpo"], str) or calcular_resumo(evento["corpo"], jpeg) != evento["resumo"]:
        return 0
    try:
        gravadas = novo.execute(SQL_GRAVAR, linha[: len(COLUNAS)]).rowcount
        if gravadas and jpeg is not None:
            novo.execute("INSERT INTO recorte (seq, jpeg) VALUES (?, ?)", (evento["seq"], jpeg))
    except sqlite3.IntegrityError:  # uma coluna estragada que o resumo não cobre
        return 0
    return max(gravadas, 0)


def _copiar_tabela(velho: sqlite3.Connection, novo: sqlite3.Connection, tabela: str) -> None:
    """O que se lê da tabela. Só a leitura perdoa: uma escrita que não coube desfaz tudo, e se refaz depois."""
    colunas = len(novo.execute(f"PRAGMA table_info({tabela})").fetchall())
    for linha in _ler_ate_onde_da(velho, f"SELECT * FROM {tabela}"):
        if len(linha) == colunas:  # outra forma é de um esquema estragado
            novo.execute(f"INSERT OR IGNORE INTO {tabela} VALUES ({', '.join('?' * colunas)})", linha)


def _ler_ate_onde_da(velho: sqlite3.Connection, sql: str) -> Iterator[tuple[Any, ...]]:
    with suppress(sqlite3.Error, UnicodeDecodeError):
        yield from velho.execute(sql)
