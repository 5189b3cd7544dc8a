"""Acordar os workers: fora do caminho da requisição e com no máximo uma mensagem à espera por caixa.

A bandeira no Valkey diz "já há uma mensagem à espera". O worker a baixa antes de esvaziar a caixa;
quem grava depois disso encontra a bandeira baixada e publica de novo. Perder a bandeira, a mensagem
ou o Valkey inteiro só atrasa até a próxima varredura do beat.
"""

import logging
import os
import threading
import time
from collections.abc import Callable

import redis
from django.conf import settings
from kombu.exceptions import OperationalError as BrokerForaDoAr

from config.valkey import conectar

registro = logging.getLogger("lastro.caixa")

VALIDADE_S = 10  # mensagem perdida depois de erguida a bandeira: o silêncio dura no máximo isto
INTERVALO_S = 0.02  # junta os pedidos de uma rajada; o primeiro depois de uma calmaria sai na hora
DESCANSO_S = 1.0  # com o Valkey fora, uma tentativa por segundo basta


class Despertador:
    """Um por caixa e por processo. `acordar()` só marca; uma thread própria fala com o Valkey."""

    def __init__(self, nome: str, publicar: Callable[[], object]) -> None:
        self._chave = f"lastro:acordada:{nome}"
        self._publicar = publicar
        self._pedido = threading.Event()
        self._trava = threading.Lock()
        self._processo: int | None = None
        self._valkey: redis.Redis | None = None

    def acordar(self) -> None:
        """Pede que um worker acorde. Volta na hora; chame só depois do COMMIT."""
        if self._processo != os.getpid():  # a thread não sobrevive a um fork
            self._comecar()
        self._pedido.set()

    def baixar(self) -> None:
        """O worker chama ao começar: quem gravar daqui em diante publica de novo."""
        try:
            self._conexao().delete(self._chave)
        except redis.RedisError as erro:
            # A bandeira vence sozinha em VALIDADE_S, e a varredura não depende dela.
            registro.warning("bandeira da caixa nao foi baixada", extra={"erro": str(erro)})

    def _conexao(self) -> redis.Redis:
        if self._valkey is None:
            self._valkey = conectar(settings.REDIS_ESPERA_S)
        return self._valkey

    def _comecar(self) -> None:
        with self._trava:
            if self._processo == os.getpid():
                return
            self._pedido = threading.Event()
            threading.Thread(target=self._trabalhar, name="despertador", daemon=True).start()
            self._processo = os.getpid()

    def _trabalhar(self) -> None:
        while True:
            self._pedido.wait()
            self._pedido.clear()
            try:
                # Só publica quem ergueu a bandeira. Com o broker fora, publicar levaria 2 s: o
                # cliente de prazo curto é perguntado antes.
                if self._conexao().set(self._chave, b"1", nx=True, ex=VALIDADE_S):
                    self._publicar()
            except (redis.RedisError, BrokerForaDoAr, OSError) as erro:
                registro.warning("despertador sem broker", extra={"erro": str(erro)})
                time.sleep(DESCANSO_S)
            time.sleep(INTERVALO_S)
