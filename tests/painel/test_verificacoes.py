"""Uma produção que quebraria as leis é recusada, e `/prontidao` diz por quê."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from dlr.models import RecepcaoPendente
from ingestao.models import Lote
from painel import saude
from painel.verificacoes import conferir_broker, conferir_durabilidade


@pytest.fixture
def broker_que_despeja() -> Iterator[None]:
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    valkey.config_set("maxmemory-policy", "allkeys-lru")
    yield
    valkey.config_set("maxmemory-policy", "noeviction")


def test_tudo_em_ordem_nao_reclama(db: None, client: Client) -> None:
    assert conferir_durabilidade(["default"]) == conferir_broker(["default"]) == []
    resposta = client.get("/prontidao")
    assert (resposta.status_code, resposta.json()) == (
        200,
        {"situacao": "pronta", "banco": "ok", "broker": "ok", "fila": "ok"},
    )


def test_banco_que_confirma_sem_gravar_e_recusado(db: None, client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
    assert [erro.id for erro in conferir_durabilidade(["default"])] == ["lastro.E001"]
    resposta = client.get("/prontidao")
    assert resposta.status_code == 503
    assert "synchronous_commit=off" in resposta.json()["banco"]


def test_broker_que_despeja_e_recusado(db: None, client: Client, broker_que_despeja: None) -> None:
    assert [erro.id for erro in conferir_broker(["default"])] == ["lastro.E002"]
    resposta = client.get("/prontidao")
    assert (resposta.status_code, "allkeys-lru" in resposta.json()["broker"]) == (503, True)


def test_broker_fora_do_ar_nao_e_pronto_mas_esta_vivo(db: None, client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    resposta = client.get("/prontidao")
    assert (resposta.status_code, resposta.json()["banco"], resposta.headers["Retry-After"]) == (
        503,
        "ok",
        "5",
    )
    assert client.get("/saude").json() == {"situacao": "viva"}


def test_fila_velha_nao_e_pronta(db: None, client: Client) -> None:
    Lote.objects.create(recebido_em=timezone.now() - timezone.timedelta(seconds=saude.IDADE_MAXIMA_S + 60))
    resposta = client.get("/prontidao")
    assert resposta.status_code == 503
    assert "espera há" in resposta.json()["fila"]


def test_recepcao_velha_tambem_nao_e_pronta(db: None, client: Client) -> None:
    velha = timezone.now() - timezone.timedelta(seconds=saude.IDADE_MAXIMA_S + 60)
    RecepcaoPendente.objects.create(recepcao_id=1, recebido_em=velha)
    resposta = client.get("/prontidao")
    assert resposta.status_code == 503
    assert resposta.json()["fila"].startswith("a recepção mais antiga espera há 36")
    Lote.objects.create(recebido_em=velha)
    assert client.get("/prontidao").json()["fila"].startswith("o lote mais antigo espera há 36")


def test_saude_nao_consulta_nada(client: Client, db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert client.get("/saude").status_code == 200
