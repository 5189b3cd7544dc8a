"""O worker morre no meio, ou são vários ao mesmo tempo: o efeito é um só."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.caos.lotes import Site
from tests.caos.servidor import RAIZ, ServidorLocal, esperar
from tests.falhas.carga import contas_de, em_paralelo, esperar_esvaziar, mandar, montar, totais

PROCESSOS_A_MAIS = 3

SQL_PRESOS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE '%%INSERT INTO ingestao_uso%%' AND pid <> pg_backend_pid()
"""
SQL_A_ESPERA = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
SQL_IMPASSES = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


@contextmanager
def uso_travado(servidor: ServidorLocal, site: Site) -> Iterator[None]:
    """Segura a linha de uso do site: quem aplica para ali, com eventos e sessões já gravados e sem COMMIT."""
    with servidor.conectar() as conexao, conexao.transaction():
        conexao.execute("SELECT 1 FROM ingestao_uso WHERE aplicativo_id = %s FOR UPDATE", (site.id,))
        yield


def presos(servidor: ServidorLocal) -> int:
    return int(servidor.consultar(SQL_PRESOS)[0][0])


def a_espera_de_trava(servidor: ServidorLocal) -> int:
    return int(servidor.consultar(SQL_A_ESPERA)[0][0])


@pytest.mark.parametrize("alvo", ["um_filho", "o_mestre"])
def test_worker_morto_entre_os_eventos_e_os_contadores_nao_muda_as_contas(
    servidor: ServidorLocal, site: Site, alvo: str
) -> None:
    assert mandar(servidor, montar(site, ["primeiro"])).status == 202
    esperar_esvaziar(servidor)

    with uso_travado(servidor, site):
        corpos = [montar(site, [f"{n}-{i}" for i in range(20)], tipo="ERRO_JS") for n in range(20)]
        status = em_paralelo(lambda corpo: mandar(servidor, corpo).status, corpos, threads=5)
        assert esperar(lambda: presos(servidor) > 0, 15), "nenhum worker chegou ao uso"
        mestre, *filhos = servidor.grupo("worker")
        servidor.sinalizar(filhos if alvo == "um_filho" else [mestre], signal.SIGKILL)
        assert esperar(lambda: mortos(filhos if alvo == "um_filho" else [mestre]), 10)
        pela_metade = totais(servidor, site)
    esperar_esvaziar(servidor)

    assert status == [202] * 20
    assert pela_metade == contas_de(1)
    assert totais(servidor, site) == contas_de(401, erros=400)


def mortos(processos: list[psutil.Process]) -> bool:
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processos)


@contextmanager
def esvaziadores(servidor: ServidorLocal, quantos: int) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processos prontos para esvaziar a caixa, à espera da largada."""
    with ExitStack() as pilha:
        processos = []
        for _ in range(quantos):
            processo = subprocess.Popen(
                [sys.executable, "-m", "tests.falhas.esvaziador"],
                env=servidor.ambiente(),
                cwd=RAIZ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            pilha.enter_context(processo)
            pilha.callback(processo.kill)
            processos.append(processo)
        for processo in processos:
            assert processo.stdout is not None and processo.stdout.readline().strip() == "pronto"
        yield processos


def soltar(processo: "subprocess.Popen[str]") -> None:
    """Dá a largada a um esvaziador."""
    assert processo.stdin is not None
    processo.stdin.write("já\n")
    processo.stdin.flush()


def test_varios_workers_com_os_mesmos_eventos_em_ordens_contrarias(
    servidor: ServidorLocal, site: Site
) -> None:
    assert mandar(servidor, montar(site, ["primeiro"])).status == 202
    esperar_esvaziar(servidor)
    impasses_antes = servidor.consultar(SQL_IMPASSES)
    # Cada evento vai em dois lotes, um de trás para diante, de sessões diferentes: quem espera por quem é
    # decidido nos eventos, e não antes, na trava da sessão.
    partes = [[f"{n}-{i}" for i in range(30)] for n in range(80)]
    corpos = [montar(site, ids, sessao=f"ida-{n}", tipo="ERRO_JS") for n, ids in enumerate(partes)]
    corpos += [montar(site, ids[::-1], sessao=f"volta-{n}", tipo="ERRO_JS") for n, ids in enumerate(partes)]

    with esvaziadores(servidor, PROCESSOS_A_MAIS) as processos:
        with uso_travado(servidor, site):  # para que vários tenham lotes na mão ao mesmo tempo
            status = em_paralelo(lambda corpo: mandar(servidor, corpo).status, corpos, threads=8)
            for processo in processos:
                soltar(processo)
            assert esperar(lambda: a_espera_de_trava(servidor) >= 2, 15), "nada foi disputado"
        balancos = [json.loads(processo.communicate(timeout=30)[0]) for processo in processos]
    esperar_esvaziar(servidor)

    assert status == [202] * 160
    assert {(balanco["adiados"], balanco["estacionados"]) for balanco in balancos} == {(0, 0)}
    assert servidor.consultar(SQL_IMPASSES) == impasses_antes
    assert totais(servidor, site) == contas_de(2_401, erros=2_400)


def test_dez_reenvios_do_mesmo_lote_ao_mesmo_tempo_contam_uma_vez(
    servidor: ServidorLocal, site: Site
) -> None:
    corpo = montar(site, [f"{i}" for i in range(50)], tipo="ERRO_JS")

    status = em_paralelo(lambda _: mandar(servidor, corpo).status, range(10), threads=10)
    esperar_esvaziar(servidor)

    assert status == [202] * 10
    assert totais(servidor, site) == contas_de(50, erros=50)
