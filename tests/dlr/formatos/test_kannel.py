"""Kannel: a hora do `%t` é UTC qualquer que seja o fuso da integração, e o tipo vence a resposta crua."""

from datetime import UTC, datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.contrato import Contexto
from dlr.formatos.kannel import FORMATO, ler


def ler_consulta(consulta: str) -> Recibo:
    chamada = Chamada(metodo="GET", url="https://x/y", consulta=consulta.encode(), cabecalhos={}, corpo=b"")
    [item] = ler(chamada, Contexto(fuso=ZoneInfo("America/Sao_Paulo")))
    assert isinstance(item, Recibo)
    return item


@pytest.mark.parametrize(
    ("bruto", "em"),
    [
        ("2026-11-30+12:00", datetime(2026, 11, 30, 12, 0, tzinfo=UTC)),
        ("2026-11-30+12:00:05", datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)),
        ("2026-11-30%2B12:00:05", datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)),
        ("1796040005", datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)),
        ("ontem", None),
    ],
)
def test_hora_do_kannel_e_utc(bruto: str, em: datetime | None) -> None:
    concluida = ler_consulta(f"tipo=1&id=a&em={bruto}").concluida
    assert concluida is not None
    assert concluida.em == em


def test_data_do_texto_vale_mais_que_a_hora_do_kannel() -> None:
    resposta = urlencode({"resposta": "id:a done date:2611301201 stat:DELIVRD"})
    concluida = ler_consulta(f"tipo=1&id=a&em=2026-11-30+23:00&{resposta}").concluida
    assert concluida is not None
    assert concluida.em == datetime(2026, 11, 30, 15, 1, tzinfo=UTC)


def test_aceita_pelo_smsc_nunca_e_entrega_mesmo_que_o_texto_diga() -> None:
    recibo = ler_consulta("tipo=8&id=a&" + urlencode({"resposta": "id:a stat:DELIVRD"}))
    assert recibo.estado is Estado.ACCEPTED
    assert recibo.notas == ("a resposta do SMSC diz DELIVRD; vale o tipo do Kannel",)


@pytest.mark.parametrize("tipo", ["0", "3", "-1", "01", "33", "DELIVRD", ""])
def test_tipo_fora_da_tabela_nao_e_decomposto_em_bits(tipo: str) -> None:
    assert ler_consulta(f"tipo={tipo}&id=a").estado is None


def test_so_get() -> None:
    assert FORMATO.metodos == ("GET",)
