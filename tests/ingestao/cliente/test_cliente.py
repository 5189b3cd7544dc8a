"""A API de quem programa: grava e volta, envia sozinha, encerra limpo, e nunca finge que gravou."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingestao.cliente import (
    Caixa,
    Cliente,
    ConfiguracaoInvalida,
    FilaCheia,
    FilaEmUso,
    SemEspaco,
)
from tests.caos.servidor import esperar
from tests.ingestao.cliente.conftest import CAIXA, TOKEN, Bancada, desenhar_quadro
from tests.ingestao.cliente.servidor import Cortar, Responder, Servidor, servidor_no_ar

RAPIDO = {"espera_base_s": 0.02, "espera_teto_s": 0.1, "pulso_s": 0.2, "pedidos_espera_s": 1}


def test_captura_envia_sozinha_e_fecha_limpo(pasta: Path, servidor: Servidor) -> None:
    servidor.mundo.roteiro.extend([Cortar(depois_de_gravar=True), Responder(status=500), None])
    with Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as cliente:
        ids = [cliente.capturar(desenhar_quadro(), [Caixa(1, 2, 30, 40)], {"n": n})[0] for n in range(20)]
        assert cliente.esperar_esvaziar(30)
        assert cliente.enviando

    assert sorted(servidor.mundo.gravados) == sorted(ids)
    assert not [t for t in threading.enumerate() if t.name == "lastro-envio"]


def test_o_que_nao_saiu_antes_de_fechar_sai_depois_de_reabrir(pasta: Path) -> None:
    with Cliente("http://127.0.0.1:1", TOKEN, pasta, **RAPIDO) as cliente:
        ids = cliente.capturar(desenhar_quadro(), [CAIXA, (50, 50, 20, 20)], {})
        assert not cliente.esperar_esvaziar(0.2)
    with servidor_no_ar() as servidor, Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as cliente:
        assert cliente.esperar_esvaziar(30)
        assert sorted(servidor.mundo.gravados) == sorted(ids)


def test_segundo_cliente_enfileira_e_assume_quando_o_primeiro_sai(
    pasta: Path, servidor: Servidor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestao.cliente.cliente.REPETIR_VAGA_S", 0.1)
    with (
        Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as primeiro,
        Cliente(servidor.url, TOKEN, pasta, enviar=False) as sem_enviar,
    ):
        assert esperar(lambda: primeiro.enviando, 30)
        with pytest.raises(FilaEmUso, match="já envia"):
            Cliente(servidor.url, TOKEN, pasta, exigir_envio=True)
        (um,) = sem_enviar.capturar(desenhar_quadro(), [CAIXA], {})
        with Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as segundo:
            (dois,) = segundo.capturar(desenhar_quadro(), [CAIXA], {})
            assert segundo.esperar_esvaziar(30)  # quem mandou foi o primeiro
            assert esperar(lambda: any("já envia" in r.message for r in caplog.records), 30)
            assert not segundo.enviando
            primeiro.fechar()

            assert esperar(lambda: segundo.enviando, 30)
            (tres,) = segundo.capturar(desenhar_quadro(), [CAIXA], {})
            assert segundo.esperar_esvaziar(30)
    assert sorted(servidor.mundo.gravados) == sorted([um, dois, tres])


def test_fila_cheia_levanta_conta_e_o_servidor_fica_sabendo(montar: Callable[..., Bancada]) -> None:
    bancada = montar(fila_bytes=1024 * 1024, guardar_quadros=False)
    ids: list[str] = []
    with pytest.raises(FilaCheia):
        for _ in range(2000):
            ids += bancada.cliente.capturar(
                desenhar_quadro(600, 400), [(0, 0, 600, 400)], {"x": "y" * 20_000}
            )
    with pytest.raises(SemEspaco):
        bancada.cliente.capturar(desenhar_quadro(600, 400), [(0, 0, 600, 400)], {"x": "y" * 20_000})
    assert bancada.esvaziar()

    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids)
    assert bancada.servidor.mundo.descartados() == {"sem_espaco": 2}
    bancada.capturar()
    assert bancada.esvaziar()


def test_disco_cheio_os_quadros_cedem_antes_dos_eventos(disco_pequeno: Path, servidor: Servidor) -> None:
    opcoes = {"reserva_bytes": 256 * 1024, "disco_livre_minimo_bytes": 0, "margem_px": 0}
    with Cliente(servidor.url, TOKEN, disco_pequeno, enviar=False, **opcoes) as cliente:
        ids: list[str] = []
        with pytest.raises(SemEspaco):
            for n in range(1000):
                quadro = desenhar_quadro(cor=n % 200) + os.urandom(60_000)
                ids += cliente.capturar(quadro, [CAIXA], {"n": n, "enchimento": "x" * 20_000})
        guardados, _ = cliente.quadros.medir()
        medida = cliente.fila.medir()
        despejado = cliente.quadros.achar(ids[0], None)

    assert guardados == 0  # nenhum evento foi recusado enquanto havia quadro para ceder o lugar
    assert medida.prontos == len(ids)
    assert len(ids) > 30
    assert despejado == "despejado_por_espaco"


def test_defeito_da_fila_no_envio_nao_mata_a_thread(pasta: Path, servidor: Servidor) -> None:
    with Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as cliente:
        cliente.capturar(desenhar_quadro(), [CAIXA], {})
        assert cliente.esperar_esvaziar(30)
        with (pasta / "fila.db").open("r+b") as arquivo:
            arquivo.seek(100)
            arquivo.write(b"\xaa" * 50_000)
        ids = cliente.capturar(desenhar_quadro(), [CAIXA], {"depois": True})
        assert cliente.esperar_esvaziar(30)
        assert cliente.enviando

    assert set(ids) <= set(servidor.mundo.gravados)


@pytest.mark.parametrize(
    ("url", "token", "opcoes"),
    [
        ("lastro.exemplo", TOKEN, {}),
        ("ftp://x", TOKEN, {}),
        ("http://x", "", {}),
        ("http://x", "com espaço", {}),
        ("http://x", TOKEN, {"margem": 3}),
        ("http://x", TOKEN, {"eventos_por_lote": 0}),
        ("http://x", TOKEN, {"eventos_por_lote": 101}),
        ("http://x", TOKEN, {"espera_base_s": "muito"}),
        ("http://x", TOKEN, {"espera_base_s": float("nan")}),
        ("http://x", TOKEN, {"uniao": "talvez"}),
    ],
)
def test_configuracao_errada_e_dita_antes_de_tudo(
    pasta: Path, url: str, token: str, opcoes: dict[str, object]
) -> None:
    with pytest.raises(ConfiguracaoInvalida):
        Cliente(url, token, pasta, **opcoes)


def test_servidor_que_responde_o_long_poll_na_hora_nao_vira_laco_quente(
    pasta: Path, servidor: Servidor
) -> None:
    with Cliente(servidor.url, TOKEN, pasta, **RAPIDO):
        assert esperar(lambda: servidor.mundo.perguntas > 0, 30)
        time.sleep(1.5)

    assert 1 <= servidor.mundo.perguntas <= 3


def test_capturas_de_muitas_threads_chegam_todas(pasta: Path, servidor: Servidor) -> None:
    ids: list[str] = []
    with Cliente(servidor.url, TOKEN, pasta, **RAPIDO) as cliente:

        def capturar(n: int) -> None:
            for k in range(10):
                ids.extend(cliente.capturar(desenhar_quadro(), [CAIXA], {"n": n, "k": k}))

        threads = [threading.Thread(target=capturar, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cliente.esperar_esvaziar(30)

    assert len(ids) == 60
    assert sorted(servidor.mundo.gravados) == sorted(ids)
