"""O uso por minuto soma uma vez, na transação do uso do dia, e vence em dois dias."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from ingestao.eventos import gravacao
from ingestao.eventos.minutos import expurgar
from ingestao.eventos.processamento import CAIXA_DE_LOTES, aplicar_lotes
from ingestao.models import Aplicativo, Lote, Recusa, Uso, UsoPorMinuto

pytestmark = pytest.mark.django_db(transaction=True)
EM = datetime.fromisoformat("2026-07-03T14:05:31.5-03:00")


@pytest.fixture
def aplicativo() -> Aplicativo:
    return Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"])


def gravar(aplicativo: Aplicativo | None, ids: list[str], em: datetime = EM, **recusas: list[int]) -> None:
    eventos = [
        {"evento_id": id_, "tipo": "PULSO" if id_ == "pulso" else "CLIQUE", "ocorrido_em": em.isoformat()}
        for id_ in ids
    ]
    conteudo = {"sessao": {"sessao_externa": "s1", "pais": "BR"}, "eventos": eventos}
    lote = gravacao.LoteNovo(
        recebido_em=em,
        peso=max(1, len(ids)),
        aplicativo_id=aplicativo.pk if aplicativo else None,
        conteudo=json.dumps(conteudo).encode() if ids else None,
        recusas=recusas or None,
    )
    gravacao.gravar_lotes([lote])


def linhas() -> list[tuple[Any, ...]]:
    campos = ("minuto", "aplicativo__nome", "motivo", "quantidade_requisicoes", "quantidade_eventos")
    return list(UsoPorMinuto.objects.order_by("minuto", "motivo").values_list(*campos))


def test_conta_o_que_entrou_no_minuto_da_porta(aplicativo: Aplicativo) -> None:
    gravar(aplicativo, ["a", "b", "pulso"])
    gravar(aplicativo, ["c"], EM + timedelta(seconds=28))
    gravar(aplicativo, ["d"], EM + timedelta(seconds=29))  # 14:06:00,5
    CAIXA_DE_LOTES.esvaziar()
    inicio = EM.replace(second=0, microsecond=0)
    assert linhas() == [
        (inicio, "Loja", "", 0, 3),
        (inicio + timedelta(minutes=1), "Loja", "", 0, 1),
    ]


def test_reenvio_nao_conta_de_novo(aplicativo: Aplicativo) -> None:
    for _ in range(3):
        gravar(aplicativo, ["a", "b"])
        CAIXA_DE_LOTES.esvaziar()
    assert [linha[4] for linha in linhas()] == [2]


def test_recusas_por_motivo_com_e_sem_dono(aplicativo: Aplicativo) -> None:
    gravar(aplicativo, ["a"], tipo_invalido=[0, 4])
    gravar(aplicativo, [], limite_por_minuto=[1, 50])
    gravar(None, [], chave_desconhecida=[1, 7])
    gravar(None, [], chave_desconhecida=[1, 0])
    CAIXA_DE_LOTES.esvaziar()
    minuto = EM.replace(second=0, microsecond=0)
    assert linhas() == [
        (minuto, "Loja", "", 0, 1),
        (minuto, None, "chave_desconhecida", 2, 7),
        (minuto, "Loja", "limite_por_minuto", 1, 50),
        (minuto, "Loja", "tipo_invalido", 0, 4),
    ]


def test_soma_dos_minutos_e_a_do_dia(aplicativo: Aplicativo) -> None:
    for numero in range(5):
        gravar(
            aplicativo,
            [f"e{numero}-{i}" for i in range(numero)],
            EM + timedelta(minutes=numero),
            lote_cheio=[0, 2],
        )
    CAIXA_DE_LOTES.esvaziar()
    assert sum(linha[4] for linha in linhas() if not linha[2]) == Uso.objects.get().quantidade_eventos == 10
    assert sum(linha[4] for linha in linhas() if linha[2]) == Recusa.objects.get().quantidade_eventos == 10


def test_transacao_desfeita_nao_conta(aplicativo: Aplicativo) -> None:
    gravar(aplicativo, ["a"])
    lote = Lote.objects.get()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        aplicar_lotes([(lote.pk, 1, lote.recebido_em, lote.aplicativo_id, bytes(lote.conteudo), None)])
        raise ZeroDivisionError
    assert linhas() == []
    CAIXA_DE_LOTES.esvaziar()
    assert [linha[4] for linha in linhas()] == [1]


def test_expurgo_apaga_so_o_que_venceu(aplicativo: Aplicativo) -> None:
    agora = timezone.now()
    for horas in (1, 47, 49, 300):
        UsoPorMinuto.objects.create(aplicativo=aplicativo, minuto=agora - timedelta(hours=horas))
    assert expurgar(agora) == 2
    assert UsoPorMinuto.objects.count() == 2
