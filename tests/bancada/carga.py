"""O gerador HTTP: uma thread, soquetes crus e requisições prontas, para quase não disputar a CPU medida.

Da resposta só se leem o status e o tamanho. Fila cheia (503) e limite (429) fazem todas as conexões
esperarem o `Retry-After` e a requisição volta para a frente da fila: é o que um remetente correto faz.
Com `por_segundo`, cada requisição tem hora marcada e a latência conta dela: uma porta parada não esconde
o atraso dos que esperavam a vez.
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

    def mandar(self, requisicao: int, conteudo: bytes, marcada_s: float | None) -> None:
        self.requisicao = requisicao
        self.recebido = b""
        self.enviada_s = time.perf_counter() if marcada_s is None else marcada_s
        self.soquete.sendall(conteudo)

    def ler(self) -> bytes | None:
        """Devolve a resposta se ela já está inteira; levanta `FalhaDeCarga` se a conexão caiu."""
        pedaco = self.soquete.recv(LEITURA_BYTES)
        if not pedaco:
            raise FalhaDeCarga("o servidor fechou a conexão no meio de uma requisição")
        self.recebido += pedaco
        return self.recebido if _esta_inteira(self.recebido) else None


def _lote_inteiro(resposta: bytes) -> bool:
    """O que se espera de `/evento/ingestao`: 202 sem recusados."""
    return resposta[9:12] == b"202" and b'"recusados":0' in resposta


def disparar(
    porta: int,
    requisicoes: Sequence[bytes],
    *,
    conexoes: int,
    parar: Callable[[], bool] = lambda: False,
    aceita: Callable[[bytes], bool] = _lote_inteiro,
    por_segundo: float | None = None,
) -> Disparo:
    """Manda tudo por `conexoes` conexões, uma requisição por vez em cada; volta quando todas foram aceitas.

    `parar`, perguntado a cada resposta, encerra antes do fim. `aceita` diz se a resposta crua confirma.
    Levanta `FalhaDeCarga` se alguma resposta não confirma, nem é 429 ou 503.
    """
    disparo = Disparo()
    pendentes = deque(range(len(requisicoes)))
    abertas = [_Conexao(porta) for _ in range(min(conexoes, len(requisicoes)))]
    seletor = selectors.DefaultSelector()
    try:
        for conexao in abertas:
            seletor.register(conexao.soquete, selectors.EVENT_READ, conexao)
        with _sem_coleta():
            disparo.comeco_s = time.perf_counter()
            ritmo = _Ritmo(comeco_s=disparo.comeco_s, por_segundo=por_segundo)
            _girar(disparo, seletor, abertas, requisicoes, pendentes, ritmo, parar, aceita)
    finally:
        seletor.close()
        for conexao in abertas:
            conexao.soquete.close()
    return disparo


@dataclass(slots=True, kw_only=True)
class _Ritmo:
    """Quando a próxima requisição pode sair: depois do `Retry-After` e, com `por_segundo`, na hora marcada."""

    comeco_s: float
    por_segundo: float | None
    retomar_s: float = 0.0
    mandadas: int = 0

    @property
    def marcada_s(self) -> float | None:
        return self.comeco_s + self.mandadas / self.por_segundo if self.por_segundo else None

    @property
    def vez_s(self) -> float:
        return max(self.retomar_s, self.marcada_s or 0.0)


def _girar(
    disparo: Disparo,
    seletor: selectors.BaseSelector,
    abertas: Sequence[_Conexao],
    requisicoes: Sequence[bytes],
    pendentes: deque[int],
    ritmo: _Ritmo,
    parar: Callable[[], bool],
    aceita: Callable[[bytes], bool],
) -> None:
    ociosas = list(abertas)
    while True:
        agora = time.perf_counter()
        while ociosas and pendentes and agora >= ritmo.vez_s:
            requisicao = pendentes.popleft()
            ociosas.pop().mandar(requisicao, requisicoes[requisicao], ritmo.marcada_s)
            ritmo.mandadas += 1
        todas_ociosas = len(ociosas) == len(abertas)
        if todas_ociosas and not pendentes:
            break
        if todas_ociosas:  # esperam o Retry-After, ou a hora marcada
            time.sleep(max(0.0, ritmo.vez_s - agora))
            continue
        for conexao in _esperar_prontas(seletor, ritmo.vez_s if ociosas and pendentes else None):
            resposta = conexao.ler()
            if resposta is None:
                continue
            ociosas.append(conexao)
            espera_s = _anotar(disparo, conexao, resposta, aceita)
            if espera_s is not None:
                pendentes.appendleft(conexao.requisicao)
                ritmo.retomar_s = max(ritmo.retomar_s, time.perf_counter() + espera_s)
        if pendentes and parar():
            pendentes.clear()
    disparo.fim_s = time.perf_counter()


def _esperar_prontas(seletor: selectors.BaseSelector, vez_s: float | None) -> list[_Conexao]:
    """As conexões com algo a ler; nenhuma, se antes disso chegou a vez de mandar (`vez_s`).

    Levanta `FalhaDeCarga` se nada há a mandar e ninguém respondeu em `ESPERA_S`.
    """
    prontas = seletor.select(ESPERA_S if vez_s is None else max(0.0, vez_s - time.perf_counter()))
    if not prontas and vez_s is None:
        raise FalhaDeCarga(f"nenhuma resposta em {ESPERA_S} s")
    return [chave.data for chave, _ in prontas]


def _anotar(
    disparo: Disparo, conexao: _Conexao, resposta: bytes, aceita: Callable[[bytes], bool]
) -> float | None:
    """Anota uma resposta; devolve None se foi aceita, ou quantos segundos esperar antes de reenviar."""
    status = int(resposta[9:12])
    if aceita(resposta):
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
