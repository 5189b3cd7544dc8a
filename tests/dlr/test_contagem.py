"""Recepções por minuto e por dia: contadas uma vez ao aplicar; recusas, à porta."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from dlr import gravacao
from dlr.contagem import expurgar_minutos
from dlr.models import RecepcaoPendente, RecepcaoPorDia, RecepcaoPorMinuto, RecusaDeCallback
from dlr.processamento import CAIXA_DE_RECEPCOES, aplicar_recepcoes
from tests.dlr.conftest import criar

pytestmark = pytest.mark.django_db(transaction=True)
EM = datetime.fromisoformat("2026-07-03T23:59:31.5-03:00")


def gravar(integracao_id: int, em: datetime = EM, corpo: bytes = b"{}") -> None:
    recepcao = gravacao.RecepcaoNova(
        integracao_id=integracao_id,
        recebida_em=em,
        metodo="POST",
        url="/dlr/callback/op",
        consulta=b"",
        cabecalhos={},
        corpo=corpo,
    )
    gravacao.gravar_recepcoes([recepcao])


def linhas() -> list[tuple[Any, ...]]:
    campos = ("minuto", "integracao__slug", "motivo", "quantidade")
    return list(RecepcaoPorMinuto.objects.order_by("minuto", "motivo").values_list(*campos))


def test_conta_recepcoes_no_minuto_e_no_dia_da_porta() -> None:
    op = criar()
    for segundos in (0, 28, 29):  # a terceira já é do dia seguinte
        gravar(op.id, EM + timedelta(seconds=segundos))
    CAIXA_DE_RECEPCOES.esvaziar()
    minuto = EM.replace(second=0, microsecond=0)
    assert linhas() == [(minuto, "op", "", 2), (minuto + timedelta(minutes=1), "op", "", 1)]
    assert [(d.dia.isoformat(), d.quantidade) for d in RecepcaoPorDia.objects.order_by("dia")] == [
        ("2026-07-03", 2),
        ("2026-07-04", 1),
    ]


def test_recepcao_repetida_e_ilegivel_contam_como_chegadas() -> None:
    op = criar()
    for corpo in (b"nao e json", b"nao e json"):
        gravar(op.id, corpo=corpo)
    CAIXA_DE_RECEPCOES.esvaziar()
    CAIXA_DE_RECEPCOES.esvaziar()
    assert [linha[3] for linha in linhas()] == [2]


def test_transacao_desfeita_nao_conta() -> None:
    gravar(criar().id)
    pendente = RecepcaoPendente.objects.get()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        aplicar_recepcoes([(pendente.pk, 1, pendente.recepcao_id)])
        raise ZeroDivisionError
    assert linhas() == []
    CAIXA_DE_RECEPCOES.esvaziar()
    assert [linha[3] for linha in linhas()] == [1]


def test_callback_recusado_conta_no_minuto_e_no_dia() -> None:
    antes = timezone.now().replace(second=0, microsecond=0)
    for _ in range(2):
        assert Client().post("/dlr/callback/nenhuma/x").status_code == 404
    assert sum(linha[3] for linha in linhas()) == RecusaDeCallback.objects.get().quantidade == 2
    assert {(linha[1], linha[2]) for linha in linhas()} == {(None, "integracao_inexistente")}
    assert all(linha[0] >= antes for linha in linhas())
    assert not RecepcaoPorDia.objects.exists()


def test_expurgo_apaga_so_os_minutos_vencidos() -> None:
    agora, op = timezone.now(), criar()
    for horas in (1, 47, 49, 300):
        RecepcaoPorMinuto.objects.create(integracao_id=op.id, minuto=agora - timedelta(hours=horas))
    RecepcaoPorDia.objects.create(integracao_id=op.id, dia="2020-01-01", quantidade=5)
    assert expurgar_minutos(agora) == 2
    assert RecepcaoPorMinuto.objects.count() == 2
    assert RecepcaoPorDia.objects.get().quantidade == 5
