"""Qualquer ordem, qualquer repetição, qualquer divisão em chamadas: o mesmo estado; e incremental = replay."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlr import gravacao
from dlr.models import EventoLogico, Excecao, Ocorrencia, Projecao
from dlr.registro import registrar
from dlr.reprojecao import reprojetar
from tests.dlr.conftest import Ligada, aplicar_caixa, criar
from tests.dlr.retrato import envelhecer, refazer_do_zero, retratar, retratar_com_ordem

FINAIS = ["DELIVERED", "UNDELIVERABLE", "EXPIRED"]
INTERMEDIARIOS = ["ENROUTE", "ACCEPTED", "UNKNOWN", "SCHEDULED", "FOO"]
MENSAGENS = [
    {"id_interno": "a", "ids_externos": [{"valor": "xa"}]},
    {"id_interno": "b", "ids_externos": [{"valor": "xb1", "parte": 1}, {"valor": "xb2", "parte": 2}]},
    {"id_interno": "c", "ids_externos": [{"valor": "xc"}], "aceita": False},
    {"id_interno": "d", "ids_externos": [{"valor": "repetido"}]},
    {"id_interno": "e", "ids_externos": [{"valor": "repetido"}]},
]
IDS = ["xa", "xb1", "xb2", "xc", "repetido", "de ninguém"]

# Um passo é uma chamada (recibos por posição), o worker passando, ou uma mensagem registrada.
PASSAR = "passar"
Passo = Any
recibos_sem_conflito = st.dictionaries(st.sampled_from(IDS), st.sampled_from(FINAIS)).flatmap(
    lambda finais: st.lists(
        st.tuples(st.sampled_from(IDS), st.sampled_from(["final", *INTERMEDIARIOS]), st.sampled_from("01")),
        min_size=1,
        max_size=8,
        unique=True,
    ).map(
        lambda trios: [
            (id_externo, finais.get(id_externo, "DELIVERED") if estado == "final" else estado, erro)
            for id_externo, estado, erro in trios
        ]
    )
)
recibos_quaisquer = st.lists(
    st.tuples(
        st.sampled_from(IDS),
        st.sampled_from(FINAIS + INTERMEDIARIOS),
        st.sampled_from("01"),
        st.sampled_from([None, None, "e1", "e2"]),  # id de evento, às vezes reutilizado
    ),
    min_size=1,
    max_size=10,
)
cada_exemplo = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Desfazer(Exception):
    """Sai da transação do exemplo sem guardar nada."""


def num_banco_que_volta(contar: Callable[[Ligada], Any]) -> Any:
    """Roda numa transação que é desfeita; devolve o que `contar` devolveu."""
    resultado: Any = None
    try:
        with transaction.atomic():
            resultado = contar(criar("propriedade"))
            raise Desfazer
    except Desfazer:
        return resultado


def receber(ligada: Ligada, recibos: Sequence[tuple[str | None, ...]]) -> None:
    campos = ("id_externo", "estado", "erro", "evento_id")
    corpo = [dict(zip(campos, valores, strict=False)) for valores in recibos]
    recepcao = gravacao.RecepcaoNova(
        integracao_id=ligada.id,
        recebida_em=timezone.now(),
        metodo="POST",
        url="/",
        consulta=b"",
        cabecalhos={},
        corpo=orjson.dumps(corpo),
    )
    gravacao.gravar_recepcoes([recepcao])


def seguir(ligada: Ligada, passos: Sequence[Passo]) -> None:
    for passo in passos:
        if passo == PASSAR:
            aplicar_caixa()
        elif isinstance(passo, dict):
            registrar(ligada.objeto, [passo], timezone.now())
        else:
            receber(ligada, passo)
    aplicar_caixa()
    envelhecer()


def embaralhar(recibos: list[Any], mensagens: Sequence[Any], sorteio: Any) -> list[Passo]:
    """Outra história com os mesmos recibos: outra ordem, repetições, outras chamadas, worker quando calha."""
    repetidos = recibos + [sorteio.choice(recibos) for _ in range(sorteio.randint(0, 6))]
    sorteio.shuffle(repetidos)
    passos: list[Passo] = []
    while repetidos:
        quantos = sorteio.randint(1, 4)
        passos.append(repetidos[:quantos])
        repetidos = repetidos[quantos:]
    for extra in [*mensagens, *[PASSAR] * sorteio.randint(0, 4)]:
        passos.insert(sorteio.randint(0, len(passos)), extra)
    return passos


def sem_repeticoes(retrato: dict[str, Any]) -> dict[str, Any]:
    """As recepções de cada história são outras; o resto tem de ser igual."""
    return {**retrato, "eventos": [linha[:-1] for linha in retrato["eventos"]]}


# As de id repetido ficam registradas antes: um recibo já atado não volta a ser ambíguo por causa de outra.
ANTES, DURANTE = MENSAGENS[3:], MENSAGENS[:3]


@pytest.mark.django_db
@cada_exemplo
@given(recibos=recibos_sem_conflito, sorteio=st.randoms(use_true_random=False))
def test_qualquer_ordem_repeticao_e_divisao_sem_conflito_da_as_mesmas_projecoes(
    recibos: Any, sorteio: Any
) -> None:
    def contar(passos: Sequence[Passo]) -> Callable[[Ligada], dict[str, Any]]:
        def contar(ligada: Ligada) -> dict[str, Any]:
            seguir(ligada, passos)
            retrato = retratar()
            assert not Excecao.objects.filter(tipo="conflito_final").exists()
            return sem_repeticoes(retrato)

        return contar

    um_a_um = [*MENSAGENS, *[passo for recibo in recibos for passo in ([recibo], PASSAR)]]
    esperado = num_banco_que_volta(contar(um_a_um))
    for _ in range(2):
        outra = [*ANTES, *embaralhar(list(recibos), DURANTE, sorteio)]
        assert num_banco_que_volta(contar(outra)) == esperado


@pytest.mark.django_db
@cada_exemplo
@given(recibos=recibos_quaisquer, sorteio=st.randoms(use_true_random=False))
def test_incremental_e_replay_dao_o_mesmo_e_reprojetar_nao_muda_nada(recibos: Any, sorteio: Any) -> None:
    def contar(ligada: Ligada) -> None:
        seguir(ligada, [*ANTES, *embaralhar(list(recibos), DURANTE, sorteio)])
        incremental = retratar_com_ordem()
        assert reprojetar(None, timezone.now(), aplicar=False) == []
        assert reprojetar(None, timezone.now(), aplicar=True) == []
        assert retratar_com_ordem() == incremental
        refazer_do_zero()
        envelhecer()
        assert retratar_com_ordem() == incremental
        ocorrencias = Ocorrencia.objects.filter(evento__isnull=False).count()
        assert sum(EventoLogico.objects.values_list("qtd_recepcoes", flat=True)) == ocorrencias

    num_banco_que_volta(contar)


@pytest.mark.django_db
@cada_exemplo
@given(
    finais=st.lists(st.sampled_from(FINAIS), min_size=2, max_size=6).filter(lambda f: len(set(f)) > 1),
    intermediarios=st.lists(st.sampled_from(INTERMEDIARIOS[:-1]), max_size=3),
    sorteio=st.randoms(use_true_random=False),
)
def test_com_finais_em_conflito_fica_o_primeiro_recebido_e_ha_uma_excecao_aberta(
    finais: list[str], intermediarios: list[str], sorteio: Any
) -> None:
    def contar(ligada: Ligada) -> None:
        recibos = [("xa", estado, "0") for estado in [*finais, *intermediarios]]
        sorteio.shuffle(recibos)
        passos: list[Passo] = [[recibo] for recibo in recibos]
        for extra in (MENSAGENS[0], PASSAR, PASSAR):
            passos.insert(sorteio.randint(0, len(passos)), extra)
        seguir(ligada, passos)
        primeiro = next(estado for _, estado, _ in recibos if estado in FINAIS)
        projecao = Projecao.objects.get()
        assert (projecao.estado, projecao.final, projecao.conflito) == (primeiro, True, True)
        assert list(Excecao.objects.values_list("tipo", "situacao", "mensagem__id_interno")) == [
            ("conflito_final", "aberta", "a")
        ]
        contradizem = EventoLogico.objects.filter(papel="contradiz").values_list("estado", flat=True)
        assert set(contradizem) == set(finais) - {primeiro}

    num_banco_que_volta(contar)
