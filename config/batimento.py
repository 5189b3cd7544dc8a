"""Quantos workers estão vivos, sem perguntar a cada um.

Cada worker anota a hora no Valkey a cada `INTERVALO_S`; contar é uma ida. O `ping` do Celery espera um segundo
inteiro pelas respostas, o que numa tela que se atualiza sozinha é tempo demais. O que se perde com o Valkey volta
sozinho no batimento seguinte.
"""

import logging
import os
import socket
import threading
import time
from typing import Any

import redis
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings

registro = logging.getLogger("lastro.batimento")

CHAVE = "lastro:workers"
INTERVALO_S = 5
VALIDADE_S = 16  # três batimentos perdidos


def contar_vivos() -> int | None:
    """Workers que bateram há menos de `VALIDADE_S`; None se o Valkey não responde."""
    try:
        return int(_conectar().zcount(CHAVE, time.time() - VALIDADE_S, "+inf"))
    except redis.RedisError:
        return None


def bater(nome: str) -> None:
    """Anota que o worker `nome` vive. Levanta `RedisError`."""
    agora = time.time()
    with _conectar().pipeline(transaction=False) as idas:
        idas.zadd(CHAVE, {nome: agora})
        idas.zremrangebyscore(CHAVE, "-inf", agora - VALIDADE_S)
        idas.expire(CHAVE, VALIDADE_S)
        idas.execute()


def _conectar() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=settings.REDIS_ESPERA_S,
        socket_connect_timeout=settings.REDIS_ESPERA_S,
        retry=None,
    )


@worker_ready.connect
def comecar(**_: Any) -> None:
    """Num worker pronto, uma thread bate até o processo acabar."""
    nome = f"{socket.gethostname()}:{os.getpid()}"
    threading.Thread(target=_bater_sempre, args=(nome,), name="batimento", daemon=True).start()


@worker_shutting_down.connect
def parar(**_: Any) -> None:
    """Um worker que se despede deixa de contar na hora, e não três batimentos depois."""
    _parou.set()
    try:
        _conectar().zrem(CHAVE, f"{socket.gethostname()}:{os.getpid()}")
    except redis.RedisError as erro:
        registro.warning("batimento nao foi retirado", extra={"erro": str(erro)})


_parou = threading.Event()


def _bater_sempre(nome: str) -> None:
    while not _parou.is_set():
        try:
            bater(nome)
        except redis.RedisError as erro:
            registro.warning("batimento sem valkey", extra={"erro": str(erro)})
        _parou.wait(INTERVALO_S)
