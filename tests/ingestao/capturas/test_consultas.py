"""As medidas por hora, por dia, por aparelho e no total."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from ingestao.capturas.consultas import Passo, resumir, resumir_por_dispositivo, resumir_por_periodo
from ingestao.capturas.medidas import achar_faixa
from ingestao.models import MedidaDeCaptura
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, jpeg, quadro

pytestmark = pytest.mark.django_db

MEIA_NOITE = datetime(2026, 11, 30, 3, tzinfo=UTC)  # em São Paulo


def somar(aparelho: Aparelho, horas: int, medida: str, faixa: int, quantidade: int) -> None:
    MedidaDeCaptura.objects.create(
        dispositivo_id=aparelho.id,
        hora=MEIA_NOITE + timedelta(hours=horas),
        medida=medida,
        faixa=faixa,
        quantidade=quantidade,
    )


def test_total_aparelho_hora_e_dia(cadastrar: Callable[[str], Aparelho]) -> None:
    um, outro = cadastrar("Um"), cadastrar("Outro")
    somar(um, 0, "gravadas", 0, 5)
    somar(um, 1, "gravadas", 0, 3)
    somar(um, 1, "latencia_ms", achar_faixa(800), 4)
    somar(um, 1, "latencia_ms", achar_faixa(20_000), 1)
    somar(outro, 1, "gravadas", 0, 2)
    somar(outro, -1, "gravadas", 0, 9)
    de, ate = MEIA_NOITE - timedelta(hours=1), MEIA_NOITE + timedelta(hours=2)

    assert resumir(de, ate).gravadas == 19
    assert resumir(MEIA_NOITE, ate).gravadas == 10
    assert resumir(de, ate, um.id).gravadas == 8
    assert resumir(de, ate).latencia_ms.p50 == pytest.approx(800, rel=0.05)
    assert resumir(de, ate).latencia_ms.p95 == pytest.approx(20_000, rel=0.05)
    por_hora = resumir_por_periodo(de, ate, Passo.HORA)
    assert [(inicio, resumo.gravadas) for inicio, resumo in por_hora] == [
        (MEIA_NOITE - timedelta(hours=1), 9),
        (MEIA_NOITE, 5),
        (MEIA_NOITE + timedelta(hours=1), 5),
    ]
    por_dia = resumir_por_periodo(de, ate, Passo.DIA)
    assert [(inicio, resumo.gravadas) for inicio, resumo in por_dia] == [
        (MEIA_NOITE - timedelta(days=1), 9),
        (MEIA_NOITE, 10),
    ]
    por_aparelho = resumir_por_dispositivo(de, ate)
    assert {id_: resumo.gravadas for id_, resumo in por_aparelho.items()} == {um.id: 8, outro.id: 11}


def test_periodo_sem_nada_e_tudo_zero(db: None) -> None:
    resumo = resumir(MEIA_NOITE, MEIA_NOITE + timedelta(days=1))
    assert (resumo.gravadas, resumo.taxa_de_reenvio, resumo.latencia_ms.p50) == (0, None, None)


def test_aparelho_que_manda_o_quadro_inteiro_e_apontado(aparelho: Aparelho) -> None:
    for _ in range(20):
        inteiro = com_caixa(
            quadro=quadro(largura=64, altura=48),
            caixa={"x": 0, "y": 0, "largura": 64, "altura": 48, "margem": 0},
        )
        aparelho.postar([inteiro], {inteiro["id_evento"]: jpeg()})
    agora = datetime.now(UTC)
    resumo = resumir(agora - timedelta(hours=2), agora + timedelta(hours=1), aparelho.id)
    assert resumo.corte_parado
    assert resumo.razao.p50 == pytest.approx(1, rel=0.05)
    assert resumo.bytes.p50 == pytest.approx(len(jpeg()) + 36, rel=0.05)
