"""As regras, sem banco: o que abre, continua e acaba; quem ouve, quando, e com que recuo."""

from datetime import UTC, datetime, time, timedelta

import pytest

from painel.avisos.regras import (
    Aberto,
    Atencao,
    Item,
    Observacao,
    comparar,
    decidir_movimento,
    limiar_de_excecoes,
    recuo_s,
    sair_em,
)

AGORA = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)
SP = "America/Sao_Paulo"


def em(hora: str, dia: int = 30) -> datetime:
    """Uma hora de São Paulo (UTC-3) nos dias do teste."""
    horas, minutos = map(int, hora.split(":"))
    return datetime(2026, 11, dia, horas, minutos, tzinfo=UTC) + timedelta(hours=3)


def aberto(tipo: str = "fila", *chaves: str, ha_min: float = 1) -> Aberto:
    return Aberto(
        tipo=tipo, alvo="lotes", visto_em=AGORA - timedelta(minutes=ha_min), chaves=frozenset(chaves)
    )


def vista(tipo: str = "fila", *chaves: str) -> Observacao:
    itens = [Item(chave=chave, texto=chave) for chave in chaves]
    return Observacao(tipo=tipo, alvo="lotes", titulo="x", itens=itens)


def test_condicao_nova_abre() -> None:
    mudancas = comparar([], [vista()], AGORA)
    assert (len(mudancas.abrir), mudancas.continuar, mudancas.resolver) == (1, [], [])


def test_condicao_que_dura_nao_abre_outra_vez() -> None:
    mudancas = comparar([aberto()], [vista()], AGORA)
    assert (mudancas.abrir, len(mudancas.continuar), mudancas.com_novidade) == ([], 1, set())


def test_item_novo_e_novidade_e_item_que_saiu_nao() -> None:
    com = comparar([aberto("silencio", "a")], [vista("silencio", "a", "b")], AGORA)
    assert com.com_novidade == {("silencio", "lotes")}
    sem = comparar([aberto("silencio", "a", "b")], [vista("silencio", "a")], AGORA)
    assert sem.com_novidade == set()


@pytest.mark.parametrize(("ha_min", "acaba"), [(1, []), (4.9, []), (5, [("fila", "lotes")])])
def test_o_que_oscila_so_acaba_depois_do_sossego(ha_min: float, acaba: list[tuple[str, str]]) -> None:
    assert comparar([aberto(ha_min=ha_min)], [], AGORA).resolver == acaba


def test_o_que_depende_de_um_ato_acaba_na_hora() -> None:
    assert comparar([aberto("regressao")], [], AGORA).resolver == [("regressao", "lotes")]


ATENCAO = Atencao(tipo="fila", novidade_em=AGORA)


@pytest.mark.parametrize(
    ("ultima_ha_h", "atencao", "movimento"),
    [
        (None, ATENCAO, "abriu"),
        (1, Atencao(tipo="fila", novidade_em=AGORA - timedelta(hours=2)), None),
        (6, Atencao(tipo="fila", novidade_em=AGORA - timedelta(hours=7)), "repetiu"),
        (6, Atencao(tipo="franquia", novidade_em=AGORA - timedelta(hours=7)), None),
        (1, ATENCAO, "novidade"),
        (0.2, ATENCAO, None),  # doze minutos: a novidade espera o quarto de hora
        (6, Atencao(tipo="fila", novidade_em=AGORA - timedelta(days=1), reconhecido_em=AGORA), None),
        (1, Atencao(tipo="fila", novidade_em=AGORA, reconhecido_em=AGORA), "novidade"),
        (None, Atencao(tipo="fila", novidade_em=AGORA, silenciado_ate=AGORA + timedelta(seconds=1)), None),
        (None, Atencao(tipo="fila", novidade_em=AGORA, silenciado_ate=AGORA), "abriu"),
    ],
)
def test_quem_ouve_o_que(ultima_ha_h: float | None, atencao: Atencao, movimento: str | None) -> None:
    ultima_em = None if ultima_ha_h is None else AGORA - timedelta(hours=ultima_ha_h)
    assert decidir_movimento(atencao, ultima_em=ultima_em, repetir_apos_h=6, agora=AGORA) == movimento


def test_quem_nao_recebe_lembretes_so_ouve_abertura_e_novidade() -> None:
    atencao = Atencao(tipo="fila", novidade_em=AGORA - timedelta(days=9))
    ultima_em = AGORA - timedelta(days=8)
    assert decidir_movimento(atencao, ultima_em=ultima_em, repetir_apos_h=None, agora=AGORA) is None


@pytest.mark.parametrize(
    ("agora", "de", "ate", "sai"),
    [
        (em("12:00"), time(22), time(7), em("12:00")),
        (em("22:00", 29), time(22), time(7), em("07:00", 30)),
        (em("03:00"), time(22), time(7), em("07:00")),
        (em("07:00"), time(22), time(7), em("07:00")),
        (em("21:59"), time(22), time(7), em("21:59")),
        (em("12:30"), time(12), time(13), em("13:00")),
        (em("13:00"), time(12), time(13), em("13:00")),
        (em("12:00"), time(12), time(12), em("12:00")),
        (em("12:00"), None, None, em("12:00")),
    ],
)
def test_o_silencio_segura_ate_o_fim_dele(
    agora: datetime, de: time | None, ate: time | None, sai: datetime
) -> None:
    assert sair_em(agora, de, ate, SP) == sai


def test_o_silencio_e_no_fuso_do_destino() -> None:
    assert sair_em(em("23:00", 29), time(22), time(7), "UTC") == datetime(2026, 11, 30, 7, tzinfo=UTC)


def test_noite_em_que_o_relogio_muda_nao_sai_antes_da_hora() -> None:
    # Nova York, 1/11/2026: 1h30 acontece duas vezes.
    agora = datetime(2026, 11, 1, 4, 0, tzinfo=UTC)  # meia-noite lá
    assert sair_em(agora, time(22), time(7), "America/New_York") == datetime(2026, 11, 1, 12, tzinfo=UTC)


def test_limiar_mais_especifico_vence() -> None:
    limiares = {(None, ""): 5, (None, "final_ausente"): 50, (7, ""): 2, (7, "final_ausente"): 1}
    casos = [(7, "final_ausente"), (7, "recibo_parcial"), (8, "final_ausente"), (8, "recibo_parcial")]
    assert [limiar_de_excecoes(limiares, *caso, 10) for caso in casos] == [1, 2, 50, 5]
    assert limiar_de_excecoes({}, 7, "final_ausente", 10) == 10


def test_recuo_cresce_ate_o_teto() -> None:
    assert [recuo_s(n) for n in (1, 2, 3, 7, 8, 12)] == [30, 60, 120, 1920, 3600, 3600]
