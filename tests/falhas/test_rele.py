"""O relé do caos: leva, corta no meio, cala, e volta a levar."""

import time
from random import Random

from tests.caos.envio import SemResposta, perguntar
from tests.caos.rele import Rele
from tests.caos.servidor import ServidorLocal, esperar

SEMENTE = 3
TENTATIVAS = 20  # a cada conexão, mais de um terço de chance de corte


def responde(porta: int) -> bool:
    try:
        return perguntar(porta, "/saude").status == 200
    except SemResposta:
        return False


def test_o_rele_corta_no_meio_e_volta_a_levar(servidor: ServidorLocal) -> None:
    with Rele(servidor.porta, SEMENTE) as rele:
        antes = responde(rele.porta)
        durante = []
        for _ in range(TENTATIVAS):
            rele.cortar_no_meio(servidor, Random(SEMENTE))
            durante.append(responde(rele.porta))
        depois = esperar(lambda: responde(rele.porta), 20)

    assert (antes, depois) == (True, True)
    assert 0 < durante.count(False) < TENTATIVAS, "corta em qualquer lugar, e às vezes depois do fim"


def test_a_rede_muda_so_atrasa(servidor: ServidorLocal) -> None:
    with Rele(servidor.porta, SEMENTE) as rele:
        comeco = time.monotonic()
        rele.calar_a_rede(servidor, Random(SEMENTE))
        chegou = responde(rele.porta)

    assert chegou
    assert time.monotonic() - comeco > 0.3
