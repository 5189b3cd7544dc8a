"""A projeção: qualquer ordem e repetição dão o mesmo; conflito não troca nada e pede uma pessoa."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlr.dominio.estados import FINAIS_PADRAO, Estado
from dlr.dominio.projecao import Decisao, EventoDaMensagem, Motivo, Papel, Projecao, Regras, projetar

REGRAS = Regras(versao=1)
INTERMEDIARIOS = sorted(set(Estado) - FINAIS_PADRAO)


def eventos(*estados: str | None, parte: int | None = None) -> list[EventoDaMensagem]:
    return [
        EventoDaMensagem(id=n, estado=None if nome is None else Estado(nome), parte=parte)
        for n, nome in enumerate(estados)
    ]


def essencia(projecao: Projecao) -> tuple[Any, ...]:
    """O que não pode depender da ordem."""
    return (projecao.estado, projecao.final, projecao.motivo, projecao.conflito, projecao.divergente)


@pytest.mark.parametrize(
    ("recebidos", "estado", "final", "motivo", "papeis"),
    [
        ([], None, False, "sem_recibo", []),
        (["DELIVERED"], "DELIVERED", True, "final", ["sustenta"]),
        (["DELIVERED", "ENROUTE"], "DELIVERED", True, "final", ["sustenta", "tardio"]),
        (["ENROUTE", "DELIVERED"], "DELIVERED", True, "final", ["superado", "sustenta"]),
        (["DELIVERED"] * 3, "DELIVERED", True, "final", ["sustenta", "confirma", "confirma"]),
        (["UNKNOWN", "DELIVERED"], "DELIVERED", True, "final", ["superado", "sustenta"]),
        (["ENROUTE", "ACCEPTED"], "ENROUTE", False, "intermediario", ["sustenta", "superado"]),
        (["ACCEPTED"], "ACCEPTED", False, "intermediario", ["sustenta"]),
        ([None], None, False, "sem_recibo", ["nao_mapeado"]),
        (["ENROUTE", None], "ENROUTE", False, "intermediario", ["sustenta", "nao_mapeado"]),
        (
            ["DELIVERED", "UNDELIVERABLE"],
            "DELIVERED", True, "conflito_mantem_o_primeiro", ["sustenta", "contradiz"],
        ),
        (
            ["EXPIRED", "DELIVERED", "ENROUTE"],
            "EXPIRED", True, "conflito_mantem_o_primeiro", ["sustenta", "contradiz", "tardio"],
        ),
    ],
)  # fmt: skip
def test_transicoes(
    recebidos: list[str | None], estado: str | None, final: bool, motivo: str, papeis: list[str]
) -> None:
    projecao = projetar(eventos(*recebidos), REGRAS)
    assert (projecao.estado, projecao.final, projecao.motivo) == (estado, final, motivo)
    assert [papel for _, papel in projecao.papeis] == papeis
    assert projecao.conflito is (motivo == "conflito_mantem_o_primeiro")


def sequencias(finais: int) -> st.SearchStrategy[list[Estado]]:
    """Listas de estados com no máximo `finais` finais distintos."""
    return st.tuples(
        st.lists(st.sampled_from(INTERMEDIARIOS), max_size=5),
        st.lists(st.sampled_from(sorted(FINAIS_PADRAO)), max_size=finais, unique=True).flatmap(
            lambda escolhidos: (
                st.lists(st.sampled_from(escolhidos), max_size=4) if escolhidos else st.just([])
            )
        ),
    ).map(lambda par: par[0] + par[1])


@given(estados=sequencias(finais=1), sorteio=st.randoms(use_true_random=False))
def test_sem_finais_em_conflito_a_ordem_e_a_repeticao_nao_mudam_nada(
    estados: list[Estado], sorteio: Any
) -> None:
    base = essencia(projetar(eventos(*estados), REGRAS))
    embaralhados = estados + estados
    sorteio.shuffle(embaralhados)
    assert essencia(projetar(eventos(*embaralhados), REGRAS)) == base
    assert base[3] is False


@given(estados=sequencias(finais=3))
def test_com_finais_em_conflito_o_primeiro_recebido_fica(estados: list[Estado]) -> None:
    finais = [estado for estado in estados if estado in FINAIS_PADRAO]
    projecao = projetar(eventos(*estados), REGRAS)
    assert projecao.conflito is (len(set(finais)) > 1)
    if finais:
        assert (projecao.estado, projecao.final) == (finais[0], True)


@given(estados=sequencias(finais=3))
def test_um_final_materializado_nunca_vira_outro_so_por_chegar_mais_um(estados: list[Estado]) -> None:
    anterior = None
    for quantos in range(1, len(estados) + 1):
        atual = projetar(eventos(*estados[:quantos]), REGRAS)
        if anterior is not None and anterior.final:
            assert (atual.estado, atual.final) == (anterior.estado, True)
        anterior = atual


def test_decisao_de_pessoa_escolhe_entre_os_finais_e_encerra_o_conflito() -> None:
    recebidos = eventos("DELIVERED", "UNDELIVERABLE")
    projecao = projetar(recebidos, REGRAS, decisoes=[Decisao(estado=Estado.UNDELIVERABLE)])
    assert (projecao.estado, projecao.motivo, projecao.conflito) == ("UNDELIVERABLE", Motivo.DECISAO, False)
    assert projecao.sustentam == (1,)


def test_decisao_que_nenhum_recibo_sustenta_nao_vale() -> None:
    projecao = projetar(eventos("DELIVERED"), REGRAS, decisoes=[Decisao(estado=Estado.EXPIRED)])
    assert (projecao.estado, projecao.motivo) == ("DELIVERED", Motivo.FINAL)


@pytest.mark.parametrize(
    ("finais", "final"), [(FINAIS_PADRAO, False), (FINAIS_PADRAO | {Estado.ACCEPTED}, True)]
)
def test_a_regra_da_integracao_diz_se_accepted_encerra(finais: frozenset[Estado], final: bool) -> None:
    projecao = projetar(eventos("ACCEPTED"), Regras(versao=2, finais=finais))
    assert (projecao.estado, projecao.final, projecao.versao_das_regras) == ("ACCEPTED", final, 2)


def test_a_palavra_da_transportadora_vale_sobre_a_regra() -> None:
    ainda_tenta = [EventoDaMensagem(id=1, estado=Estado.UNDELIVERABLE, final=False)]
    assert projetar(ainda_tenta, REGRAS).final is False
    encerra = [EventoDaMensagem(id=1, estado=Estado.UNKNOWN, final=True)]
    assert projetar(encerra, REGRAS).final is True


@pytest.mark.parametrize(
    ("por_parte", "estado", "final", "motivo"),
    [
        ({1: ["DELIVERED"], 2: ["DELIVERED"]}, "DELIVERED", True, "final"),
        ({1: ["DELIVERED"], 2: []}, "ENROUTE", False, "partes_incompletas"),
        ({1: ["DELIVERED"], 2: ["ACCEPTED"]}, "ACCEPTED", False, "partes_incompletas"),
        ({1: ["DELIVERED"], 2: ["EXPIRED"]}, "UNKNOWN", False, "partes_divergentes"),
        ({1: [], 2: []}, None, False, "sem_recibo"),
        ({1: ["DELIVERED", "EXPIRED"], 2: ["DELIVERED"]}, "DELIVERED", True, "conflito_mantem_o_primeiro"),
    ],
)
def test_o_estado_do_todo_vem_das_partes(
    por_parte: dict[int, list[str]], estado: str | None, final: bool, motivo: str
) -> None:
    contador = itertools.count()
    todos = [
        EventoDaMensagem(id=next(contador), estado=Estado(nome), parte=parte)
        for parte, nomes in por_parte.items()
        for nome in nomes
    ]
    projecao = projetar(todos, REGRAS, partes=list(por_parte))
    assert (projecao.estado, projecao.final, projecao.motivo) == (estado, final, motivo)
    assert projecao.divergente is (motivo == "partes_divergentes")


def test_recibo_sem_parte_fala_da_mensagem_inteira() -> None:
    projecao = projetar(eventos("DELIVERED"), REGRAS, partes=[1, 2])
    assert (projecao.estado, projecao.final) == ("DELIVERED", True)
    assert dict(projecao.papeis) == {0: Papel.SUSTENTA}
