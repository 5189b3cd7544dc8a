"""O teto da caixa, a segunda partida sobre os mesmos dados e a queda de tudo de uma vez."""

import time
from collections.abc import Iterator

import pytest

from tests.caos.envio import Resposta
from tests.caos.execucao import LIMITE_POR_MINUTO
from tests.caos.fluxo_eventos import contar_pendentes, criar_sites
from tests.caos.lotes import Site
from tests.caos.servidor import ServidorLocal, esperar
from tests.falhas.carga import contas_de, esperar_esvaziar, mandar, montar, totais

TETO = 30
# A porta mede a caixa no máximo a cada meio segundo e por processo: até lá ainda aceita.
EXCESSO = 400
MEDIDA_VELHA_S = 0.7


@pytest.fixture(scope="module")
def servidor() -> Iterator[ServidorLocal]:
    """Um servidor com o teto baixo, que estes testes param, matam e levantam."""
    ambiente = {"LASTRO_LIMITE_POR_MINUTO": LIMITE_POR_MINUTO, "LASTRO_TETO_DA_CAIXA": str(TETO)}
    with ServidorLocal(ambiente=ambiente) as servidor:
        yield servidor


@pytest.fixture(scope="module")
def reserva(servidor: ServidorLocal) -> Iterator[Site]:
    return iter(criar_sites(servidor, 5))


def test_caixa_no_teto_fecha_a_porta_sem_contar_nada_e_reabre_sozinha(
    servidor: ServidorLocal, site: Site
) -> None:
    aceitos: list[str] = []
    recusados: list[tuple[str, Resposta]] = []

    with servidor.congelado("worker"):
        for n in range(EXCESSO):
            resposta = mandar(servidor, montar(site, [f"e{n}"]))
            if resposta.status == 202:
                aceitos.append(f"e{n}")
            else:
                recusados.append((f"e{n}", resposta))
            if len(recusados) == 20:
                break
        time.sleep(MEDIDA_VELHA_S)  # agora todos os processos sabem
        na_caixa = contar_pendentes(servidor)
        invalidas = [mandar(servidor, b"{}") for _ in range(6)]  # nem a recusa é contada com a porta fechada
        na_caixa_depois = contar_pendentes(servidor)
    esperar_esvaziar(servidor)
    depois_de_esvaziar = totais(servidor, site)
    reabriu = esperar(lambda: mandar(servidor, montar(site, [recusados[0][0]])).status == 202, 5)
    esperar_esvaziar(servidor)

    assert len(aceitos) >= TETO
    for _, resposta in recusados:
        assert (resposta.status, resposta.codigo) == (503, "fila_cheia")
        assert int(resposta.cabecalhos["retry-after"]) > 0
    assert {(r.status, r.codigo) for r in invalidas} == {(503, "fila_cheia")}
    assert na_caixa == na_caixa_depois == len(aceitos)
    assert depois_de_esvaziar == contas_de(len(aceitos))
    assert reabriu
    assert totais(servidor, site) == contas_de(len(aceitos) + 1)
    assert servidor.consultar("SELECT count(*) FROM ingestao_recusa") == [(0,)]


def test_depois_de_tudo_morto_de_uma_vez_o_que_teve_202_esta_la(servidor: ServidorLocal, site: Site) -> None:
    time.sleep(MEDIDA_VELHA_S)  # a porta pode lembrar da caixa cheia do teste anterior
    with servidor.congelado("worker"):  # para que a queda pegue lotes ainda na caixa
        status = [mandar(servidor, montar(site, [f"{n}-{i}" for i in range(10)])).status for n in range(20)]
        servidor.matar_tudo()
    servidor.iniciar()
    esperar_esvaziar(servidor)

    assert status == [202] * 20
    assert totais(servidor, site) == contas_de(200)


def test_parar_e_partir_de_novo_nos_mesmos_dados_continua_de_onde_parou(
    servidor: ServidorLocal, site: Site
) -> None:
    assert mandar(servidor, montar(site, ["antes"])).status == 202

    servidor.parar()
    servidor.iniciar()
    resposta = mandar(servidor, montar(site, ["antes", "depois"]))
    esperar_esvaziar(servidor)

    assert resposta.status == 202
    assert totais(servidor, site) == contas_de(2)
