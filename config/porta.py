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
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings
from django.core.cache import close_caches
from django.core.signals import request_finished
from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

from config import ambiente, rotas_diretas
from config.chegada import DEFEITO, Chegada, Pedido, Resposta, responder_erro
from config.contagem import contando
from config.recebimento import DAS_CAPTURAS, GERAL, Corpo, CorpoNaoVeio, Receber
from config.rotas_diretas import RotaDireta, proteger
from config.trabalhadores import Trabalhadores
from config.traducao_wsgi import Ambiente, Escopo, juntar_cabecalhos, montar_ambiente, para_wsgi

registro = logging.getLogger("lastro.porta")

Enviar = Callable[[dict[str, Any]], Awaitable[None]]

# Uma rota direta tem o seu teto: lê um byte além dele e responde 413 ela mesma, com o código e o CORS dela.
TETO_PADRAO_BYTES = 16 * 1024 * 1024
TETOS_POR_PREFIXO_BYTES = {"/captura/quadros/": 4 * 1024 * 1024}  # um pedaço de quadro
GRANDES_POR_VEZ = 2  # quem espera a vez é uma corrotina; os pequenos passam ao lado
ESPERA_MAXIMA = 1024  # requisições completas esperando thread; acima, 503 na hora
# Um PostgreSQL congelado não derruba a conexão: sem prazo, a resposta nunca viria. As transportadoras
# desistem entre 2 e 30 s. Só nas rotas de recebimento: uma tela do painel pode demorar.
PRAZO_DA_RESPOSTA_S = 3.0
ROTAS_COM_PRAZO = ("/evento/", "/dlr/", "/captura/", "/prontidao")

SEM_CORS = [(b"x-content-type-options", b"nosniff")]
# O CORS é aberto: quem autoriza um site é a conferência da origem, na rota.
COM_CORS = [
    *SEM_CORS,
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After"),
]
VIVA = Resposta(status=200, corpo=b'{"situacao": "viva"}')
# Se ainda esperava a vez, nunca será atendida; se já estava sendo gravada, pode ou não ficar: reenviar é seguro.
LENTIDAO = responder_erro(
    503, "armazenamento_lento", "O armazenamento não respondeu a tempo; reenvie o mesmo pedido.", espera_s=5
)

_django = get_wsgi_application()
_DIRETAS = rotas_diretas.montar(settings.ROTAS_DIRETAS)
_ESPERAS = {rota: import_string(caminho) for rota, caminho in settings.ROTAS_DE_ESPERA.items()}
_CONTADORES = {p: proteger(import_string(nome)) for p, nome in settings.CONTADORES_DE_RECUSA.items()}
# Nenhum cache do Django é usado; procurá-los para fechar a cada resposta era 5 % do tempo de um POST.
request_finished.disconnect(close_caches)
# O que já está carregado não vira lixo: fora da coleta, e esta menos frequente (era 5 % do tempo de um POST).
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 50)
_threads = Trabalhadores(ambiente.THREADS, "django")
_vez_dos_grandes = asyncio.Semaphore(GRANDES_POR_VEZ)
_em_curso = 0


class PortaCheia(Exception):
    """Não há lugar para mais esta; a frase diz do quê. Nada foi guardado nem contado."""


