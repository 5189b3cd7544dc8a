"""O link ruim: corta onde diz que corta, e a conta do que causou é exata."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from PIL import Image

from ingestao.capturas.simulacao.enlace import CORTES, Destino, Enlace, Mensagem, sortear_perdas
from ingestao.capturas.simulacao.imagens import sortear_cena
from ingestao.cliente import Cliente
from tests.ingestao.cliente.conftest import CAIXA, TOKEN, desenhar_quadro
from tests.ingestao.cliente.servidor import Servidor
from tests.ingestao.cliente.test_cliente import RAPIDO


def porta_de(servidor: Servidor) -> int:
    return int(servidor.url.rpartition(":")[2])


def plano(*destinos: Destino) -> Callable[[int], Callable[[Mensagem], Destino]]:
    """Um destino por lote, na ordem, e depois passa tudo; o resto nunca é cortado."""
    fila = iter(destinos)

    def sortear(requisicao: Mensagem) -> Destino:
        return next(fila, Destino.PASSA) if "/captura/ingestao" in requisicao.linha else Destino.PASSA

    return lambda numero: sortear


def test_cada_corte_acontece_no_seu_instante(pasta: Path, servidor: Servidor) -> None:
    with (
        Enlace(porta_de(servidor), plano(*CORTES, Destino.ATRASA)) as enlace,
        Cliente(enlace.url, TOKEN, pasta, **RAPIDO) as cliente,
    ):
        (id_evento,) = cliente.capturar(desenhar_quadro(), [CAIXA], {})
        assert cliente.esperar_esvaziar(30)

    # Antes e no meio nada chega inteiro; depois e na resposta, chega e grava, e o ACK se perde.
    assert [r.lote["eventos"][0]["tentativa"] for r in servidor.mundo.recebidos] == [3, 4, 5]
    assert list(servidor.mundo.gravados) == [id_evento]
    assert enlace.contas.eventos_sem_ack == 2


def test_fora_do_ar_ninguem_passa_e_na_volta_tudo_chega(pasta: Path, servidor: Servidor) -> None:
    with Enlace(porta_de(servidor), plano()) as enlace:
        enlace.fora_do_ar.set()
        with Cliente(enlace.url, TOKEN, pasta, **RAPIDO) as cliente:
            ids = [cliente.capturar(desenhar_quadro(), [CAIXA], {"n": n})[0] for n in range(5)]
            assert not cliente.esperar_esvaziar(0.5)
            assert servidor.mundo.gravados == {}
            enlace.fora_do_ar.clear()
            assert cliente.esperar_esvaziar(30)

    assert sorted(servidor.mundo.gravados) == sorted(ids)


def test_mesma_semente_mesmas_perdas() -> None:
    requisicao = Mensagem(cabeca=b"POST / HTTP/1.1\r\n\r\n", corpo=b"")

    def sortear(semente: int) -> list[Destino]:
        dado = sortear_perdas(0.5, semente)(1)
        return [dado(requisicao) for _ in range(200)]

    assert sortear(1) == sortear(1) != sortear(2)
    assert 60 < sum(destino in CORTES for destino in sortear(1)) < 140


def test_cenas_sao_jpegs_de_verdade_variados_e_repetiveis() -> None:
    cenas = [sortear_cena(random.Random(n)) for n in range(30)]

    assert cenas[3] == sortear_cena(random.Random(3))
    assert len({cena.quadro for cena in cenas}) == 30
    assert {len(cena.caixas) for cena in cenas} > {0, 1}
    for cena in cenas:
        assert cena.quadro[:2] == b"\xff\xd8"
    assert Image.MAX_IMAGE_PIXELS is not None


@pytest.mark.parametrize(
    "opcao", [{"url": "http://192.0.2.1"}, {"url": "https://127.0.0.1"}, {"perda": 1.0}, {"quantos": 0}]
)
def test_simulador_so_aceita_alvo_local_e_numeros_que_servem(opcao: dict[str, object]) -> None:
    with pytest.raises(CommandError):
        call_command("simular_dispositivos", **opcao)
