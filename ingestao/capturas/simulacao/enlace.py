"""O link ruim: um proxy local que entende HTTP o bastante para cortar no instante que se quer.

Cortar depois do COMMIT é esperar a resposta do servidor e não entregá-la. Só assim se sabe quantos reenvios o link
causou: cada evento confirmado numa resposta perdida chegará outra vez, e o servidor tem de contar exatamente isso.
"""

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import BinaryIO, Self

INGESTAO = "/captura/ingestao"
ATRASO_MAXIMO_S = 0.15
PRAZO_S = 60.0  # maior que o long poll: quem desiste primeiro é o cliente
PEDACO_BYTES = 64 * 1024


class Destino(Enum):
    """O que acontece com uma requisição."""

    PASSA = "passa"
    ATRASA = "atrasa"
    CORTA_ANTES = "antes"
    CORTA_NO_MEIO = "meio"
    CORTA_DEPOIS = "depois"
    CORTA_A_RESPOSTA = "resposta"


CORTES = (Destino.CORTA_ANTES, Destino.CORTA_NO_MEIO, Destino.CORTA_DEPOIS, Destino.CORTA_A_RESPOSTA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mensagem:
    """Uma requisição ou resposta inteira: a linha e os cabeçalhos crus, e o corpo."""

    cabeca: bytes
    corpo: bytes

    @property
    def linha(self) -> str:
        return self.cabeca.split(b"\r\n", 1)[0].decode("latin-1")


Sorteio = Callable[[Mensagem], Destino]


@dataclass(slots=True)
class Contas:
    """O que o link fez. `eventos_sem_ack` é quantas vezes um evento gravado ficou sem o seu ACK."""

    destinos: Counter[str] = field(default_factory=Counter)
    eventos_sem_ack: int = 0


def sortear_perdas(perda: float, semente: int) -> Callable[[int], Sorteio]:
    """Para a n-ésima conexão, um sorteio que corta uma fração `perda` das requisições, de todas as formas."""

    def da_conexao(numero: int) -> Sorteio:
        dado = random.Random(f"{semente}-{numero}")

        def sortear(requisicao: Mensagem) -> Destino:
            if dado.random() < perda:
                return dado.choice(CORTES)
            return Destino.ATRASA if dado.random() < perda / 2 else Destino.PASSA

        return sortear

    return da_conexao


class Enlace:
    """O proxy no ar. Usar como bloco `with`; `url` é o endereço que o aparelho usa."""

    def __init__(
        self,
        porta_do_servidor: int,
        por_conexao: Callable[[int], Sorteio],
        *,
        ao_responder: Callable[[Mensagem, Mensagem], None] = lambda requisicao, resposta: None,
    ) -> None:
        """`ao_responder` vê cada requisição com a sua resposta, entregue ou não."""
        self._porta_do_servidor = porta_do_servidor
        self._por_conexao = por_conexao
        self._ao_responder = ao_responder
        self._escuta = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._vez = threading.Lock()
        self._abertas: set[socket.socket] = set()
        self._fechando = False
        self.contas = Contas()
        self.fora_do_ar = threading.Event()  # ligado, toda conexão é recusada: o aparelho sem rede
        self.url = f"http://127.0.0.1:{self._escuta.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._aceitar, name="enlace", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._fechando = True
        with suppress(OSError):
            self._escuta.shutdown(socket.SHUT_RDWR)
        self._escuta.close()
        self.derrubar_conexoes()

    def derrubar_conexoes(self) -> None:
        """Corta tudo o que está aberto agora."""
        with self._vez:
            abertas = list(self._abertas)
        for conexao in abertas:
            with suppress(OSError):
                conexao.shutdown(socket.SHUT_RDWR)

    def _aceitar(self) -> None:
        numero = 0
        while not self._fechando:
            try:
                aparelho, _ = self._escuta.accept()
            except OSError:
                return
            numero += 1
            threading.Thread(
                target=self._atender, args=(aparelho, self._por_conexao(numero)), daemon=True
            ).start()

    def _atender(self, aparelho: socket.socket, sortear: Sorteio) -> None:
        """Uma conexão do aparelho: uma requisição por vez, até um corte ou o fim."""
        servidor: socket.socket | None = None
        try:
            if self.fora_do_ar.is_set():
                return
            servidor = socket.create_connection(("127.0.0.1", self._porta_do_servidor), timeout=PRAZO_S)
            for conexao in (aparelho, servidor):
                conexao.settimeout(PRAZO_S)
                conexao.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._vez:
                self._abertas.update((aparelho, servidor))
            do_aparelho, do_servidor = aparelho.makefile("rb"), servidor.makefile("rb")
            while (requisicao := ler_mensagem(do_aparelho)) is not None:
                destino = sortear(requisicao)
                with self._vez:
                    self.contas.destinos[destino.value] += 1
                if not self._levar(destino, requisicao, aparelho, servidor, do_servidor):
                    return
        except (OSError, ValueError):
            return  # um dos lados caiu por conta própria: quem reage é o outro
        finally:
            for ponta in (aparelho, servidor):
                if ponta is not None:
                    self._abertas.discard(ponta)
                    _fechar(ponta)

    def _levar(
        self,
        destino: Destino,
        requisicao: Mensagem,
        aparelho: socket.socket,
        servidor: socket.socket,
        do_servidor: BinaryIO,
    ) -> bool:
        """Leva uma requisição ao seu destino; False encerra a conexão."""
        if destino is Destino.CORTA_ANTES:
            return False
        if destino is Destino.CORTA_NO_MEIO:
            servidor.sendall(requisicao.cabeca + requisicao.corpo[: len(requisicao.corpo) // 2])
            return False
        if destino is Destino.ATRASA:
            time.sleep(random.uniform(0, ATRASO_MAXIMO_S))
        servidor.sendall(requisicao.cabeca + requisicao.corpo)
        resposta = ler_mensagem(do_servidor, tem_corpo=not requisicao.linha.startswith("HEAD "))
        if resposta is None:
            return False  # o servidor caiu: se gravou, ninguém sabe, e a conta daqui não vale
        self._ao_responder(requisicao, resposta)
        if destino in (Destino.CORTA_DEPOIS, Destino.CORTA_A_RESPOSTA):
            with self._vez:
                self.contas.eventos_sem_ack += contar_gravados(requisicao, resposta)
            if destino is Destino.CORTA_A_RESPOSTA:
                inteira = resposta.cabeca + resposta.corpo
                aparelho.sendall(inteira[: len(inteira) * 2 // 3])
            return False
        aparelho.sendall(resposta.cabeca + resposta.corpo)
        return True


def contar_gravados(requisicao: Mensagem, resposta: Mensagem) -> int:
    """Quantos eventos esta resposta confirmava; zero se não é a de um lote."""
    if not requisicao.linha.startswith(f"POST {INGESTAO} ") or " 200" not in resposta.linha[:13]:
        return 0
    return sum(r.get("situacao") == "gravado" for r in json.loads(resposta.corpo)["resultados"])


def ler_mensagem(entrada: BinaryIO, *, tem_corpo: bool = True) -> Mensagem | None:
    """Uma mensagem HTTP/1.1 inteira; None se a conexão acabou antes do fim dela. O corpo vem com Content-Length."""
    cabeca = bytearray()
    while not cabeca.endswith(b"\r\n\r\n"):
        linha = entrada.readline()
        if not linha:
            return None
        cabeca += linha
    tamanho = 0
    for linha in bytes(cabeca).lower().split(b"\r\n"):
        if linha.startswith(b"transfer-encoding:"):
            raise ValueError("o enlace não leva corpos aos pedaços")
        if linha.startswith(b"content-length:"):
            tamanho = int(linha.partition(b":")[2])
    corpo = entrada.read(tamanho) if tem_corpo and tamanho else b""
    return Mensagem(cabeca=bytes(cabeca), corpo=corpo) if len(corpo) == tamanho or not tem_corpo else None


def _fechar(conexao: socket.socket) -> None:
    with suppress(OSError):
        conexao.shutdown(socket.SHUT_RDWR)
    conexao.close()
