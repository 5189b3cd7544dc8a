"""Grupos de POSTs em voo quando a web ou o banco caem: quem ouviu 202 está lá, e quem não ouviu pode reenviar."""

import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from tests.caos.envio import Resposta, SemResposta
from tests.caos.lotes import Site
from tests.caos.servidor import ServidorLocal, esperar
from tests.falhas.carga import contas_de, em_paralelo, esperar_esvaziar, mandar, montar, totais

EM_VOO = 40
VOLTA_S = 30
DESTA_VEZ_S = 0.6  # os primeiros já estão presos no INSERT; os seguintes ficam na fila

SQL_PRESOS = """
    SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%INTO ingestao_lote%%'
        AND pid <> pg_backend_pid()
"""
SQL_GRAVADOS = "SELECT evento_id FROM ingestao_evento WHERE aplicativo_id = %s"


@contextmanager
def caixa_travada(servidor: ServidorLocal) -> Iterator[None]:
    """Ninguém grava na caixa: os grupos ficam parados entre o INSERT e o COMMIT."""
    conexao = servidor.conectar()
    try:
        conexao.execute("BEGIN")
        conexao.execute("LOCK TABLE ingestao_lote IN SHARE ROW EXCLUSIVE MODE")
        yield
    finally:
        conexao.close()


def presos(servidor: ServidorLocal) -> int:
    try:
        return int(servidor.consultar(SQL_PRESOS)[0][0])
    except psycopg.OperationalError:
        return 0


def tentar(servidor: ServidorLocal, corpo: bytes) -> Resposta | None:
    try:
        return mandar(servidor, corpo)
    except SemResposta:
        return None


def lote(site: Site, n: int) -> bytes:
    return montar(site, [f"{n}-{i}" for i in range(3)], tipo="ERRO_JS")


def reenviar_ate_202(servidor: ServidorLocal, site: Site) -> None:
    for n in range(EM_VOO):
        assert esperar(
            lambda n=n: (r := tentar(servidor, lote(site, n))) is not None and r.status == 202, VOLTA_S
        )
    esperar_esvaziar(servidor)


@contextmanager
def em_voo(servidor: ServidorLocal, site: Site) -> Iterator[list["Future[Resposta | None]"]]:
    """A caixa travada e os lotes mandados: uns presos no INSERT, os outros na fila da porta."""
    metade = EM_VOO // 2
    with ThreadPoolExecutor(EM_VOO) as equipe, caixa_travada(servidor):
        futuros = [equipe.submit(tentar, servidor, lote(site, n)) for n in range(metade)]
        assert esperar(lambda: presos(servidor) > 0, 10), "nenhum grupo chegou ao INSERT"
        time.sleep(DESTA_VEZ_S)
        futuros += [equipe.submit(tentar, servidor, lote(site, n)) for n in range(metade, EM_VOO)]
        time.sleep(DESTA_VEZ_S)
        yield futuros


@pytest.mark.parametrize("alvo", ["web", "postgres"])
def test_kill_9_com_grupos_entre_o_insert_e_o_commit_nao_promete_nada(
    servidor: ServidorLocal, site: Site, alvo: str
) -> None:
    with em_voo(servidor, site) as futuros:
        servidor.sinalizar(servidor.grupo(alvo), signal.SIGKILL)
        respostas = [futuro.result(VOLTA_S) for futuro in futuros]
    servidor.esperar_de_pe()
    esperar_esvaziar(servidor)
    antes_do_reenvio = totais(servidor, site)
    reenviar_ate_202(servidor, site)

    assert not [r for r in respostas if r is not None and r.status != 503], "nenhum 202 sem COMMIT"
    if alvo == "postgres":
        assert antes_do_reenvio == contas_de(0)
    assert totais(servidor, site) == contas_de(EM_VOO * 3, erros=EM_VOO * 3)


def test_quem_ouviu_503_por_prazo_na_fila_nao_e_gravado_nem_contado(
    servidor: ServidorLocal, site: Site
) -> None:
    recusas_antes = servidor.consultar("SELECT coalesce(sum(quantidade_requisicoes), 0) FROM ingestao_recusa")
    desconhecida = Site(id=site.id, chave="pk_live_ninguem", franquia=None)
    with em_voo(servidor, site) as futuros:
        recusas = em_paralelo(lambda n: tentar(servidor, lote(desconhecida, n)), range(10), threads=10)
        respostas = [futuro.result(VOLTA_S) for futuro in futuros] + recusas
    esperar_esvaziar(servidor)
    gravados = {id_.partition("-")[0] for (id_,) in servidor.consultar(SQL_GRAVADOS, (site.id,))}
    recusas_depois = servidor.consultar(
        "SELECT coalesce(sum(quantidade_requisicoes), 0) FROM ingestao_recusa"
    )
    reenviar_ate_202(servidor, site)

    assert {(r.status, r.codigo) for r in respostas if r is not None} == {(503, "armazenamento_lento")}
    assert None not in respostas
    # Os do primeiro grupo de cada processo já estavam no INSERT; os que esperavam a vez não foram gravados.
    assert not {str(n) for n in range(EM_VOO // 2, EM_VOO)} & gravados
    assert recusas_depois == recusas_antes
    assert totais(servidor, site) == contas_de(EM_VOO * 3, erros=EM_VOO * 3)


def test_sigterm_na_web_com_posts_em_voo_nao_perde_nenhum_202(servidor: ServidorLocal, site: Site) -> None:
    confirmados: set[str] = set()
    mandados: set[str] = set()
    fim = threading.Event()

    def insistir(cliente: int) -> None:
        for n in range(10_000):
            if fim.is_set():
                return
            id_ = f"{cliente}-{n}"
            mandados.add(id_)
            resposta = tentar(servidor, montar(site, [id_]))
            if resposta is not None and resposta.status == 202:
                confirmados.add(id_)
            elif fim.wait(
                0.05
            ):  # sem web, a recusa é imediata: insistir sem pausa gastaria as tentativas todas
                return

    threads = [threading.Thread(target=insistir, args=(cliente,)) for cliente in range(8)]
    for thread in threads:
        thread.start()
    assert esperar(lambda: len(confirmados) > 20, VOLTA_S)
    web = servidor.processo("web")
    web.terminate()
    web.wait(VOLTA_S)
    antes_da_volta = len(confirmados)
    assert esperar(lambda: len(confirmados) > antes_da_volta + 20, VOLTA_S), "a web não voltou"
    fim.set()
    for thread in threads:
        thread.join(VOLTA_S)
    esperar_esvaziar(servidor)

    gravados = {id_ for (id_,) in servidor.consultar(SQL_GRAVADOS, (site.id,))}
    assert confirmados - gravados == set()
    assert gravados <= mandados
    assert totais(servidor, site) == contas_de(len(gravados))
