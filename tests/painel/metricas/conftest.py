"""A página de métricas lida como o Prometheus a lê, e o que a porta contou durante o teste."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from dlr.models import Excecao, Integracao, Mensagem, Projecao, Verificacao
from painel.metricas import views

Contadas = Callable[[], dict[tuple[str, str, str], float]]


@pytest.fixture(autouse=True)
def sem_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    views.coleta.esquecer()
    monkeypatch.setattr(views, "VALIDADE_S", -1.0)
    yield
    views.coleta.esquecer()


@pytest.fixture
def contadas(client: Client, db: None) -> Callable[[], dict[tuple[str, str, str], float]]:
    """O que a porta contou desde o começo do teste: {(fluxo, status, codigo): quantas}."""

    def somar() -> dict[tuple[str, str, str], float]:
        pagina = ler(client)
        return {
            (rotulos["fluxo"], rotulos["status"], rotulos["codigo"]): valor
            for (nome, pares), valor in pagina.items()
            if nome == "lastro_respostas_total" and (rotulos := dict(pares))
        }

    antes = somar()
    return lambda: {
        chave: valor - antes.get(chave, 0) for chave, valor in somar().items() if valor != antes.get(chave, 0)
    }


def ler(client: Client, **cabecalhos: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """{(nome, rótulos): número} da página."""
    resposta = client.get("/metricas", headers=cabecalhos)
    assert resposta.status_code == 200, resposta.content
    return {
        (amostra.name, tuple(sorted(amostra.labels.items()))): amostra.value
        for familia in text_string_to_metric_families(resposta.text)
        for amostra in familia.samples
    }


def um(pagina: dict[Any, float], nome: str, /, **rotulos: str) -> float | None:
    return pagina.get((f"lastro_{nome}", tuple(sorted(rotulos.items()))))


@pytest.fixture
def mensagens(db: None) -> None:
    """Três aceitas (duas entregues, uma sem recibo), duas recusadas, e uma prova independente."""
    integracao = Integracao.objects.create(slug="op", formato="padrao", token_resumo="x")
    for n, (aceita, estado) in enumerate([(True, "DELIVERED")] * 2 + [(True, None)] + [(False, None)] * 2):
        mensagem = Mensagem.objects.create(integracao=integracao, id_interno=str(n), aceita=aceita)
        Projecao.objects.create(
            mensagem=mensagem,
            estado=estado,
            final=bool(estado),
            motivo="m",
            versao_das_regras=1,
            atualizada_em=timezone.now(),
        )
    Verificacao.objects.create(mensagem=mensagem, origem="codigo", ocorrida_em=timezone.now())
    Excecao.objects.create(integracao=integracao, tipo="conflito_final", alvo="1", aberta_em=timezone.now())
