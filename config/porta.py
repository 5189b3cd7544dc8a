"""A porta: um ASGI fino que espera o corpo inteiro antes de ocupar uma thread do Django.

Por quê: servidores WSGI entregam a requisição antes de o corpo chegar, e duzentos remetentes a um
byte por segundo ocupam todas as threads (medido: a porta para por completo). Aqui um remetente
lento custa uma corrotina, e o Django, que continua WSGI e síncrono, só vê corpos completos.
O handler ASGI do próprio Django, com views síncronas, mediu quatro vezes mais lento.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import orjson

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.cache import close_caches
from django.core.signals import request_finished
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils.module_loading import import_string

from config import ambiente
from config.recebimento import DAS_CAPTURAS, GERAL, Corpo, CorpoNaoVeio, Receber
from config.trabalhadores import Trabalhadores
from config.traducao import Ambiente, Escopo, ler_cabecalhos, montar_ambiente

Enviar = Callable[[dict[str, Any]], Awaitable[None]]

TETO_PADRAO_BYTES = 16 * 1024 * 1024
# A rota lê um byte além do seu teto e responde 413 ela mesma, com o código e o CORS dela.
TETOS_BYTES = {"/evento/ingestao": 1024 * 1024}
TETOS_POR_PREFIXO_BYTES = {"/captura/quadros/": 4 * 1024 * 1024}  # um pedaço de quadro
GRANDES_POR_VEZ = 2  # quem espera a vez é uma corrotina; os pequenos passam ao lado
ESPERA_MAXIMA = 1024  # requisições completas esperando thread; acima, 503 na hora
# Um PostgreSQL congelado não derruba a conexão: sem prazo, a resposta nunca viria. As transportadoras
# desistem entre 2 e 30 s. Só nas rotas de recebimento: uma tela do painel pode demorar.
PRAZO_DA_RESPOSTA_S = 3.0
ROTAS_COM_PRAZO = ("/evento/", "/dlr/", "/captura/", "/prontidao")
ROTAS_COM_CORS = frozenset({"/evento/ingestao"})  # a única que páginas de outras origens chamam

# O CORS é aberto: quem autoriza um site é a conferência da origem, na rota.
CABECALHOS_SIMPLES = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
CABECALHOS_COM_CORS = [
    *CABECALHOS_SIMPLES,
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After"),
]
VIVA = b'{"situacao": "viva"}'

registro = logging.getLogger("lastro.porta")
_django = get_wsgi_application()
_DIRETAS = {rota: import_string(caminho) for rota, caminho in settings.ROTAS_DIRETAS.items()}
_ESPERAS = {rota: import_string(caminho) for rota, caminho in settings.ROTAS_DE_ESPERA.items()}
_CONTADORES = {prefixo: import_string(nome) for prefixo, nome in settings.CONTADORES_DE_RECUSA.items()}
# Nenhum cache do Django é usado; procurá-los para fechar a cada resposta era 5 % do tempo de um POST.
request_finished.disconnect(close_caches)
# O que já está carregado não vira lixo: fora da coleta, e esta menos frequente (era 5 % do tempo de um POST).
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 50)
_threads = Trabalhadores(ambiente.THREADS, "django")
_vez_dos_grandes = asyncio.Semaphore(GRANDES_POR_VEZ)
_em_curso = 0


async def porta(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Aplicação ASGI: junta o corpo (até o teto da rota), roda o Django numa thread e responde."""
    global _em_curso
    if escopo["type"] == "lifespan":
        return await _ciclo_de_vida(receber, enviar)
    if escopo["type"] != "http":
        return None
    async with _abrir_corpo(escopo["path"]) as corpo:
        try:
            await corpo.juntar(receber)
        except CorpoNaoVeio as erro:
            await _contar_recusa(escopo["path"], erro)
            return await _recusar(escopo, enviar, erro.status, erro.codigo, erro.detalhe)
        if escopo["method"] == "GET" and escopo["path"] in _ESPERAS:
            return await _esperar(escopo, receber, enviar)
        if _em_curso >= ESPERA_MAXIMA:
            detalhe = "Muitas requisições em espera; reenvie em instantes."
            return await _recusar(escopo, enviar, 503, "porta_cheia", detalhe)
        _em_curso += 1
        try:
            if corpo.grande:
                await _encaminhar_na_vez(escopo, corpo, enviar)
            else:
                await _encaminhar(escopo, corpo.inteiro(), enviar)
        finally:
            _em_curso -= 1
    return None


