"""Reexecutar o que a caixa de recepções estacionou: só o que estava parado volta, e o worker acorda."""

import pytest
from django.test import Client
from django.utils import timezone

from dlr import tasks
from dlr.models import EventoLogico, RecepcaoPendente
from dlr.processamento import CAIXA_DE_RECEPCOES
from tests.painel.conftest import entrar_com, mensagens
from tests.painel.recibos import Ligada, recibo

pytestmark = pytest.mark.django_db

PENDENTES = "/admin/dlr/recepcaopendente/"


@pytest.fixture
def acordadas(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    vezes: list[bool] = []
    monkeypatch.setattr(tasks.despertador_de_recepcoes, "acordar", lambda: vezes.append(True))
    return vezes


@pytest.fixture
def estacionadas(ligada: Ligada) -> list[RecepcaoPendente]:
    for n in range(3):
        ligada.receber(recibo(f"r{n}"), aplicar=False)
    ids = list(RecepcaoPendente.objects.order_by("pk").values_list("pk", flat=True))
    RecepcaoPendente.objects.filter(pk__in=ids[:2]).update(
        estacionado_em=timezone.now(), tentativas=5, falha="DataError: x"
    )
    return list(RecepcaoPendente.objects.order_by("pk"))


def test_reexecutar_devolve_so_as_estacionadas_e_acorda_o_worker(
    painel: Client, estacionadas: list[RecepcaoPendente], acordadas: list[bool]
) -> None:
    acordadas.clear()
    escolhidas = {"action": "reexecutar", "_selected_action": [p.pk for p in estacionadas]}
    assert mensagens(painel.post(PENDENTES, escolhidas, follow=True)) == ["2 recepções voltaram à fila."]
    assert acordadas == [True]
    assert CAIXA_DE_RECEPCOES.esvaziar().aplicados == 3
    assert EventoLogico.objects.count() == 3


def test_reexecutar_na_pagina_e_o_que_nao_esta_estacionado(
    painel: Client, estacionadas: list[RecepcaoPendente], acordadas: list[bool]
) -> None:
    acordadas.clear()
    resposta = painel.post(f"{PENDENTES}{estacionadas[0].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["1 recepção voltou à fila."]
    resposta = painel.post(f"{PENDENTES}{estacionadas[2].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["Nada a reexecutar: só recepções estacionadas voltam à fila."]
    assert acordadas == [True]


def test_reexecutar_sem_permissao_e_recusado(estacionadas: list[RecepcaoPendente]) -> None:
    cliente = entrar_com("view_recepcaopendente")
    assert cliente.post(f"{PENDENTES}{estacionadas[0].pk}/reexecucao/").status_code == 403
    assert RecepcaoPendente.objects.filter(estacionado_em__isnull=False).count() == 2
