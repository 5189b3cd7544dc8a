"""A janela de um minuto: a mesma conta no Valkey e na memória, e a queda de um para o outro."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from ingestao.eventos import limites
from ingestao.eventos.limites import JANELA_S, Janela, JanelaNaMemoria, Vaga


@pytest.fixture
def valkey() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL) as cliente:
        yield cliente


def test_na_memoria_a_janela_desliza() -> None:
    janela = JanelaNaMemoria()
    assert janela.contar("k", 60, 100, 1_000).coube
    assert janela.contar("k", 40, 100, 1_010).coube
    assert janela.contar("k", 1, 100, 1_030) == Vaga(coube=False, espera_s=30)
    assert janela.contar("k", 61, 100, 1_030) == Vaga(coube=False, espera_s=40)
    assert janela.contar("outra", 100, 100, 1_030).coube
    assert not janela.contar("k", 1, 100, 1_059).coube
    assert janela.contar("k", 60, 100, 1_060).coube
    assert janela.contar("k", 1, 100, 1_060) == Vaga(coube=False, espera_s=10)


def test_na_memoria_devolver_libera() -> None:
    janela = JanelaNaMemoria()
    vaga = janela.contar("k", 100, 100, 1_000)
    janela.devolver("k", 100, vaga.balde)
    assert janela.contar("k", 100, 100, 1_001).coube


def test_na_memoria_as_chaves_sao_limitadas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limites, "CHAVES_NA_MEMORIA", 3)
    janela = JanelaNaMemoria()
    for n in range(10):
        janela.contar(f"k{n}", 1, 1, 1_000)
    assert len(janela._baldes) == 3


@given(
    passos=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 50)), max_size=60),
)
def test_em_nenhum_minuto_cabe_mais_que_o_limite(passos: list[tuple[int, int]]) -> None:
    janela, agora, aceitos = JanelaNaMemoria(), 0, []
    for espera_s, quantos in passos:
        agora += espera_s
        vaga = janela.contar("k", quantos, 100, agora)
        if vaga.coube:
            aceitos.append((agora, quantos))
        else:
            # Retry-After diz a verdade: esperando aquilo (e nada mais acontecendo), cabe.
            assert 1 <= vaga.espera_s <= JANELA_S
    for inicio, _ in aceitos:
        assert sum(n for quando, n in aceitos if inicio <= quando < inicio + JANELA_S) <= 100


def contar(janela: Janela, chave: str, quantos: int, limite: int) -> Vaga:
    (vaga,) = janela.contar([(chave, quantos)], limite)
    return vaga


def test_no_valkey_a_conta_e_atomica_e_vence_sozinha(valkey: redis.Redis) -> None:
    janela = Janela()
    assert contar(janela, "a", 60, 100).coube
    assert contar(janela, "a", 40, 100).coube
    recusada = contar(janela, "a", 1, 100)
    assert (recusada.coube, 58 <= recusada.espera_s <= 60) == (False, True)
    assert 0 < valkey.ttl("lastro:minuto:a") <= 2 * JANELA_S, "nenhuma chave fica presa"


def test_no_valkey_a_janela_e_de_todos_os_processos(valkey: redis.Redis) -> None:
    assert contar(Janela(), "b", 100, 100).coube
    assert not contar(Janela(), "b", 1, 100).coube


def test_no_valkey_o_balde_velho_sai_da_conta(valkey: redis.Redis) -> None:
    segundos, _ = valkey.time()
    valkey.hset("lastro:minuto:c", mapping={str(segundos - 61): 100, str(segundos - 50): 70})
    janela = Janela()
    assert contar(janela, "c", 30, 100).coube
    assert 9 <= contar(janela, "c", 1, 100).espera_s <= 10
    assert str(segundos - 61).encode() not in valkey.hgetall("lastro:minuto:c")


def test_no_valkey_devolver_libera() -> None:
    janela = Janela()
    vaga = contar(janela, "d", 100, 100)
    janela.devolver("d", 100, vaga)
    assert contar(janela, "d", 100, 100).coube


def test_um_grupo_e_contado_na_ordem_numa_ida_so_e_o_que_nao_cabe_nao_gasta(valkey: redis.Redis) -> None:
    janela = Janela()
    contar(janela, "m", 10, 100)
    vagas = janela.contar([("m", 60), ("n", 100), ("m", 31), ("m", 30), ("n", 1)], 100)
    assert [vaga.coube for vaga in vagas] == [True, True, False, True, False]
    assert all(58 <= vaga.espera_s <= 60 for vaga in vagas if not vaga.coube)
    assert sum(int(n) for n in valkey.hvals("lastro:minuto:m")) == 100
    assert sum(int(n) for n in valkey.hvals("lastro:minuto:n")) == 100


def test_valkey_que_esqueceu_o_script_conta_uma_vez_so(valkey: redis.Redis) -> None:
    janela = Janela()
    contar(janela, "o", 1, 100)
    valkey.script_flush()
    assert [vaga.coube for vaga in janela.contar([("o", 1), ("p", 1)], 100)] == [True, True]
    assert sum(int(n) for n in valkey.hvals("lastro:minuto:o")) == 2
    assert contar(janela, "o", 98, 100).coube, "a conexão segue boa"


def test_devolver_o_que_foi_contado_na_memoria_nao_mexe_no_valkey(valkey: redis.Redis) -> None:
    janela = Janela()
    janela._descansa_ate = float("inf")
    vaga = contar(janela, "f", 5, 10)
    janela._descansa_ate = float("-inf")
    janela.devolver("f", 5, vaga)
    assert valkey.hgetall("lastro:minuto:f") == {}


def test_devolver_depois_que_o_balde_sumiu_nao_cria_conta_negativa(valkey: redis.Redis) -> None:
    janela = Janela()
    vaga = contar(janela, "g", 5, 10)
    valkey.flushdb()
    janela.devolver("g", 5, vaga)
    assert valkey.hgetall("lastro:minuto:g") == {}


def test_conexao_morta_e_trocada_sem_cair_para_a_memoria(valkey: redis.Redis) -> None:
    janela = Janela()
    assert contar(janela, "h", 1, 10).coube
    valkey.client_kill_filter(_type="normal", skipme=True)
    vaga = contar(janela, "h", 1, 10)
    assert (vaga.coube, vaga.na_memoria) == (True, False)


def test_sem_valkey_so_a_primeira_requisicao_paga_a_espera(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    janela = Janela()
    tentativas = itertools.count()
    original: Callable[..., Any] = janela._perguntar

    def contado(*args: Any) -> Any:
        next(tentativas)
        return original(*args)

    janela._perguntar = contado  # type: ignore[assignment]
    assert [contar(janela, "e", 1, 3).coube for _ in range(5)] == [True, True, True, False, False]
    assert next(tentativas) == 1
    agora = limites.time.monotonic()
    monkeypatch.setattr(limites.time, "monotonic", lambda: agora + limites.DESCANSO_S + 0.1)
    contar(janela, "e", 1, 3)
    assert next(tentativas) == 3, "depois do descanso volta a tentar"
