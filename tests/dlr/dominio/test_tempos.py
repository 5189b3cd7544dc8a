"""As datas: lê-se o que não é ambíguo, e o que veio nunca se perde."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlr.dominio.tempos import ler_epoca, ler_iso, ler_mascara, ler_smpp

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
SMSDEV = "%d%m%Y%H%M%S"


def utc(*partes: int) -> datetime:
    return datetime(*partes, tzinfo=UTC)


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        ("2611301200", utc(2026, 11, 30, 12)),
        ("261130120005", utc(2026, 11, 30, 12, 0, 5)),
        ("202611301200", utc(2026, 11, 30, 12)),
        ("20261130120005", utc(2026, 11, 30, 12, 0, 5)),
        (" 2611301200 ", utc(2026, 11, 30, 12)),
        ("3712312359", utc(2037, 12, 31, 23, 59)),
        ("3801010000", utc(1938, 1, 1)),
        ("9912312359", utc(1999, 12, 31, 23, 59)),
        ("0001010000", utc(2000, 1, 1)),
    ],
)
def test_smpp_le_as_quatro_grafias_e_o_ano_de_dois_algarismos(bruto: str, esperado: datetime) -> None:
    tempo = ler_smpp(bruto)
    assert tempo is not None
    assert tempo.em == esperado
    assert tempo.bruto == bruto


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        ("201112131415", None),  # 2020-11-12 13:14:15 ou 2011-12-13 14:15
        ("201301020304", utc(2013, 1, 2, 3, 4)),  # 2020 não tem mês 13
        ("260101000000", utc(2026, 1, 1)),  # o ano 2601 não é de um recibo
        ("190112131415", utc(2019, 1, 12, 13, 14, 15)),  # nem 1901
        ("202613301200", None),  # mês 13 e mês 26
    ],
)
def test_smpp_com_doze_algarismos_so_le_quando_uma_leitura_e_possivel(
    bruto: str, esperado: datetime | None
) -> None:
    tempo = ler_smpp(bruto)
    assert tempo is not None
    assert tempo.em == esperado


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        ("261130120005000+", utc(2026, 11, 30, 12, 0, 5)),
        ("261130120005512-", utc(2026, 11, 30, 15, 0, 5, 500_000)),
        ("261130120005048+", utc(2026, 11, 30, 0, 0, 5)),
        ("261130120005049+", None),  # nn passa de 48
        ("000007000000000R", None),  # relativa
        ("261330120005000+", None),
    ],
)
def test_smpp_absoluta_usa_o_decimo_e_os_quartos_de_hora(bruto: str, esperado: datetime | None) -> None:
    tempo = ler_smpp(bruto, SAO_PAULO)
    assert tempo is not None
    assert tempo.em == esperado


@pytest.mark.parametrize(
    "bruto",
    [
        "",
        "ND",
        "0000000000",
        "26113012",
        "26113012000",
        "2611301260",
        "2026-11-30",
        "٢٦١١٣٠١٢٠٠",
        "²611301200",
        "1e10",
    ],
)
def test_smpp_ilegivel_guarda_o_bruto_e_nao_inventa_instante(bruto: str) -> None:
    tempo = ler_smpp(bruto)
    assert tempo is not None
    assert (tempo.bruto, tempo.em) == (bruto, None)


@pytest.mark.parametrize("ler", [ler_smpp, ler_iso, ler_epoca, lambda bruto: ler_mascara(bruto, SMSDEV)])
def test_data_que_nao_veio_e_diferente_de_data_ilegivel(ler) -> None:
    assert ler(None) is None
    assert ler("").em is None


def test_sem_fuso_escrito_vale_o_da_integracao() -> None:
    esperado = utc(2026, 11, 30, 15)
    for tempo in (
        ler_smpp("2611301200", SAO_PAULO),
        ler_smpp("20261130120000", SAO_PAULO),
        ler_iso("2026-11-30 12:00:00", SAO_PAULO),
        ler_mascara("30112026120000", SMSDEV, SAO_PAULO),
    ):
        assert tempo is not None
        assert tempo.em == esperado


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        ("20180217233000", None),  # 23:30 veio duas vezes: o horário de verão acabou à meia-noite
        ("20171015003000", None),  # 00:30 não existiu: ele começou à meia-noite
        ("20180217223000", utc(2018, 2, 18, 0, 30)),
        ("20180218003000", utc(2018, 2, 18, 3, 30)),
    ],
)
def test_hora_repetida_ou_pulada_pelo_horario_de_verao_nao_e_adivinhada(
    bruto: str, esperado: datetime | None
) -> None:
    tempo = ler_smpp(bruto, SAO_PAULO)
    assert tempo is not None
    assert tempo.em == esperado


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        ("2026-11-30T12:00:05Z", utc(2026, 11, 30, 12, 0, 5)),
        ("2026-11-30T09:00:05-0300", utc(2026, 11, 30, 12, 0, 5)),
        ("2026-11-30T09:00:05-03:00", utc(2026, 11, 30, 12, 0, 5)),
        ("2026-11-30 12:00:05.123456", utc(2026, 11, 30, 12, 0, 5, 123_456)),
        ("2026-11-30T12:00:05.148+0000", utc(2026, 11, 30, 12, 0, 5, 148_000)),
        ("20261130T120005Z", utc(2026, 11, 30, 12, 0, 5)),
        ("2026-11-30", None),  # sem hora não é um instante
        ("20261130", None),
        ("202611301120000", None),  # `fromisoformat` tomaria o algarismo do meio por separador
        ("2026-11-30T25:00:00Z", None),
        ("2026-11-30T12:00:05+99:00", None),
        ("0001-01-01T00:00:00+14:00", None),  # em UTC cairia antes do ano 1
        ("30/11/2026 12:00:05", None),
        ("ontem", None),
    ],
)
def test_iso_le_data_com_hora_e_so_isso(bruto: str, esperado: datetime | None) -> None:
    tempo = ler_iso(bruto)
    assert tempo is not None
    assert (tempo.bruto, tempo.em) == (bruto, esperado)


@pytest.mark.parametrize(
    ("bruto", "mascara", "esperado"),
    [
        ("28022020145322", SMSDEV, utc(2020, 2, 28, 14, 53, 22)),
        ("1122020145322", SMSDEV, None),  # 11/2 ou 1/12
        ("31022020145322", SMSDEV, None),
        ("2026-11-30 12:00:05", "%Y-%m-%d %H:%M:%S", utc(2026, 11, 30, 12, 0, 5)),
        ("2026-11-3 12:00:05", "%Y-%m-%d %H:%M:%S", None),
        ("٢٨022020145322", SMSDEV, None),
    ],
)
def test_mascara_le_so_a_grafia_exata(bruto: str, mascara: str, esperado: datetime | None) -> None:
    tempo = ler_mascara(bruto, mascara)
    assert tempo is not None
    assert tempo.em == esperado


@pytest.mark.parametrize(
    ("bruto", "por_segundo", "esperado"),
    [
        ("1796040005", 1, utc(2026, 11, 30, 12, 0, 5)),
        ("1796040005.5", 1, utc(2026, 11, 30, 12, 0, 5, 500_000)),
        ("1796040005123", 1000, utc(2026, 11, 30, 12, 0, 5, 123_000)),
        ("1796040005123456", 1_000_000, utc(2026, 11, 30, 12, 0, 5, 123_456)),
        ("0", 1, utc(1970, 1, 1)),
        ("1796040005123", 1, None),  # milissegundos lidos como segundos: passa do ano 9999
        *(
            (bruto, 1, None)
            for bruto in ("-1", "nan", "inf", "1e9", "1_796_040_005", "١٧٩٦", "9" * 26, "x", ".5")
        ),
    ],
)
def test_epoca_e_exata_e_recusa_o_que_float_aceitaria(
    bruto: str, por_segundo: int, esperado: datetime | None
) -> None:
    tempo = ler_epoca(bruto, por_segundo=por_segundo)
    assert tempo is not None
    assert tempo.em == esperado


INSTANTES = st.datetimes(datetime(1938, 1, 1), datetime(2037, 12, 31, 23, 59, 59)).map(
    lambda instante: instante.replace(microsecond=0)
)


@given(INSTANTES)
def test_smpp_absoluta_e_de_quatro_algarismos_devolvem_o_instante_escrito(instante: datetime) -> None:
    for texto in (instante.strftime("%y%m%d%H%M%S") + "000+", instante.strftime("%Y%m%d%H%M%S")):
        tempo = ler_smpp(texto)
        assert tempo is not None
        assert tempo.em == instante.replace(tzinfo=UTC)


@given(INSTANTES, st.integers(-48, 48))
def test_smpp_absoluta_desconta_os_quartos(instante: datetime, quartos: int) -> None:
    texto = f"{instante:%y%m%d%H%M%S}0{abs(quartos):02d}{'-' if quartos < 0 else '+'}"
    tempo = ler_smpp(texto, SAO_PAULO)
    assert tempo is not None
    assert tempo.em == instante.replace(tzinfo=timezone(timedelta(minutes=15 * quartos)))


@given(INSTANTES)
def test_smpp_de_doze_algarismos_acerta_ou_se_cala(instante: datetime) -> None:
    curto = ler_smpp(instante.strftime("%y%m%d%H%M%S"))
    longo = ler_smpp(instante.strftime("%Y%m%d%H%M"))
    assert curto is not None
    assert longo is not None
    assert curto.em in (instante.replace(tzinfo=UTC), None)
    assert longo.em in (instante.replace(second=0, tzinfo=UTC), None)
    # Só os textos que começam por 2001 a 2012 têm as duas leituras.
    assert curto.em is not None or instante.year == 2020
    assert longo.em is not None or 2001 <= instante.year <= 2012


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)), st.sampled_from([1000, 1_000_000]))
def test_epoca_devolve_o_instante_escrito(instante: datetime, por_segundo: int) -> None:
    desde = instante.replace(tzinfo=UTC) - utc(1970, 1, 1)
    unidades = desde // timedelta(microseconds=1_000_000 // por_segundo)
    tempo = ler_epoca(str(unidades), por_segundo=por_segundo)
    assert tempo is not None
    assert tempo.em is not None
    assert timedelta() <= instante.replace(tzinfo=UTC) - tempo.em < timedelta(seconds=1 / por_segundo)


@given(st.text() | st.from_regex(r"[0-9TZ:+\-. R]{1,24}", fullmatch=True))
def test_nenhum_texto_faz_levantar_nem_se_perde(texto: str) -> None:
    for tempo in (
        ler_smpp(texto, SAO_PAULO),
        ler_iso(texto, SAO_PAULO),
        ler_epoca(texto),
        ler_mascara(texto, SMSDEV, SAO_PAULO),
    ):
        assert tempo is not None
        assert tempo.bruto == texto
        assert tempo.em is None or tempo.em.utcoffset() == timedelta()
