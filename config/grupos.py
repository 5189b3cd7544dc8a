"""Atender muitos pedidos de uma vez: enquanto um grupo é gravado, os que chegam formam o seguinte.

Um COMMIT custa o mesmo para um lote ou para trinta. Com uma thread por rota, quem chega durante um COMMIT
espera por ele e segue com os demais: sob carga há menos transações, menos idas ao Valkey e menos trocas de
thread; sem carga, o grupo é de um, e nada espera por companhia (docs/decisoes/0015).
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from config.chegada import Chegada, Pedido
from config.trabalhadores import aguardar

# O que um grupo junta, no máximo: limita a memória de um INSERT e quanto o primeiro espera pelos outros.
PEDIDOS_POR_GRUPO = 64
GRUPO_BYTES = 256 * 1024

Atender = Callable[[Sequence[Pedido]], Sequence[Any]]
_NaFila = tuple["asyncio.Future[Any]", Pedido]


class Grupos:
    """Uma fila e a thread que a atende em grupos. A thread é daemon: não segura o fim do processo."""

    def __init__(self, atender: Atender, nome: str) -> None:
        self._atender = atender
        self._fila: SimpleQueue[_NaFila] = SimpleQueue()
        threading.Thread(target=self._trabalhar, name=f"grupos-{nome}", daemon=True).start()

    async def entregar(self, chegada: Chegada, *, prazo_s: float) -> Any:
        """Devolve a resposta da chegada, ou levanta o que o atendimento levantou.

        Levanta `TimeoutError` depois de `prazo_s`: se ainda estava na fila, nunca será atendida.
        """
        resposta: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._fila.put((resposta, Pedido(chegada, resposta)))
        return await aguardar(resposta, prazo_s)

    def _trabalhar(self) -> None:
        while True:
            grupo = self._juntar()
            if grupo:
                _entregar(grupo, self._rodar([pedido for _, pedido in grupo]))

    def _juntar(self) -> list[_NaFila]:
        """Espera o primeiro e leva os que já esperavam, até o teto; quem desistiu na fila fica de fora."""
        grupo: list[_NaFila] = []
        tamanho_bytes = 0
        item = self._fila.get()
        with suppress(Empty):
            while True:
                if not item[0].done():
                    grupo.append(item)
                    tamanho_bytes += len(item[1].chegada.corpo)
                if len(grupo) >= PEDIDOS_POR_GRUPO or tamanho_bytes >= GRUPO_BYTES:
                    break
                item = self._fila.get_nowait()
        return grupo

    def _rodar(self, pedidos: Sequence[Pedido]) -> Sequence[Any]:
        """As respostas, uma por pedido. Nada que o atendimento faça pode parar esta thread: a rota iria junto."""
        try:
            respostas = list(self._atender(pedidos))
            if len(respostas) == len(pedidos):
                return respostas
            erro: Exception = RuntimeError(f"{len(respostas)} respostas para {len(pedidos)} pedidos")
        except Exception as levantado:  # noqa: BLE001 - atravessa para quem espera, como veio
            erro = levantado
        return [erro] * len(pedidos)


def _entregar(grupo: Sequence[_NaFila], resultados: Sequence[Any]) -> None:
    """Devolve os resultados ao laço numa passada só."""
    por_laco: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for (resposta, _), resultado in zip(grupo, resultados, strict=True):
        por_laco.setdefault(resposta.get_loop(), []).append((resposta, resultado))
    for laco, pares in por_laco.items():
        with suppress(RuntimeError):  # o laço fechou: o processo está saindo
            laco.call_soon_threadsafe(_responder, pares)


def _responder(pares: Sequence[tuple["asyncio.Future[Any]", Any]]) -> None:
    for resposta, resultado in pares:
        if resposta.done():
            continue
        if isinstance(resultado, Exception):
            resposta.set_exception(resultado)
        else:
            resposta.set_result(resultado)
