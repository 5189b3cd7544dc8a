"""O gerador HTTP: uma thread, soquetes crus e requisições prontas, para quase não disputar a CPU medida.

Da resposta só se leem o status e o tamanho. Fila cheia (503) e limite (429) fazem todas as conexões
esperarem o `Retry-After` e a requisição volta para a frente da fila: é o que um remetente correto faz.
"""

import gc
import selectors
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

ESPERA_S = 60  # sem resposta alguma por este tempo, o servidor travou
BUFFER_DE_SAIDA_BYTES = 1024 * 1024  # um lote de 500 cabe inteiro: mandar nunca segura o laço
LEITURA_BYTES = 65_536
REENVIAVEIS = (429, 503)
RECUSAS_MAXIMAS = 2_000  # com Retry-After de 5 s e 24 conexões, uns sete minutos sem avançar


class FalhaDeCarga(Exception):
    """O servidor respondeu o que não devia, ou não respondeu."""


@dataclass(slots=True, kw_only=True)
class Disparo:
    """O que aconteceu com uma remessa. Instantes do relógio monotônico (s); latências só das aceitas (ms).

    `recusas` conta as respostas que mandaram esperar, por status.
    """

    comeco_s: float = 0.0
    fim_s: float = 0.0
    latencias_ms: list[float] = field(default_factory=list)
    recusas: Counter[int] = field(default_factory=Counter)

    @property
    def duracao_s(self) -> float:
        return self.fim_s - self.comeco_s


class _Conexao:
    """Uma conexão aberta com no máximo uma requisição no ar."""

    __slots__ = ("enviada_s", "recebido", "requisicao", "soquete")

    def __init__(self, porta: int) -> None:
        self.soquete = socket.create_connection(("127.0.0.1", porta), timeout=ESPERA_S)
        self.soquete.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.soquete.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_DE_SAIDA_BYTES)
        self.requisicao = 0
        self.enviada_s = 0.0
        self.recebido = b""

    def mandar(self, requisicao: int, conteudo: bytes) -> None:
        self.requisicao = requisicao
        self.recebido = b""
        self.enviada_s = time.perf_counter()
        self.soquete.sendall(conteudo)

    def ler(self) -> bytes | None:
        """Devolve a resposta se ela já está inteira; levanta `FalhaDeCarga` se a conexão caiu."""
        pedaco = self.soquete.recv(LEITURA_BYTES)
        if not pedaco:
            raise FalhaDeCarga("o servidor fechou a conexão no meio de uma requisição")
        self.recebido += pedaco
        return self.recebido if _esta_inteira(self.recebido) else None


def disparar(
    porta: int,
    requisicoes: Sequence[bytes],
    *,
    conexoes: int,
    parar: Callable[[], bool] = lambda: False,
) -> Disparo:
    """Manda tudo por `conexoes` conexões, uma requisição por vez em cada; volta quando todas foram aceitas.

    `parar`, perguntado a cada resposta, encerra antes do fim. Levanta `FalhaDeCarga` se alguma resposta
    não é 202 sem recusados, 429 ou 503.
    """
    disparo = Disparo()
    pendentes = deque(range(len(requisicoes)))
    abertas = [_Conexao(porta) for _ in range(min(conexoes, len(requisicoes)))]
    seletor = selectors.DefaultSelector()
    try:
        for conexao in abertas:
            seletor.register(conexao.soquete, selectors.EVENT_READ, conexao)
        with _sem_coleta():
            _girar(disparo, seletor, abertas, requisicoes, pendentes, parar)
    finally:
        seletor.close()
        for conexao in abertas:
            conexao.soquete.close()
    return disparo


def _girar(
    disparo: Disparo,
    seletor: selectors.BaseSelector,
    abertas: Sequence[_Conexao],
    requisicoes: Sequence[bytes],
    pendentes: deque[int],
    parar: Callable[[], bool],
) -> None:
    ociosas = list(abertas)
    no_ar = 0
    retomar_s = disparo.comeco_s = time.perf_counter()
    while True:
        agora = time.perf_counter()
        while ociosas and pendentes and agora >= retomar_s:
            requisicao = pendentes.popleft()
            ociosas.pop().mandar(requisicao, requisicoes[requisicao])
            no_ar += 1
        if not no_ar and not pendentes:
            break
        if not no_ar:  # todas esperam o Retry-After
            time.sleep(max(0.0, retomar_s - agora))
            continue
        prontas = seletor.select(ESPERA_S)
        if not prontas:
            raise FalhaDeCarga(f"nenhuma resposta em {ESPERA_S} s")
        for chave, _ in prontas:
            conexao: _Conexao = chave.data
            resposta = conexao.ler()
            if resposta is None:
                continue
            no_ar -= 1
            ociosas.append(conexao)
            espera_s = _anotar(disparo, conexao, resposta)
            if espera_s is not None:
                pendentes.appendleft(conexao.requisicao)
                retomar_s = max(retomar_s, time.perf_counter() + espera_s)
        if pendentes and parar():
            pendentes.clear()
    disparo.fim_s = time.perf_counter()


def _anotar(disparo: Disparo, conexao: _Conexao, resposta: bytes) -> float | None:
    """Anota uma resposta; devolve None se foi aceita, ou quantos segundos esperar antes de reenviar."""
    status = int(resposta[9:12])
    if status == 202 and b'"recusados":0' in resposta:
        disparo.latencias_ms.append((time.perf_counter() - conexao.enviada_s) * 1000)
        return None
    if status not in REENVIAVEIS:
        raise FalhaDeCarga(f"resposta inesperada: {resposta.decode('utf-8', 'replace')}")
    disparo.recusas[status] += 1
    if disparo.recusas.total() > RECUSAS_MAXIMAS:
        raise FalhaDeCarga(f"o servidor só manda esperar: {dict(disparo.recusas)}")
    return float(_cabecalho(resposta, b"retry-after") or b"1")


def _esta_inteira(resposta: bytes) -> bool:
    fim = resposta.find(b"\r\n\r\n")
    if fim < 0:
        return False
    return len(resposta) - fim - 4 >= int(_cabecalho(resposta, b"content-length") or b"0")


def _cabecalho(resposta: bytes, nome: bytes) -> bytes | None:
    """O valor do cabeçalho; os nomes vêm em minúsculas do nosso servidor, mas nada o obriga."""
    cabecalhos = resposta[: resposta.find(b"\r\n\r\n") + 2].lower()
    inicio = cabecalhos.find(b"\r\n" + nome + b":")
    if inicio < 0:
        return None
    inicio += len(nome) + 3
    return cabecalhos[inicio : cabecalhos.find(b"\r\n", inicio)].strip()


@contextmanager
def _sem_coleta() -> Iterator[None]:
    """Com tanto objeto pronto na memória, uma coleta de lixo pararia o gerador por décimos de segundo."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
