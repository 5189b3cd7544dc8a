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
from io import BytesIO
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
from config.recebimento import Corpo, CorpoNaoVeio, Receber
from config.trabalhadores import Trabalhadores

Escopo = dict[str, Any]
Enviar = Callable[[dict[str, Any]], Awaitable[None]]
Ambiente = dict[str, Any]

TETO_PADRAO_BYTES = 16 * 1024 * 1024
# A rota lê um byte além do seu teto e responde 413 ela mesma, com o código e o CORS dela.
TETOS_BYTES = {"/evento/ingestao": 1024 * 1024}
GRANDES_POR_VEZ = 2  # quem espera a vez é uma corrotina; os pequenos passam ao lado
ESPERA_MAXIMA = 1024  # requisições completas esperando thread; acima, 503 na hora
# Um PostgreSQL congelado não derruba a conexão: sem prazo, a resposta nunca viria. As transportadoras
# desistem entre 2 e 30 s. Só nas rotas de recebimento: uma tela do painel pode demorar.
PRAZO_DA_RESPOSTA_S = 3.0
ROTAS_COM_PRAZO = ("/evento/", "/dlr/", "/prontidao")

# O CORS é aberto: quem autoriza um site é a conferência da origem, na rota.
CABECALHOS_SIMPLES = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
CABECALHOS_FIXOS = [
    *CABECALHOS_SIMPLES,
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"Retry-After"),
]
VIVA = b'{"situacao": "viva"}'

registro = logging.getLogger("lastro.porta")
_django = get_wsgi_application()
_DIRETAS = {rota: import_string(caminho) for rota, caminho in settings.ROTAS_DIRETAS.items()}
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
    async with Corpo(TETOS_BYTES.get(escopo["path"], TETO_PADRAO_BYTES)) as corpo:
        try:
            await corpo.juntar(receber)
        except CorpoNaoVeio as erro:
            await _contar_recusa(escopo["path"], erro)
            return await _recusar(escopo, enviar, erro.status, erro.codigo, erro.detalhe)
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
            _rodar_direta, direta, corpo, _cabecalhos_wsgi(escopo), prazo_s=PRAZO_DA_RESPOSTA_S
        )
    except TimeoutError:
        return await _recusar_por_lentidao(escopo, enviar)
    return await _responder(enviar, resposta.status, _cabecalhos(resposta), resposta.corpo)


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


def _cabecalhos(resposta: Any) -> list[tuple[bytes, bytes]]:
    if resposta.espera_s is None:
        return CABECALHOS_FIXOS
    return [*CABECALHOS_FIXOS, (b"retry-after", str(resposta.espera_s).encode())]


def _ambiente_wsgi(escopo: Escopo, corpo: bytes) -> Ambiente:
    """Traduz o escopo ASGI para o dicionário WSGI (PEP 3333) que o Django espera."""
    servidor = escopo.get("server") or ("localhost", 80)
    cliente = escopo.get("client") or ("", 0)
    ambiente_wsgi: Ambiente = {
        "REQUEST_METHOD": escopo["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": escopo["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": escopo["query_string"].decode("latin-1"),
        "SERVER_NAME": servidor[0],
        "SERVER_PORT": str(servidor[1] or ""),
        "SERVER_PROTOCOL": f"HTTP/{escopo.get('http_version', '1.1')}",
        "REMOTE_ADDR": cliente[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": escopo.get("scheme", "http"),
        "wsgi.input": BytesIO(corpo),
        "wsgi.errors": _ErrosNoRegistro(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    ambiente_wsgi.update(_cabecalhos_wsgi(escopo))
    ambiente_wsgi["CONTENT_LENGTH"] = str(len(corpo))
    return ambiente_wsgi


def _cabecalhos_wsgi(escopo: Escopo) -> Ambiente:
    """Os cabeçalhos na forma da PEP 3333; repetidos são juntados como a RFC 9110 manda."""
    lidos: Ambiente = {}
    for nome_cru, valor_cru in escopo["headers"]:
        nome, valor = nome_cru.decode("latin-1"), valor_cru.decode("latin-1")
        if nome == "content-type":
            chave = "CONTENT_TYPE"
        elif nome == "content-length" or "_" in nome:
            continue  # o tamanho é o do corpo recebido; "_" permitiria forjar um cabeçalho com "-"
        else:
            chave = f"HTTP_{nome.upper().replace('-', '_')}"
        anterior = lidos.get(chave)
        juncao = "; " if chave == "HTTP_COOKIE" else ","
        lidos[chave] = valor if anterior is None else f"{anterior}{juncao}{valor}"
    return lidos


async def _atender(escopo: Escopo, corpo: bytes, enviar: Enviar) -> None:
    """Roda o Django numa thread e manda a resposta, pedaço por pedaço quando ela é longa."""
    ambiente_wsgi = _ambiente_wsgi(escopo, corpo)
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
    fixos = CABECALHOS_FIXOS if escopo["path"] in _DIRETAS else CABECALHOS_SIMPLES
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


class _ErrosNoRegistro:
    """`wsgi.errors`: o Django quase não escreve aqui; vai para a saída de erro."""

    def write(self, texto: str) -> int:
        return os.write(2, texto.encode())

    def flush(self) -> None: ...
