"""Quanto se aceita: eventos por lote e por minuto, a franquia do mês, e a caixa cheia."""

from typing import Any

import pytest

from ingestao.eventos import recepcao
from ingestao.models import Aplicativo, Evento, Lote, Recusa, Sessao, Uso
from tests.ingestao.conftest import Postar, Processar, evento, recusas


def test_lista_vazia_e_202_com_zero_e_sem_sessao(postar: Postar, processar: Processar) -> None:
    assert postar().json() == {"aceitos": 0, "recusados": 0, "recusas": []}
    assert postar(sessao=3).status_code == 202
    assert not Lote.objects.exists()
    processar()
    assert not Sessao.objects.exists()


def test_so_invalidos_e_202_com_zero_aceitos_contados_e_sem_sessao(
    postar: Postar, processar: Processar
) -> None:
    resposta = postar({"tipo": "X"}, 3)
    assert (resposta.status_code, resposta.json()["aceitos"], resposta.json()["recusados"]) == (202, 0, 2)
    processar()
    assert recusas() == {"evento_id_invalido": (0, 1), "evento_invalido": (0, 1)}
    assert not Sessao.objects.exists()


def test_501_eventos_dao_500_aceitos_e_1_recusado(postar: Postar, processar: Processar) -> None:
    resposta = postar(*[evento() for _ in range(501)])
    assert resposta.json() == {
        "aceitos": 500,
        "recusados": 1,
        "recusas": [{"indice": 500, "codigo": "lote_cheio"}],
    }
    processar()
    assert Evento.objects.count() == 500
    assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (500, 1)


def test_recusas_lista_so_as_primeiras_50_mas_conta_todas(postar: Postar) -> None:
    resposta = postar(*[evento(tipo="X") for _ in range(60)]).json()
    assert (resposta["recusados"], len(resposta["recusas"]), resposta["recusas"][-1]["indice"]) == (
        60,
        50,
        49,
    )


def test_mais_de_6000_por_minuto_recusa_o_lote_inteiro_e_o_registra(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    for _ in range(12):
        assert postar(*[evento() for _ in range(500)]).status_code == 202
    resposta = postar(evento(), evento())
    assert (resposta.status_code, resposta.json()["codigo"]) == (429, "limite_por_minuto")
    assert 1 <= int(resposta.headers["Retry-After"]) <= 60
    assert resposta.headers["access-control-expose-headers"] == "Retry-After"
    processar()
    assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (6000, 2)
    assert recusas() == {"limite_por_minuto": (1, 2)}


def test_lote_recusado_pelo_limite_nao_gasta_a_janela(postar: Postar, settings: Any) -> None:
    settings.LIMITE_POR_MINUTO = 10
    assert postar(*[evento() for _ in range(8)]).status_code == 202
    for _ in range(5):
        assert postar(*[evento() for _ in range(3)]).status_code == 429
    assert postar(evento(), evento()).status_code == 202


@pytest.mark.parametrize(("politica", "status"), [("PARAR_INGESTAO", 402), ("SO_AVISAR", 202)])
def test_franquia_estourada_para_ou_so_avisa(
    postar: Postar, processar: Processar, aplicativo: Aplicativo, politica: str, status: int
) -> None:
    Aplicativo.objects.update(franquia=10, politica=politica)
    assert postar(*[evento() for _ in range(10)]).status_code == 202
    processar()
    resposta = postar(evento(), evento())
    assert resposta.status_code == status
    processar()
    if status == 402:
        assert resposta.json()["codigo"] == "franquia_estourada"
        assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (10, 2)
        assert recusas() == {"franquia_estourada": (1, 2)}


def test_reenvio_depois_de_prazo_esgotado_nao_gasta_franquia(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    Aplicativo.objects.update(franquia=3, politica="PARAR_INGESTAO")
    lote = [evento(), evento()]
    for _ in range(4):
        assert postar(*lote).status_code == 202
        processar()
    assert Uso.objects.get().quantidade_eventos == 2
    assert postar(evento()).status_code == 202


def test_caixa_acima_do_teto_fecha_a_porta_antes_de_contar(
    postar: Postar, processar: Processar, settings: Any
) -> None:
    settings.TETO_DA_CAIXA = 3
    for _ in range(3):
        recepcao.teto._medido_em = float("-inf")
        assert postar(evento()).status_code == 202
    recepcao.teto._medido_em = float("-inf")
    resposta = postar(evento())
    assert (resposta.status_code, resposta.json()["codigo"]) == (503, "fila_cheia")
    assert resposta.headers["Retry-After"] == "5"
    assert Lote.objects.count() == 3
    processar()
    recepcao.teto._medido_em = float("-inf")
    assert postar(evento()).status_code == 202
    assert not Recusa.objects.exists()