def _abrir_corpo(caminho: str) -> Corpo:
    """O corpo com o teto da rota e o orçamento de memória dela."""
    teto = TETOS_BYTES.get(caminho)
    if teto is None:
        por_prefixo = (t for prefixo, t in TETOS_POR_PREFIXO_BYTES.items() if caminho.startswith(prefixo))
        teto = next(por_prefixo, TETO_PADRAO_BYTES)
    return Corpo(teto, DAS_CAPTURAS if caminho.startswith("/captura/") else GERAL)


async def _esperar(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Uma rota que espera por notícia sem ocupar thread; quem desliga antes sai da espera na hora."""
    resposta = asyncio.ensure_future(
        _ESPERAS[escopo["path"]](ler_cabecalhos(escopo), escopo["query_string"], _rodar_com_prazo)
    )
    partida = asyncio.ensure_future(_aguardar_partida(receber))
    try:
        await asyncio.wait({resposta, partida}, return_when=asyncio.FIRST_COMPLETED)
        if resposta.done():
            pronta = resposta.result()
            await _responder(enviar, pronta.status, _cabecalhos(escopo, pronta), pronta.corpo)
    finally:
        resposta.cancel()
        partida.cancel()


async def _aguardar_partida(receber: Receber) -> None:
    while (await receber())["type"] != "http.disconnect":
        pass


async def _rodar_com_prazo(funcao: Callable[..., Any], *argumentos: Any) -> Any:
    """Para as rotas de espera: uma função bloqueante numa thread. Levanta `TimeoutError`."""
    return await _threads.rodar(_rodar_direta, funcao, *argumentos, prazo_s=PRAZO_DA_RESPOSTA_S)


async def _encaminhar_na_vez(escopo: Escopo, corpo: Corpo, enviar: Enviar) -> None:
    try:
        async with asyncio.timeout(PRAZO_DA_RESPOSTA_S):
            await _vez_dos_grandes.acquire()
    except TimeoutError:
        detalhe = "Muitos corpos grandes ao mesmo tempo; reenvie em instantes."
        return await _recusar(escopo, enviar, 503, "porta_cheia", detalhe)
    try:
        return await _encaminhar(escopo, corpo.inteiro(), enviar)
    finally:
        _vez_dos_grandes.release()


async def _contar_recusa(caminho: str, erro: CorpoNaoVeio) -> None:
    """Um corpo que não veio também é contado, nas rotas de recebimento; um 503 não: nada se conta nele."""
    contar = next((c for prefixo, c in _CONTADORES.items() if caminho.startswith(prefixo)), None)
    if contar is None or erro.status == 503:
        return
    with suppress(TimeoutError):
        await _threads.rodar(
            _rodar_direta, contar, erro.status, erro.codigo, erro.detalhe, prazo_s=PRAZO_DA_RESPOSTA_S
        )


async def _encaminhar(escopo: Escopo, corpo: bytes, enviar: Enviar) -> None:
    if escopo["path"] == "/saude":  # sem thread: com o banco congelado, o processo continua vivo
        return await _responder(enviar, 200, CABECALHOS_SIMPLES, VIVA)
    direta = _DIRETAS.get(escopo["path"]) if escopo["method"] == "POST" else None
    if direta is None:
        return await _atender(escopo, corpo, enviar)
    try:
        resposta = await _threads.rodar(
            _rodar_direta, direta, corpo, ler_cabecalhos(escopo), prazo_s=PRAZO_DA_RESPOSTA_S
        )
    except TimeoutError:
        return await _recusar_por_lentidao(escopo, enviar)
    return await _responder(enviar, resposta.status, _cabecalhos(escopo, resposta), resposta.corpo)


def _rodar_direta(direta: Callable[..., Any], *argumentos: Any) -> Any:
    """O que o Django faria em volta de uma view: conexão conferida antes, defeito nosso registrado depois."""
    close_old_connections()
    try:
        return direta(*argumentos)
    except Exception:  # noqa: BLE001 - registrado por inteiro; sem isto o servidor mandaria um 500 mudo
        registro.exception("defeito numa rota direta")
        return _Defeito


class _Defeito:
    """500: um defeito nosso. O registro tem o traço; a resposta, não."""

    status = 500
    corpo = b'{"detail":"Erro interno; nada foi confirmado. Reenvie em instantes.","codigo":"erro_interno"}'
    espera_s = 5


def _cabecalhos(escopo: Escopo, resposta: Any) -> list[tuple[bytes, bytes]]:
    fixos = CABECALHOS_COM_CORS if escopo["path"] in ROTAS_COM_CORS else CABECALHOS_SIMPLES
    if resposta.espera_s is None:
        return fixos
    return [*fixos, (b"retry-after", str(resposta.espera_s).encode())]


async def _atender(escopo: Escopo, corpo: bytes, enviar: Enviar) -> None:
    """Roda o Django numa thread e manda a resposta, pedaço por pedaço quando ela é longa."""
    ambiente_wsgi = montar_ambiente(escopo, corpo)
    com_prazo = escopo["path"].startswith(ROTAS_COM_PRAZO)
    try:
        situacao, cabecalhos, pedacos = await _threads.rodar(
            _rodar_django, ambiente_wsgi, prazo_s=PRAZO_DA_RESPOSTA_S if com_prazo else None
        )
    except TimeoutError:
        return await _recusar_por_lentidao(escopo, enviar)
    await enviar({"type": "http.response.start", "status": situacao, "headers": cabecalhos})
    if isinstance(pedacos, bytes):
        return await enviar({"type": "http.response.body", "body": pedacos})
    iterador = iter(pedacos)
    try:
        while (pedaco := await _threads.rodar(_proximo, iterador)) is not None:
            await enviar({"type": "http.response.body", "body": pedaco, "more_body": True})
        await enviar({"type": "http.response.body", "body": b""})
    finally:
        fechar = getattr(pedacos, "close", None)
        if fechar is not None:
            await _threads.rodar(fechar)
    return None


def _rodar_django(ambiente_wsgi: Ambiente) -> tuple[int, list[tuple[bytes, bytes]], bytes | Iterable[bytes]]:
    """Chama o Django; devolve status, cabeçalhos e o corpo (bytes se curto, iterável se transmitido)."""
    comeco: list[Any] = []

    def iniciar(
        linha: str, cabecalhos: list[tuple[str, str]], exc_info: Any = None, /
    ) -> Callable[[bytes], object]:
        comeco[:] = [
            int(linha[:3]),
            [(nome.lower().encode("latin-1"), valor.encode("latin-1")) for nome, valor in cabecalhos],
        ]
        return _nunca_escreve

    resposta = _django(ambiente_wsgi, iniciar)
    if getattr(resposta, "streaming", False) or not hasattr(resposta, "content"):
        return comeco[0], comeco[1], resposta
    corpo = resposta.content
    resposta.close()
    return comeco[0], comeco[1], corpo


def _nunca_escreve(pedaco: bytes) -> object:
    """O `write` da PEP 3333, que o Django não usa."""
    raise NotImplementedError("a resposta vem pelo iterável")


def _proximo(iterador: Iterator[bytes]) -> bytes | None:
    return next(iterador, None)


async def _recusar_por_lentidao(escopo: Escopo, enviar: Enviar) -> None:
    # Se ainda esperava thread, nunca rodará; se já rodava, pode ou não gravar: reenviar é seguro.
    detalhe = "O armazenamento não respondeu a tempo; reenvie o mesmo pedido."
    await _recusar(escopo, enviar, 503, "armazenamento_lento", detalhe)


async def _recusar(escopo: Escopo, enviar: Enviar, situacao: int, codigo: str, detalhe: str) -> None:
    """Recusa sem passar por rota nenhuma; na dos sites leva o CORS, para que a página possa ler o motivo."""
    fixos = CABECALHOS_COM_CORS if escopo["path"] in ROTAS_COM_CORS else CABECALHOS_SIMPLES
    corpo = orjson.dumps({"detail": detalhe, "codigo": codigo})
    await _responder(enviar, situacao, [*fixos, (b"retry-after", b"5")], corpo)


async def _responder(
    enviar: Enviar, situacao: int, cabecalhos: list[tuple[bytes, bytes]], corpo: bytes
) -> None:
    await enviar({"type": "http.response.start", "status": situacao, "headers": cabecalhos})
    await enviar({"type": "http.response.body", "body": corpo})


async def _ciclo_de_vida(receber: Receber, enviar: Enviar) -> None:
    while True:
        mensagem = await receber()
        await enviar({"type": f"{mensagem['type']}.complete"})
        if mensagem["type"] == "lifespan.shutdown":
            return
