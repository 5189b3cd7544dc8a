"""Threads que rodam código bloqueante para um laço asyncio, com o mínimo entre um e outro.

O `run_in_executor` da biblioteca padrão encadeia dois futuros e passa duas vezes pelo laço; num POST de
0,3 ms de Django, isso era metade do custo da porta.
"""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Pedido = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]


class Trabalhadores:
    """`quantas` threads e uma fila. As threads são daemon: não seguram o fim do processo."""

    def __init__(self, quantas: int, nome: str) -> None:
        self._fila: SimpleQueue[Pedido] = SimpleQueue()
        for numero in range(quantas):
            threading.Thread(target=self._trabalhar, name=f"{nome}-{numero}", daemon=True).start()

    async def rodar(self, funcao: Callable[..., Any], *argumentos: Any, prazo_s: float | None = None) -> Any:
        """Roda numa thread e devolve o resultado, ou levanta o que ela levantar.

        Levanta `TimeoutError` depois de `prazo_s`: se ainda estava na fila, nunca rodará; se já rodava,
        termina sem que ninguém a espere.
        """
        laco = asyncio.get_running_loop()
        resposta: asyncio.Future[Any] = laco.create_future()
        self._fila.put((resposta, funcao, argumentos))
        if prazo_s is None:
            return await resposta
        return await aguardar(resposta, prazo_s)

    def _trabalhar(self) -> None:
        while True:
            resposta, funcao, argumentos = self._fila.get()
            if resposta.done():  # venceu, ou o remetente foi embora, antes de chegar a vez
                continue
            try:
                resultado, erro = funcao(*argumentos), None
            except Exception as levantado:  # noqa: BLE001 - atravessa para quem espera, como veio
                resultado, erro = None, levantado
            try:
                resposta.get_loop().call_soon_threadsafe(_entregar, resposta, resultado, erro)
            except RuntimeError:
                continue  # o laço fechou: o processo está saindo


async def aguardar(resposta: "asyncio.Future[Any]", prazo_s: float) -> Any:
    """O resultado, ou `TimeoutError` depois de `prazo_s`: quem ia atender vê que já não há quem espere."""
    despertador = resposta.get_loop().call_later(prazo_s, _vencer, resposta)
    try:
        return await resposta
    finally:
        despertador.cancel()


def _entregar(resposta: "asyncio.Future[Any]", resultado: Any, erro: Exception | None) -> None:
    if resposta.done():
        return
    if erro is None:
        resposta.set_result(resultado)
    else:
        resposta.set_exception(erro)


def _vencer(resposta: "asyncio.Future[Any]") -> None:
    if not resposta.done():
        resposta.set_exception(TimeoutError())
