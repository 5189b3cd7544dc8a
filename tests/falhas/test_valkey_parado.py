"""Sem o Valkey a porta continua honesta, e o trabalho segue sozinho quando ele volta."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.caos.fluxo_eventos import contar_pendentes
from tests.caos.lotes import Site
from tests.caos.servidor import ServidorLocal
from tests.falhas.carga import contas_de, em_paralelo, esperar_esvaziar, mandar_medindo, montar, totais

ESPERA_MAXIMA_S = 1.0


@contextmanager
def congelado(servidor: ServidorLocal) -> Iterator[None]:
    """O Valkey aceita conexões e não responde."""
    with servidor.congelado("valkey"):
        yield


@contextmanager
def morto(servidor: ServidorLocal) -> Iterator[None]:
    """O Valkey recusa conexões; com o supervisor congelado, ninguém o levanta."""
    valkey = servidor.processo("valkey")
    with servidor.congelado("supervisor"):
        valkey.kill()
        yield


@pytest.mark.parametrize("sem_valkey", [congelado, morto])
def test_sem_valkey_o_202_sai_em_menos_de_um_segundo_e_o_lote_espera_na_caixa(
    servidor: ServidorLocal, site: Site, sem_valkey
) -> None:
    corpos = [montar(site, [f"{n}-{i}" for i in range(3)], sessao=f"s{n}") for n in range(60)]

    with sem_valkey(servidor):
        medidas = [mandar_medindo(servidor, corpo) for corpo in corpos[:10]]
        medidas += em_paralelo(lambda corpo: mandar_medindo(servidor, corpo), corpos[10:], threads=10)
        na_caixa, gravados = contar_pendentes(servidor), totais(servidor, site).linhas
    esperar_esvaziar(servidor)

    assert {resposta.status for resposta, _ in medidas} == {202}
    assert max(espera_s for _, espera_s in medidas) < ESPERA_MAXIMA_S
    assert na_caixa is not None and na_caixa > 0
    assert na_caixa * 3 + gravados == 180
    assert totais(servidor, site) == contas_de(180)
