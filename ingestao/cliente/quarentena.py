"""A quarentena: o que o servidor recusa, ou que bateu no teto, espera aqui por uma pessoa, com o motivo."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from .arquivo import Arquivo
from .contadores import somar_descarte

MAX_DETALHE = 500  # caracteres; a frase do servidor cabe, uma página de erro não

SQL_POR = """
    UPDATE evento SET situacao = 2, motivo = :motivo, detalhe = :detalhe, quarentena_em = :agora
    WHERE seq = :seq AND situacao <> 2
"""
SQL_LISTAR = """
    SELECT id_evento, motivo, coalesce(detalhe, ''), quarentena_em, capturado_em, tentativas
    FROM evento WHERE situacao = 2 ORDER BY seq
"""
SQL_REENFILEIRAR = """
    UPDATE evento SET situacao = 0, falhas = 0, nao_antes_ms = 0, motivo = NULL, detalhe = NULL,
        quarentena_em = NULL WHERE id_evento = ? AND situacao = 2
"""


@dataclass(frozen=True)
class Quarentenado:
    """Um evento em quarentena, sem o conteúdo."""

    id_evento: str
    motivo: str
    detalhe: str
    quarentena_em: str
    capturado_em: str
    tentativas: int


class Quarentena:
    """O que uma pessoa faz com ela."""

    def __init__(self, arquivo: Arquivo) -> None:
        self._arquivo = arquivo

    def listar(self) -> list[Quarentenado]:
        """Os eventos, do mais antigo ao mais novo."""
        return self._arquivo.ler(lambda c: [Quarentenado(*linha) for linha in c.execute(SQL_LISTAR)])

    def reenfileirar(self, ids: Iterable[str]) -> int:
        """Devolve à vez, com a mesma identidade e um ciclo novo de tentativas; devolve quantos."""
        linhas = [(id_evento,) for id_evento in ids]
        return self._arquivo.executar(
            lambda c: sum(c.execute(SQL_REENFILEIRAR, linha).rowcount for linha in linhas), essencial=True
        )

    def descartar(self, ids: Iterable[str], motivo: str) -> int:
        """Apaga, contando o descarte pelo motivo dado; devolve quantos. Não tem volta."""
        linhas = [(id_evento,) for id_evento in ids]

        def apagar(conexao: sqlite3.Connection) -> int:
            apagados = 0
            for linha in linhas:
                sql = "SELECT seq FROM evento WHERE id_evento = ? AND situacao = 2"
                for (seq,) in conexao.execute(sql, linha).fetchall():
                    conexao.execute("DELETE FROM evento WHERE seq = ?", (seq,))
                    conexao.execute("DELETE FROM recorte WHERE seq = ?", (seq,))
                    apagados += 1
            somar_descarte(conexao, motivo, apagados)
            return apagados

        return self._arquivo.executar(apagar, essencial=True)


def por_em_quarentena(
    conexao: sqlite3.Connection, seq: int, motivo: str, detalhe: str, agora_em: str
) -> None:
    """Tira da vez, com o motivo, e conta o descarte; quem já está lá não conta de novo."""
    parametros = {"seq": seq, "motivo": motivo, "detalhe": detalhe[:MAX_DETALHE], "agora": agora_em}
    somar_descarte(conexao, motivo, conexao.execute(SQL_POR, parametros).rowcount)
