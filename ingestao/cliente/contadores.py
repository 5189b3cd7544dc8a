"""Descartes por motivo e latências até o ACK: ficam no arquivo da fila e chegam ao servidor uma vez só.

O delta de descartes é congelado com um `relato_id` antes de ir e só sai quando um contato respondeu 200: o
mesmo delta reenviado leva o mesmo id, e o servidor o soma uma vez. A latência é por evento, e o servidor
guarda só a primeira; repetir não muda nada.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from dataclasses import dataclass
from typing import Any

MOTIVO_TETO = "teto_de_tentativas"
MOTIVO_GRANDE = "grande_demais"
MOTIVO_INVALIDO = "invalido"
MOTIVO_CORROMPIDO = "corrompido_no_disco"
MOTIVO_SEM_ESPACO = "sem_espaco"
MOTIVO_FILA_DANIFICADA = "fila_danificada"
MOTIVO_OPERADOR = "descartado_no_dispositivo"

MAX_LATENCIAS_POR_CONTATO = 500  # 25 KB de JSON; o resto vai no próximo

SQL_SOMAR = """
    INSERT INTO descarte (motivo, total, por_relatar) VALUES (:motivo, :qtd, :qtd)
    ON CONFLICT (motivo) DO UPDATE SET total = total + :qtd, por_relatar = por_relatar + :qtd
"""


@dataclass(frozen=True)
class Relato:
    """O que um contato leva além do principal. `relato_id` só existe com descartes."""

    relato_id: str | None
    descartados: dict[str, int]
    latencias: tuple[tuple[str, int], ...]

    def montar(self) -> dict[str, Any]:
        """As chaves do protocolo."""
        corpo: dict[str, Any] = {
            "descartados": self.descartados,
            "latencias": [{"id_evento": id_evento, "ms": ms} for id_evento, ms in self.latencias],
        }
        if self.relato_id is not None:
            corpo["relato_id"] = self.relato_id
        return corpo


def somar_descarte(conexao: sqlite3.Connection, motivo: str, qtd: int) -> None:
    """Soma ao total do dispositivo e ao que falta relatar."""
    if qtd > 0:
        conexao.execute(SQL_SOMAR, {"motivo": motivo, "qtd": qtd})


def congelar_relato(conexao: sqlite3.Connection) -> Relato:
    """O relato do próximo contato: o que já estava congelado, ou o delta de agora, congelado nesta transação."""
    linha = conexao.execute("SELECT relato_id, descartados FROM relato").fetchone()
    if linha is None:
        delta = dict(conexao.execute("SELECT motivo, por_relatar FROM descarte WHERE por_relatar > 0"))
        if delta:
            linha = (str(uuid.uuid4()), json.dumps(delta))
            conexao.execute("INSERT INTO relato (relato_id, descartados) VALUES (?, ?)", linha)
            conexao.execute("UPDATE descarte SET por_relatar = 0")
    latencias = conexao.execute(
        "SELECT id_evento, ms FROM latencia LIMIT ?", (MAX_LATENCIAS_POR_CONTATO,)
    ).fetchall()
    relato_id, descartados = linha if linha is not None else (None, "{}")
    return Relato(relato_id=relato_id, descartados=json.loads(descartados), latencias=tuple(latencias))


def dar_relato_por_entregue(conexao: sqlite3.Connection, relato: Relato) -> None:
    """O servidor respondeu 200 ao contato que o levou: nada daquilo vai de novo."""
    if relato.relato_id is not None:
        conexao.execute("DELETE FROM relato WHERE relato_id = ?", (relato.relato_id,))
    conexao.executemany("DELETE FROM latencia WHERE id_evento = ?", [(id_,) for id_, _ in relato.latencias])


def anotar_latencia(conexao: sqlite3.Connection, id_evento: str, ms: int) -> None:
    """A primeira latência de cada evento; a de um reenvio não a troca."""
    conexao.execute("INSERT OR IGNORE INTO latencia (id_evento, ms) VALUES (?, ?)", (id_evento, ms))


def ler_totais(conexao: sqlite3.Connection) -> dict[str, int]:
    """Tudo o que este dispositivo já descartou ou pôs em quarentena, por motivo."""
    return dict(conexao.execute("SELECT motivo, total FROM descarte ORDER BY motivo"))
