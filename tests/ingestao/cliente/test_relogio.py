"""Relógio que pula, que nasce em 1970, que discorda: o evento vai, a suspeita aparece, nada mais muda."""

from datetime import UTC, datetime, timedelta

import pytest

from ingestao.cliente.relogio import Relogio, formatar_hora, ler_hora
from tests.ingestao.cliente.conftest import Bancada, RelogioFalso
from tests.ingestao.cliente.servidor import Responder


def ultimo_pulso_suspeito(bancada: Bancada) -> bool:
    antes = len(bancada.servidor.mundo.pulsos)
    assert bancada.andar(lambda: len(bancada.servidor.mundo.pulsos) > antes)
    return bool(bancada.servidor.mundo.pulsos[-1]["relogio_suspeito"])


@pytest.mark.parametrize("salto", [timedelta(hours=1), timedelta(hours=-1), timedelta(days=-20_000)])
def test_salto_marca_a_suspeita_e_nao_mexe_em_recuo_nem_latencia(bancada: Bancada, salto: timedelta) -> None:
    mundo = bancada.servidor.mundo
    certa = bancada.relogio.agora
    assert ultimo_pulso_suspeito(bancada) is False
    mundo.hora_servidor = lambda: certa() - salto  # o servidor continua certo
    bancada.relogio.parede += salto
    (id_evento,) = bancada.capturar()
    mundo.roteiro.append(Responder(status=500))
    bancada.relogio.andar(1)
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar()

    assert bancada.relogio.mono - comeco_ms < 5_000
    assert mundo.recebidos[0].lote["eventos"][0]["relogio_suspeito"] is True
    assert ultimo_pulso_suspeito(bancada) is True
    assert 1_000 <= mundo.latencias[id_evento] < 5_000


def test_relogio_em_1970_e_suspeito_ate_alguem_acertar(bancada: Bancada) -> None:
    bancada.servidor.mundo.hora_servidor = lambda: datetime(2026, 11, 30, 18, tzinfo=UTC)
    bancada.relogio.parede = datetime(1970, 1, 1, 0, 5, tzinfo=UTC)
    assert ultimo_pulso_suspeito(bancada) is True

    bancada.relogio.parede = datetime(2026, 11, 30, 18, tzinfo=UTC)  # o NTP chegou
    ultimo_pulso_suspeito(bancada)  # este leva a notícia do salto e traz a hora do servidor
    assert ultimo_pulso_suspeito(bancada) is False


def test_hora_certa_e_andando_junto_nunca_e_suspeita(bancada: Bancada) -> None:
    bancada.servidor.mundo.hora_servidor = bancada.relogio.agora
    for _ in range(20):
        bancada.relogio.andar(3600)
        assert ultimo_pulso_suspeito(bancada) is False


def test_boot_novo_nao_e_salto(bancada: Bancada, relogio: RelogioFalso) -> None:
    bancada.servidor.mundo.hora_servidor = relogio.agora
    relogio.reiniciar()
    relogio.mono += 10_000_000
    assert ultimo_pulso_suspeito(bancada) is False


def test_o_relogio_de_verdade_anda_para_a_frente_e_sabe_o_boot() -> None:
    um, outro = Relogio(), Relogio()
    antes = um.mono_ms()

    assert um.boot_id == outro.boot_id
    assert len(um.boot_id) == 36
    assert 0 <= outro.mono_ms() - antes < 10_000
    assert abs(um.agora() - datetime.now(UTC)) < timedelta(seconds=10)


@pytest.mark.parametrize(
    ("texto", "certo"),
    [
        ("2026-11-30T18:00:00Z", True),
        ("2026-11-30T18:00:00.123456+00:00", True),
        ("2026-11-30T18:00:00", False),
        ("ontem", False),
        (None, False),
        (7, False),
    ],
)
def test_hora_sem_fuso_nao_e_hora(texto: object, certo: bool) -> None:
    assert (ler_hora(texto) is not None) is certo


def test_hora_vai_e_volta() -> None:
    instante = datetime(2026, 11, 30, 18, 0, 0, 123_000, tzinfo=UTC)

    assert formatar_hora(instante) == "2026-11-30T18:00:00.123Z"
    assert ler_hora(formatar_hora(instante)) == instante
