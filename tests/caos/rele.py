"""Um relé TCP entre os clientes e a web, que corta e cala à ordem do roteiro. Não entende HTTP, só bytes.

Assim o corte cai em qualquer lugar: no meio do cabeçalho, do corpo, da resposta, entre uma requisição e outra. O
sorteio é por conexão, na ordem em que elas se abrem; essa ordem, e o que passava na hora, dependem do tempo real.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Self

from tests.caos.servidor import ServidorLocal

PEDACO_BYTES = 65_536
CORTES_S = (1.0, 3.0)
SILENCIO_S = (0.3, 1.5)
# Onde cortar, em bytes: a maioria das requisições tem de 300 a 9.000, e as respostas, menos de 500.
ORCAMENTOS_DE_IDA = (0, 40, 200, 400, 900, 2_500, 6_000, 30_000)
ORCAMENTOS_DE_VOLTA = (0, 1, 16, 90, 180)
RST = struct.pack("ii", 1, 0)


@dataclass(slots=True, eq=False)
class _Ligacao:
    """Um cliente e a web. `orcamento` é quantos bytes ainda passam em cada sentido antes do corte."""

    pontas: tuple[socket.socket, socket.socket]
    sorteio: Random
    orcamento: dict[int, int] = field(default_factory=dict)

    def cortar(self) -> None:
        """Fecha as duas pontas, metade das vezes com RST."""
        abrupto = self.sorteio.random() < 0.5
        for ponta in self.pontas:
            with suppress(OSError):
                if abrupto:
                    ponta.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
                ponta.shutdown(socket.SHUT_RDWR)
        for ponta in self.pontas:
            ponta.close()


class Rele:
    """Usar como bloco `with`; os clientes falam com `porta`."""

    def __init__(self, porta_do_servidor: int, semente: int) -> None:
        self._destino = ("127.0.0.1", porta_do_servidor)
        self._semente = semente
        self._escuta = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.porta = int(self._escuta.getsockname()[1])
        self._abertas: set[_Ligacao] = set()
        self._trava = threading.Lock()
        self._passagem = threading.Event()
        self._passagem.set()
        self._cortar_ate_s = 0.0
        self.qtd_cortes = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._aceitar, name="rele", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._escuta.shutdown(socket.SHUT_RDWR)
        self._escuta.close()
        self._passagem.set()
        self._cortar_tudo()

    # ---- As falhas (a forma é a de `falhas.Falha`)

    @property
    def falhas(self) -> dict[str, Callable[[ServidorLocal, Random], str]]:
        """O que este relé sabe estragar, pelo nome."""
        return {
            "cortar_conexoes": self.cortar_conexoes,
            "cortar_no_meio": self.cortar_no_meio,
            "calar_a_rede": self.calar_a_rede,
        }

    def cortar_conexoes(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """Todas as conexões caem no mesmo instante."""
        return f"{self._cortar_tudo()} conexões cortadas"

    def cortar_no_meio(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """Por um tempo, toda conexão cai depois de alguns bytes de ida ou de volta."""
        dura_s = sorteio.uniform(*CORTES_S)
        self._cortar_ate_s = time.monotonic() + dura_s
        return f"cortes no meio por {dura_s:.1f} s"

    def calar_a_rede(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """Nada passa, e ninguém é avisado."""
        dura_s = sorteio.uniform(*SILENCIO_S)
        self._passagem.clear()
        threading.Timer(dura_s, self._passagem.set).start()
        return f"rede muda por {dura_s:.1f} s"

    # ---- Por dentro

    def _cortar_tudo(self) -> int:
        with self._trava:
            abertas = list(self._abertas)
        for ligacao in abertas:
            self._cortar(ligacao)
        return len(abertas)

    def _cortar(self, ligacao: _Ligacao) -> None:
        ligacao.cortar()
        with self._trava:
            self._abertas.discard(ligacao)
            self.qtd_cortes += 1

    def _aceitar(self) -> None:
        numero = 0
        while True:
            try:
                cliente, _ = self._escuta.accept()
            except OSError:
                return
            numero += 1
            try:
                servidor = socket.create_connection(self._destino, timeout=5)
            except OSError:
                cliente.close()  # a web está fora do ar: é o que o cliente veria sem o relé
                continue
            for ponta in (cliente, servidor):
                ponta.settimeout(None)
                ponta.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ligacao = _Ligacao(pontas=(cliente, servidor), sorteio=Random(f"{self._semente}:rele:{numero}"))
            with self._trava:
                self._abertas.add(ligacao)
            for sentido in (0, 1):
                threading.Thread(target=self._levar, args=(ligacao, sentido), daemon=True).start()

    def _levar(self, ligacao: _Ligacao, sentido: int) -> None:
        """Leva os bytes de uma ponta à outra (0: ida; 1: volta) até o fim ou um corte."""
        origem, destino = ligacao.pontas[sentido], ligacao.pontas[1 - sentido]
        try:
            while pedaco := origem.recv(PEDACO_BYTES):
                self._passagem.wait()
                restam = self._orcamento(ligacao, sentido)
                if restam is not None and len(pedaco) > restam:
                    destino.sendall(pedaco[:restam])
                    return self._cortar(ligacao)
                if restam is not None:
                    ligacao.orcamento[sentido] = restam - len(pedaco)
                destino.sendall(pedaco)
            destino.shutdown(socket.SHUT_WR)
        except OSError:
            ligacao.cortar()
        finally:
            self._acabou(ligacao, sentido)
        return None

    def _orcamento(self, ligacao: _Ligacao, sentido: int) -> int | None:
        """Quantos bytes ainda passam; None fora da hora dos cortes."""
        if time.monotonic() >= self._cortar_ate_s:
            ligacao.orcamento.clear()
            return None
        if not ligacao.orcamento:
            de_ida = ligacao.sorteio.random() < 0.6
            onde = ligacao.sorteio.choice(ORCAMENTOS_DE_IDA if de_ida else ORCAMENTOS_DE_VOLTA)
            ligacao.orcamento[0 if de_ida else 1] = onde
        return ligacao.orcamento.get(sentido)

    def _acabou(self, ligacao: _Ligacao, sentido: int) -> None:
        """A volta é a última a acabar: quando a web fecha, a ligação acabou."""
        if sentido == 1:
            ligacao.cortar()
            with self._trava:
                self._abertas.discard(ligacao)
