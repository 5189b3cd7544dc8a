"""Os workers vivos, pelo batimento no Valkey."""

import time

import pytest
import redis
from django.conf import settings

from config import batimento


@pytest.fixture(autouse=True)
def sem_batimentos() -> None:
    redis.Redis.from_url(settings.REDIS_URL).delete(batimento.CHAVE)


def test_conta_cada_worker_uma_vez() -> None:
    assert batimento.contar_vivos() == 0
    for nome in ("a:1", "a:2", "a:1"):
        batimento.bater(nome)
    assert batimento.contar_vivos() == 2


def test_worker_calado_deixa_de_contar() -> None:
    valkey = redis.Redis.from_url(settings.REDIS_URL)
    valkey.zadd(batimento.CHAVE, {"morto:1": time.time() - batimento.VALIDADE_S - 1})
    assert batimento.contar_vivos() == 0
    batimento.bater("vivo:1")
    assert valkey.zrange(batimento.CHAVE, 0, -1) == [b"vivo:1"]  # o morto saiu


def test_sem_valkey_nao_se_sabe(settings) -> None:  # type: ignore[no-untyped-def]
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert batimento.contar_vivos() is None
