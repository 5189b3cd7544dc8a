"""A espera por pedidos (long poll): centenas de aparelhos à espera, nenhuma thread presa.

Quem espera é uma corrotina na sala do processo, e uma consulta por segundo pergunta por todos de uma vez. O
pedido pode ter sido aberto em qualquer processo ou máquina: quem conta é o banco.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

import orjson
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from config.banco.falhas import e_do_banco
from config.erros import ErroDaApi, sem_armazenamento
from ingestao.capturas import gravacao
from ingestao.capturas.atendimento import Resposta, atender, responder_falha
from ingestao.capturas.campos import escrever_instante
from ingestao.capturas.recepcao import descrever_pedido

ESPERA_MAXIMA_S = 25.0  # protocolo das capturas: abaixo dos 30 s em que redes móveis esquecem uma conexão
INTERVALO_S = 1.0  # quanto um pedido recém-aberto pode esperar para ser notado
EM_ESPERA_MAXIMO = 1_000  # por processo; cada um custa alguns KB e nenhuma thread
VOLTE_EM_S = 20  # a quem não coube na sala
PEDIDOS_POR_CONSULTA = 2_000
ESPERA_SEM_PORTA_S = 1.0
PASSO_SEM_PORTA_S = 0.2

registro = logging.getLogger("lastro.capturas")

Rodar = Callable[..., Awaitable[Any]]  # roda uma função bloqueante numa thread da porta
Pedidos = list[dict[str, Any]]


class Sala:
    """Os aparelhos à espera neste processo. Tudo aqui roda no laço da porta, sem travas."""

    def __init__(self, maximo: int = EM_ESPERA_MAXIMO) -> None:
        self._maximo = maximo
        self._esperas: dict[UUID, dict[asyncio.Future[Pedidos], None]] = defaultdict(dict)
        self._quantas = 0
        self._vigia: asyncio.Task[None] | None = None
        self._sem_banco = False

    async def aguardar(self, dispositivo_id: UUID, prazo_s: float, rodar: Rodar) -> Pedidos:
        """Os pedidos do aparelho assim que houver, ou nada no fim do prazo.

        Com a sala cheia, quem tem mais de uma espera cede a mais antiga: um aparelho só não deixa os outros de
        fora. Levanta `ErroDaApi` 503: sala cheia de aparelhos diferentes, ou no fim do prazo o banco não respondia
        (não se sabe se havia pedidos).
        """
        if self._quantas >= self._maximo and not self._ceder_um_lugar():
            raise ErroDaApi(
                503,
                "espera_cheia",
                "Muitos aparelhos à espera; pergunte de novo depois.",
                espera_s=VOLTE_EM_S,
            )
        espera: asyncio.Future[Pedidos] = asyncio.get_running_loop().create_future()
        self._esperas[dispositivo_id][espera] = None
        self._quantas += 1
        try:
            if self._vigia is None or self._vigia.done():
                self._vigia = asyncio.create_task(self._vigiar(rodar))
            async with asyncio.timeout(prazo_s):
                return await espera
        except TimeoutError:
            if self._sem_banco:
                raise sem_armazenamento() from None
            return []
        finally:
            self._quantas -= 1
            self._esperas[dispositivo_id].pop(espera, None)
            if not self._esperas[dispositivo_id]:
                del self._esperas[dispositivo_id]

    def _ceder_um_lugar(self) -> bool:
        """Encerra, vazia, a espera mais antiga do aparelho que mais espera; False se ninguém tem mais de uma."""
        abertas = ([e for e in esperas if not e.done()] for esperas in self._esperas.values())
        repetidas = max(abertas, key=len, default=[])
        if len(repetidas) < 2:
            return False
        repetidas[0].set_result([])
        return True

    async def _vigiar(self, rodar: Rodar) -> None:
        while self._esperas:
            await asyncio.sleep(INTERVALO_S)
            try:
                achados = await rodar(_listar, list(self._esperas))
            except TimeoutError:
                achados = None
            self._sem_banco = not isinstance(achados, dict)
            for dispositivo_id, pedidos in achados.items() if isinstance(achados, dict) else ():
                for espera in self._esperas.get(dispositivo_id, ()):
                    if not espera.done():
                        espera.set_result(pedidos)


sala = Sala()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chegada:
    """Quem perguntou, quanto quer esperar e o que já havia."""

    dispositivo_id: UUID
    espera_s: float
    pedidos: Pedidos


async def esperar(cabecalhos: Mapping[str, Any], consulta: bytes, rodar: Rodar) -> Any:
    """`GET /captura/pedidos?espera_s=`, na porta: responde logo se há pedidos, senão espera na sala.

    Devolve algo com `status`, `corpo` e `espera_s`.
    """
    try:
        chegada = await rodar(_chegar, cabecalhos, consulta.decode("latin-1"))
    except TimeoutError:
        return responder_falha(
            ErroDaApi(503, "armazenamento_lento", "O armazenamento não respondeu a tempo.", espera_s=5)
        )
    if not isinstance(chegada, Chegada):
        return chegada
    pedidos = chegada.pedidos
    try:
        if not pedidos and chegada.espera_s > 0:
            pedidos = await sala.aguardar(chegada.dispositivo_id, chegada.espera_s, rodar)
    except ErroDaApi as erro:
        return responder_falha(erro)
    return _responder(pedidos)


def esperar_pouco(cabecalhos: Mapping[str, Any], consulta: str) -> Resposta:
    """O mesmo, para quem serve por WSGI: ocupa uma thread, e por isso espera no máximo um segundo."""
    chegada = _chegar(cabecalhos, consulta)
    if isinstance(chegada, Resposta):
        return chegada
    pedidos = chegada.pedidos
    limite_s = time.monotonic() + min(chegada.espera_s, ESPERA_SEM_PORTA_S)
    while not pedidos and time.monotonic() < limite_s:
        time.sleep(PASSO_SEM_PORTA_S)
        pedidos = (_listar([chegada.dispositivo_id]) or {}).get(chegada.dispositivo_id, [])
    return _responder(pedidos)


def _chegar(cabecalhos: Mapping[str, Any], consulta: str) -> Chegada | Resposta:
    """Autentica, anota o contato e olha se já há pedidos; um erro já vem como resposta."""
    try:
        chegada: Chegada = atender(cabecalhos, lambda id_, agora: _ver(id_, agora, consulta))
        return chegada
    except (ErroDaApi, OperationalError, InterfaceError) as erro:
        return responder_falha(erro)


def _ver(dispositivo_id: UUID, agora: datetime, consulta: str) -> Chegada:
    espera_s = _ler_espera(consulta)
    gravacao.anotar_contato(dispositivo_id, agora)
    linhas = gravacao.listar_pedidos([dispositivo_id], agora, gravacao.PEDIDOS_POR_RESPOSTA)
    return Chegada(
        dispositivo_id=dispositivo_id,
        espera_s=espera_s,
        pedidos=[descrever_pedido(linha) for linha in linhas],
    )


def _ler_espera(consulta: str) -> float:
    """De 0 a `ESPERA_MAXIMA_S`; mais que isso espera o máximo. Levanta `ErroDaApi` 400."""
    (cru,) = parse_qs(consulta).get("espera_s", ["0"])[-1:]
    try:
        espera_s = float(cru)
        if not espera_s >= 0:  # pega também NaN
            raise ValueError(cru)
    except ValueError as erro:
        raise ErroDaApi(400, "campo_invalido", "`espera_s` é um número de 0 a 25.") from erro
    return min(espera_s, ESPERA_MAXIMA_S)


def _listar(dispositivos: list[UUID]) -> dict[UUID, Pedidos] | None:
    """Os pedidos abertos de cada um que tem algum; None com o banco fora do ar."""
    try:
        linhas = gravacao.listar_pedidos(dispositivos, timezone.now(), PEDIDOS_POR_CONSULTA)
    except (OperationalError, InterfaceError) as erro:
        if not e_do_banco(erro):
            raise
        registro.error("banco indisponivel", extra={"erro": str(erro).partition("\n")[0]})
        return None
    achados: dict[UUID, Pedidos] = defaultdict(list)
    for linha in linhas:
        if len(achados[linha[-1]]) < gravacao.PEDIDOS_POR_RESPOSTA:
            achados[linha[-1]].append(descrever_pedido(linha))
    return achados


def _responder(pedidos: Pedidos) -> Resposta:
    corpo = {"pedidos": pedidos, "hora_servidor": escrever_instante(timezone.now())}
    return Resposta(status=200, corpo=orjson.dumps(corpo))
