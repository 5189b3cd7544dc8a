"""Qualquer ordem, qualquer repetição, qualquer divisão em lotes: as mesmas linhas e contadores."""

from collections import Counter
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestao.eventos import gravacao
from ingestao.eventos.leitura import ler_eventos
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Erro, Evento, Lote, Sessao, Uso

TIPOS = ["ERRO_JS", "CLIQUE", "PULSO", "CONSOLE", "IDENTIFICACAO", "DESEMPENHO"]


class Desfazer(Exception):
    """Sai da transação do exemplo sem guardar nada."""


def conteudo_do(id_: int) -> dict[str, Any]:
    """O evento de cada id é sempre o mesmo: reenviar é mandar igual."""
    tipo = TIPOS[id_ % len(TIPOS)]
    return {
        "evento_id": f"e{id_}",
        "tipo": tipo,
        "mensagem": f"falha número {id_}" if id_ % 2 else "outra",
        "nivel": "error" if id_ % 4 < 2 else "warn",
        "usuario_id": f"u{id_}",
        "metrica": "CARREGAMENTO",
        "valor": id_ * 1.5,
        "ocorrido_em": (timezone.now().replace(microsecond=0)).timestamp() * 1000
        - (id_ * 37 % 1000) * 60_000,
    }


# Cada id pertence a uma sessão; um plano é uma lista de lotes (sessão, ids), e um worker que passa às vezes.
lotes = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 14), min_size=1, max_size=6), st.booleans()),
    min_size=1,
    max_size=10,
)


def gravar(aplicativo: Aplicativo, sessao: int, ids: list[int]) -> None:
    import orjson

    agora = timezone.now()
    lidos = ler_eventos([conteudo_do(id_ * 4 + sessao) for id_ in ids], agora)
    assert not lidos.recusas
    lote = gravacao.LoteNovo(
        recebido_em=agora,
        aplicativo_id=aplicativo.id,
        conteudo=orjson.dumps(
            {"sessao": {"sessao_externa": f"s{sessao}", "pais": "BR"}, "eventos": lidos.aceitos}
        ),
        peso=len(lidos.aceitos),
        recusas=None,
    )
    gravacao.gravar_lotes([lote])


def retrato() -> dict[str, Any]:
    return {
        "eventos": sorted(Evento.objects.values_list("evento_id", "sessao__sessao_externa", "tipo")),
        "sessoes": sorted(
            Sessao.objects.values_list(
                "sessao_externa",
                "quantidade_eventos",
                "quantidade_erros",
                "usuario_id",
                "tempo_carregamento_ms",
            ),
            key=lambda linha: linha[0],
        ),
        "erros": sorted(Erro.objects.values_list("tipo", "impressao", "quantidade")),
        "uso": list(Uso.objects.values_list("quantidade_eventos", flat=True)),
    }


def aplicar(plano: list[tuple[int, list[int], bool]]) -> dict[str, Any]:
    """Roda um plano num banco que volta ao que era; devolve o retrato final."""
    resultado: dict[str, Any] = {}
    try:
        with transaction.atomic():
            aplicativo = Aplicativo.objects.create(nome="x", dominios=["x.com"])
            for sessao, ids, worker_passa in plano:
                gravar(aplicativo, sessao, ids)
                if worker_passa:
                    CAIXA_DE_LOTES.esvaziar()
            CAIXA_DE_LOTES.esvaziar()
            assert not Lote.objects.exists()
            resultado = retrato()
            raise Desfazer
    except Desfazer:
        return resultado


@pytest.mark.django_db
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plano=lotes, sorteio=st.randoms(use_true_random=False))
def test_qualquer_ordem_e_repeticao_da_o_mesmo_que_cada_evento_uma_vez(plano: Any, sorteio: Any) -> None:
    unicos = Counter((sessao, id_) for sessao, ids, _ in plano for id_ in ids)
    cada_um_uma_vez = [(sessao, [id_], True) for sessao, id_ in sorted(unicos)]
    repetido = plano + [(sessao, ids[::-1], False) for sessao, ids, _ in plano]
    sorteio.shuffle(repetido)
    esperado = aplicar(cada_um_uma_vez)
    assert aplicar(plano) == esperado
    assert aplicar(repetido) == esperado

    gravados = [par for par in unicos if conteudo_do(par[1] * 4 + par[0])["tipo"] != "PULSO"]
    assert len(esperado["eventos"]) == len(gravados)
    assert sum(linha[1] for linha in esperado["sessoes"]) == len(gravados)
    assert sum(linha[2] for linha in esperado["erros"]) == sum(linha[2] for linha in esperado["sessoes"])
    assert sum(esperado["uso"]) == len(gravados)