async def porta(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Aplicação ASGI: junta o corpo (até o teto da rota), entrega ao grupo ou ao Django e responde."""
    if escopo["type"] == "lifespan":
        return await _ciclo_de_vida(receber, enviar)
    if escopo["type"] != "http":
        return None
    rota, partes = _achar_rota(escopo["path"])
    cors = rota is not None and rota.cors
    enviar = contando(escopo["path"], enviar)
    async with _abrir_corpo(escopo["path"], rota) as corpo:
        try:
            await corpo.juntar(receber)
            if escopo["method"] == "GET" and escopo["path"] in _ESPERAS:
                return await _esperar(escopo, receber, enviar)
            with _na_espera():
                if rota is not None and escopo["method"] in rota.metodos:
                    await _atender_direto(rota, partes, escopo, corpo, enviar)
                else:
                    await _encaminhar(escopo, corpo, enviar)
        except CorpoNaoVeio as erro:
            await _contar_recusa(escopo["path"], rota, erro)
            recusa = responder_erro(erro.status, erro.codigo, erro.detalhe, espera_s=5)
            return await _responder(enviar, recusa, cors=cors)
        except PortaCheia as cheia:
            recusa = responder_erro(503, "porta_cheia", str(cheia), espera_s=5)
            return await _responder(enviar, recusa, cors=cors)
    return None


def _abrir_corpo(caminho: str, rota: RotaDireta | None) -> Corpo:
    """O corpo com o teto da rota e o orçamento de memória dela."""
    if rota is not None:
        teto_bytes = rota.teto_bytes
    else:
        por_prefixo = (t for prefixo, t in TETOS_POR_PREFIXO_BYTES.items() if caminho.startswith(prefixo))
        teto_bytes = next(por_prefixo, TETO_PADRAO_BYTES)
    return Corpo(teto_bytes, DAS_CAPTURAS if caminho.startswith("/captura/") else GERAL)


async def _esperar(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Uma rota que espera por notícia sem ocupar thread; quem desliga antes sai da espera na hora."""
    cabecalhos = para_wsgi(juntar_cabecalhos(escopo))
    resposta = asyncio.ensure_future(
        _ESPERAS[escopo["path"]](cabecalhos, escopo["query_string"], _rodar_com_prazo)
    )
    partida = asyncio.ensure_future(_aguardar_partida(receber))
    try:
        await asyncio.wait({resposta, partida}, return_when=asyncio.FIRST_COMPLETED)
        if resposta.done():
            await _responder(enviar, resposta.result())
    finally:
        resposta.cancel()
        partida.cancel()


async def _aguardar_partida(receber: Receber) -> None:
    while (await receber())["type"] != "http.disconnect":
        pass


async def _rodar_com_prazo(funcao: Callable[..., Any], *argumentos: Any) -> Any:
    """Para as rotas de espera: uma função bloqueante numa thread. Levanta `TimeoutError`."""
    resultado = await _threads.rodar(proteger(funcao), *argumentos, prazo_s=PRAZO_DA_RESPOSTA_S)
    return DEFEITO if resultado is None else resultado


@contextmanager
def _na_espera() -> Iterator[None]:
    """Um lugar entre as requisições completas à espera. Levanta `PortaCheia` se não há."""
    global _em_curso
    if _em_curso >= ESPERA_MAXIMA:
        raise PortaCheia("Muitas requisições em espera; reenvie em instantes.")
    _em_curso += 1
    try:
        yield
    finally:
        _em_curso -= 1


def _achar_rota(caminho: str) -> tuple[RotaDireta | None, dict[str, str | None]]:
    """A rota direta do caminho e as partes que ela nomeia, ou None."""
    for rota in _DIRETAS:
        achado = rota.caminho.fullmatch(caminho)
        if achado is not None:
            return rota, achado.groupdict()
    return None, {}


async def _atender_direto(
    rota: RotaDireta, partes: dict[str, str | None], escopo: Escopo, corpo: Corpo, enviar: Enviar
) -> None:
    """Entrega ao grupo da rota; um corpo grande vai sozinho e na vez dele, para não atrasar os outros."""
    servidor, cliente = escopo.get("server") or ("localhost", 80), escopo.get("client") or ("", 0)
    chegada = Chegada(
        metodo=escopo["method"],
        caminho=escopo["path"],
        consulta=escopo["query_string"],
        cabecalhos=juntar_cabecalhos(escopo),
        corpo=corpo.inteiro(),
        ip=cliente[0],
        servidor=servidor[0],
        esquema=escopo.get("scheme", "http"),
        partes=partes,
    )
    try:
        if corpo.grande:
            async with _na_vez():
                resposta = await _atender_sozinha(rota, chegada)
        elif rota.grupos is None:
            resposta = await _atender_sozinha(rota, chegada)
        else:
            resposta = await rota.grupos.entregar(chegada, prazo_s=PRAZO_DA_RESPOSTA_S)
    except TimeoutError:
        return await _responder(enviar, LENTIDAO, cors=rota.cors)
    return await _responder(enviar, resposta, cors=rota.cors)


async def _atender_sozinha(rota: RotaDireta, chegada: Chegada) -> Resposta:
    (resposta,) = await _threads.rodar(rota.atender, [Pedido(chegada)], prazo_s=PRAZO_DA_RESPOSTA_S)
    return resposta  # type: ignore[no-any-return]


async def _encaminhar(escopo: Escopo, corpo: Corpo, enviar: Enviar) -> None:
    if escopo["path"] == "/saude":  # sem thread: com o banco congelado, o processo continua vivo
        return await _responder(enviar, VIVA)
    if not corpo.grande:
        return await _atender(escopo, corpo.inteiro(), enviar)
    async with _na_vez():
        return await _atender(escopo, corpo.inteiro(), enviar)


@asynccontextmanager
async def _na_vez() -> AsyncIterator[None]:
    """A vez de um corpo grande. Levanta `PortaCheia` se ela não chega no prazo."""
    try:
        async with asyncio.timeout(PRAZO_DA_RESPOSTA_S):
            await _vez_dos_grandes.acquire()
    except TimeoutError:
        raise PortaCheia("Muitos corpos grandes ao mesmo tempo; reenvie em instantes.") from None
    try:
        yield
    finally:
        _vez_dos_grandes.release()


async def _contar_recusa(caminho: str, rota: RotaDireta | None, erro: CorpoNaoVeio) -> None:
    """Um corpo que não veio também é contado, nas rotas de recebimento; um 503 não: nada se conta nele."""
    if rota is not None:
        contar: Callable[..., Any] | None = rota.contar_recusa
    else:
        contar = next((c for prefixo, c in _CONTADORES.items() if caminho.startswith(prefixo)), None)
    if contar is None or erro.status == 503:
        return
    with suppress(TimeoutError):
        await _threads.rodar(contar, erro.status, erro.codigo, erro.detalhe, prazo_s=PRAZO_DA_RESPOSTA_S)


async def _atender(escopo: Escopo, corpo: bytes, enviar: Enviar) -> None:
    """Roda o Django numa thread e manda a resposta, pedaço por pedaço quando ela é longa."""
    ambiente_wsgi = montar_ambiente(escopo, corpo)
    com_prazo = escopo["path"].startswith(ROTAS_COM_PRAZO)
    try:
        situacao, cabecalhos, pedacos = await _threads.rodar(
            _rodar_django, ambiente_wsgi, prazo_s=PRAZO_DA_RESPOSTA_S if com_prazo else None
        )
    except TimeoutError:
        return await _responder(enviar, LENTIDAO)
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

    try:
        resposta = _django(ambiente_wsgi, iniciar)
    except Exception:  # noqa: BLE001 - o Django trata os das views; um dele mesmo sairia como um 500 mudo
        registro.exception("defeito antes da view")
        return DEFEITO.status, [(b"content-type", DEFEITO.tipo.encode()), *SEM_CORS], DEFEITO.corpo
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


async def _responder(enviar: Enviar, resposta: Resposta, *, cors: bool = False) -> None:
    cabecalhos = [(b"content-type", resposta.tipo.encode("latin-1")), *(COM_CORS if cors else SEM_CORS)]
    if resposta.espera_s is not None:
        cabecalhos.append((b"retry-after", str(resposta.espera_s).encode()))
    await enviar({"type": "http.response.start", "status": resposta.status, "headers": cabecalhos})
    await enviar({"type": "http.response.body", "body": resposta.corpo})


async def _ciclo_de_vida(receber: Receber, enviar: Enviar) -> None:
    while True:
        mensagem = await receber()
        await enviar({"type": f"{mensagem['type']}.complete"})
        if mensagem["type"] == "lifespan.shutdown":
            return
