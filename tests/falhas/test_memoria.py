"""A memória tem teto: bombas de gzip na porta, cem mil eventos no worker."""

import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import pytest

from tests.caos.envio import Resposta, postar
from tests.caos.lotes import CABECALHOS, Site
from tests.caos.servidor import ServidorLocal
from tests.falhas.carga import Totais, Vigia, contas_de, em_paralelo, esperar_esvaziar, mandar, montar, totais

BOMBA_MIB = 256
QTD_BOMBAS = 200
MAX_WEB_MB = 170  # ~110 de código carregado (Django, Celery, Pillow, painel) e o orçamento de corpos da porta
MAX_WORKER_MB = 200
QTD_LOTES = 200
EVENTOS_POR_LOTE = 500
PASSO_S = 0.05


def montar_bomba() -> bytes:
    """256 MiB de zeros em 260 KB de gzip."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    mib = bytes(1024 * 1024)
    return b"".join(compressor.compress(mib) for _ in range(BOMBA_MIB)) + compressor.flush()


@contextmanager
def maior_memoria(servidor: ServidorLocal, nome: str) -> Iterator[dict[int, float]]:
    """A maior memória residente (MB) de cada processo do serviço durante o bloco, por pid."""
    maiores: dict[int, float] = {}
    fim = threading.Event()

    def olhar() -> None:
        while not fim.wait(PASSO_S):
            for processo in servidor.grupo(nome):
                try:
                    usado_mb = processo.memory_info().rss / 1e6
                except psutil.NoSuchProcess:
                    continue
                maiores[processo.pid] = max(maiores.get(processo.pid, 0.0), usado_mb)

    thread = threading.Thread(target=olhar, daemon=True)
    thread.start()
    try:
        yield maiores
    finally:
        fim.set()
        thread.join(10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bombardeio:
    """O que duzentas bombas juntas deixaram: as respostas delas, as de um vizinho, e a memória da web."""

    respostas: list[Resposta]
    vizinho: list[int | None]
    gravados_do_vizinho: Totais
    memoria_mb: dict[int, float]


@pytest.fixture(scope="module")
def bombardeio(servidor_da_pasta: ServidorLocal, reserva: Iterator[Site]) -> Bombardeio:
    """Um bombardeio só, visto por mais de um teste."""
    servidor, site, corpo = servidor_da_pasta, next(reserva), montar_bomba()
    servidor.esperar_de_pe()
    cabecalhos = {**CABECALHOS, "Content-Encoding": "gzip"}
    with maior_memoria(servidor, "web") as memoria_mb, Vigia(servidor, site, "vizinho") as vigia:
        respostas = em_paralelo(
            lambda _: postar(servidor.porta, corpo, cabecalhos, prazo_s=60),
            range(QTD_BOMBAS),
            threads=QTD_BOMBAS,
        )
    esperar_esvaziar(servidor)
    return Bombardeio(
        respostas=respostas,
        vizinho=vigia.status,
        gravados_do_vizinho=totais(servidor, site),
        memoria_mb=memoria_mb,
    )


def test_duzentas_bombas_de_gzip_juntas_sao_recusadas_e_o_vizinho_e_atendido(bombardeio: Bombardeio) -> None:
    recusas = Counter((r.status, r.codigo) for r in bombardeio.respostas)
    # Além do orçamento de memória da porta, a bomba nem é guardada: 503 na hora.
    assert set(recusas) <= {(413, "corpo_inflado_grande"), (503, "porta_cheia")}
    # Quantas são abertas depende de quanto a máquina demora nas outras; nenhuma passa, e alguma é vista por dentro.
    assert recusas[413, "corpo_inflado_grande"] > 0
    assert set(bombardeio.vizinho) == {202}
    assert bombardeio.gravados_do_vizinho == contas_de(len(bombardeio.vizinho))


def test_duzentas_bombas_de_gzip_juntas_nao_crescem_a_web(bombardeio: Bombardeio) -> None:
    assert max(bombardeio.memoria_mb.values()) < MAX_WEB_MB, bombardeio.memoria_mb


def test_cem_mil_eventos_cabem_na_memoria_do_worker(servidor: ServidorLocal, site: Site) -> None:
    def lote(n: int) -> bytes:
        ids = [f"{n}-{i}" for i in range(EVENTOS_POR_LOTE)]
        return montar(site, ids, sessao=f"s{n % 50}", tipo="ERRO_JS", pilha="em f (a.js:1:2)\n" * 10)

    with maior_memoria(servidor, "worker") as memoria_mb:
        status = em_paralelo(lambda n: mandar(servidor, lote(n)).status, range(QTD_LOTES), threads=4)
        esperar_esvaziar(servidor)

    assert status == [202] * QTD_LOTES
    assert max(memoria_mb.values()) < MAX_WORKER_MB, memoria_mb
    eventos = QTD_LOTES * EVENTOS_POR_LOTE
    assert totais(servidor, site) == contas_de(eventos, erros=eventos)
