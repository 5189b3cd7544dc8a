"""Servidor cheio, token recusado ou link caído: a fila espera sem condenar ninguém nem insistir à toa."""

from typing import Any

import pytest

from tests.ingestao.cliente.conftest import TOKEN, Bancada, Montar
from tests.ingestao.cliente.servidor import Ato, Cortar, Responder


@pytest.mark.parametrize(
    ("status", "codigo"),
    [(401, "token_desconhecido"), (401, "token_ausente"), (403, "dispositivo_revogado")],
)
def test_token_recusado_segura_a_fila_alarma_e_reconfere_devagar(
    bancada: Bancada, status: int, codigo: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = bancada.capturar(5)
    recusa = Responder(status=status, codigo=codigo)
    bancada.servidor.mundo.sempre = lambda recebido: recusa
    bancada.servidor.mundo.no_pulso = lambda pulso: recusa
    comeco_ms = bancada.relogio.mono
    bancada.andar(lambda: len(bancada.servidor.mundo.pulsos) == 10)

    assert bancada.por_enviar == 5
    assert bancada.quarentena == {}
    assert bancada.remetente.autenticacao_recusada
    assert codigo in str(bancada.cliente.fila.ler_anotacao("autenticacao_recusada"))
    assert bancada.relogio.mono - comeco_ms >= 9 * 150_000  # de dois em dois minutos e meio, no mínimo
    assert len(bancada.servidor.mundo.recebidos) <= 1  # quem sonda é o pulso: nenhuma imagem à toa
    assert [r.message.count("recusou o token") for r in caplog.records if r.levelname == "ERROR"] == [1]
    assert TOKEN not in caplog.text

    bancada.servidor.mundo.sempre = lambda recebido: None
    bancada.servidor.mundo.no_pulso = lambda pulso: None
    assert bancada.esvaziar()
    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids)
    assert bancada.cliente.fila.ler_anotacao("autenticacao_recusada") == ""


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_e_respeitado_e_nao_conta_para_o_teto(bancada: Bancada, status: int) -> None:
    bancada.capturar(3)
    cheio = Responder(status=status, cabecalhos=(("Retry-After", "40"),))
    bancada.servidor.mundo.roteiro.extend([cheio] * 30)
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar()

    passou_s = (bancada.relogio.mono - comeco_ms) / 1000
    assert passou_s >= 30 * 40
    assert len(bancada.servidor.mundo.recebidos) == 31
    assert bancada.quarentena == {}


def test_retry_after_absurdo_tem_teto(bancada: Bancada) -> None:
    bancada.capturar()
    cheio = Responder(status=503, cabecalhos=(("Retry-After", "99999999"),))
    bancada.servidor.mundo.roteiro.append(cheio)
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar()

    assert (bancada.relogio.mono - comeco_ms) / 1000 < 900 * 1.5 + 60


@pytest.mark.parametrize(
    "ato",
    [
        Cortar(depois_de_gravar=False),
        Responder(status=502, corpo=b"<html>"),
        Responder(status=302, corpo=b""),
    ],
    ids=["corte", "proxy", "portal"],
)
def test_dias_sem_link_nao_condenam_ninguem_e_os_mais_antigos_saem_primeiro(
    bancada: Bancada, ato: Ato
) -> None:
    ids = bancada.capturar(60)
    mundo = bancada.servidor.mundo
    mundo.sempre = lambda recebido: ato
    fora = Responder(status=502, corpo=b"")
    mundo.no_pulso = lambda pulso: fora
    comeco_ms = bancada.relogio.mono
    bancada.andar(lambda: bancada.relogio.mono - comeco_ms > 2 * 3600 * 1000, passos=5000)

    assert bancada.relogio.mono - comeco_ms > 2 * 3600 * 1000
    assert (bancada.por_enviar, bancada.quarentena) == (60, {})
    antes = len(mundo.recebidos)
    assert antes < 2 * 3600 / 30  # o recuo chegou ao teto: nada de laço quente

    mundo.sempre, mundo.no_pulso = lambda recebido: None, lambda pulso: None
    assert bancada.esvaziar()
    tamanhos = [len(r.ids) for r in mundo.recebidos[antes:]]
    assert max(tamanhos[:2]) <= 8  # recomeça pequeno
    aceitos = [id_ for r in mundo.recebidos[antes:] for id_ in r.ids]
    # Só o que ainda esperava a sua vez, cortado sozinho, pode ter cedido o lugar.
    adiantados = [id_ for id_ in aceitos if id_ != ids[0]]
    assert adiantados[:40] == [id_ for id_ in ids if id_ in adiantados][:40]


def test_sem_ninguem_escutando_nada_se_perde_nem_conta(montar: Montar, servidor: Any) -> None:
    url = servidor.url
    servidor.url = "http://127.0.0.1:1"  # porta que ninguém abre
    bancada = montar(prazo_conexao_s=0.5)
    servidor.url = url
    bancada.capturar(3)
    bancada.andar(lambda: False, passos=60)

    (lote,) = [bancada.cliente.fila.medir()]
    assert (lote.prontos + lote.esperando, lote.quarentena) == (3, 0)
    assert max(bancada.dormidas_s) > 100  # o recuo cresceu
