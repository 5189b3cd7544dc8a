"""Filas de teste. Sem pytest: os processos que os testes matam importam só isto."""

from pathlib import Path

from ingestao.cliente.erros import FilaIndisponivel
from ingestao.cliente.fila import EventoNaFila, EventoNovo, Fila
from ingestao.cliente.vaga import VagaDeEnvio

__all__ = ["ESPACO", "FilaIndisponivel", "VagaDeEnvio", "abrir", "ids", "novo", "pegar"]

ESPACO = 64 * 1024 * 1024


def novo(numero: int, recorte: bytes | None = b"\xff\xd8 jpeg", *, id_evento: str = "") -> EventoNovo:
    """Um evento; sem id dado, um que se lê (e que um servidor de verdade não aceitaria)."""
    id_evento = id_evento or f"id-{numero:06d}"
    return EventoNovo(id_evento, '{"payload":{}}', recorte, "2026-11-30T18:00:00.000Z", "b", numero)


def abrir(pasta: Path, **mais: int) -> Fila:
    return Fila(pasta, **{"espaco_bytes": ESPACO, "reserva_bytes": 64 * 1024, **mais})


def pegar(fila: Fila, quantos: int = 100) -> list[EventoNaFila]:
    eventos, _ = fila.pegar_lote(
        max_eventos=lambda falhas: quantos, max_bytes=ESPACO, agora_em="2026-11-30T18:00:00.000Z"
    )
    return eventos


def ids(fila: Fila) -> list[str]:
    sql = "SELECT id_evento FROM evento ORDER BY seq"
    return [id_ for (id_,) in fila.arquivo.ler(lambda c: c.execute(sql).fetchall())]
