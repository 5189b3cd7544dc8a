"""A porta: um ASGI fino que espera o corpo inteiro antes de ocupar uma thread do Django.

Por quê: servidores WSGI entregam a requisição antes de o corpo chegar, e duzentos remetentes a um
byte por segundo ocupam todas as threads (medido: a porta para por completo). Aqui um remetente
lento custa uma corrotina, e o Django, que continua WSGI e síncrono, só vê corpos completos.
O handler ASGI do próprio Django, com views síncronas, mediu quatro vezes mais lento.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import orjson

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.core.wsgi import get_wsgi_application

from config import ambiente

Escopo = dict[str, Any]
Receber = Callable[[], Awaitable[dict[str, Any]]]
Enviar = Callable[[dict[str, Any]], Awaitable[None]]
Ambiente = dict[str, Any]

TETO_PADRAO_BYTES = 16 * 1024 * 1024
# A rota lê um byte além do seu teto e responde 413 ela mesma, com o código e o CORS dela.
TETOS_BYTES = {"/evento/ingestao": 1024 * 1024}
DESCARTE_MAXIMO_BYTES = 16 * 1024 * 1024  # além disto o remetente perde a conexão em vez de um 413 limpo
SILENCIO_MAXIMO_S = 30  # sem um byte por este tempo, o remetente desistiu
CORPO_MAXIMO_S = 300  # 1 MiB a 3,5 KB/s: o pior enlace móvel que ainda termina
ESPERA_MAXIMA = 1024  # requisições completas esperando thread; acima, 503 na hora

_django = get_wsgi_application()
_threads = ThreadPoolExecutor(max_workers=ambiente.THREADS, thread_name_prefix="django")
_em_curso = 0


class RemetenteDesistiu(Exception):
    """O corpo não chegou inteiro: conexão fechada, silêncio ou prazo esgotado."""

    def __init__(self, *, conectado: bool) -> None:
        self.conectado = conectado
        super().__init__()


async def porta(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Aplicação ASGI: junta o corpo (até o teto da rota), roda o Django numa thread e responde."""
    global _em_curso
    if escopo["type"] == "lifespan":
        return await _ciclo_de_vida(receber, enviar)
    if escopo["type"] != "http":
        return None
    try:
        async with asyncio.timeout(CORPO_MAXIMO_S):
            corpo = await _juntar_corpo(receber, TETOS_BYTES.get(escopo["path"], TETO_PADRAO_BYTES))
    except TimeoutError:
        return await _recusar(
            enviar, 408, "corpo_incompleto", "O corpo não chegou inteiro no prazo; reenvie."
        )
    except RemetenteDesistiu as desistencia:
        if desistencia.conectado:
            await _recusar(enviar, 408, "corpo_incompleto", "O corpo parou de chegar; reenvie.")
        return None
    if _em_curso >= ESPERA_MAXIMA:
        return await _recusar(
            enviar, 503, "porta_cheia", "Muitas requisições em espera; tente de novo em instantes."
        )
    _em_curso += 1
    try:
        await _atender(_ambiente_wsgi(escopo, corpo), enviar)
    finally:
        _em_curso -= 1


async def _juntar_corpo(receber: Receber, teto_bytes: int) -> bytes:
    """Devolve o corpo, cortado em `teto_bytes + 1`; o excedente é lido e jogado fora até um limite."""
    pedacos: list[bytes] = []
    guardado = descartado = 0
    while True:
        try:
            async with asyncio.timeout(SILENCIO_MAXIMO_S):
                mensagem = await receber()
        except TimeoutError:
            raise RemetenteDesistiu(conectado=True) from None
        if mensagem["type"] == "http.disconnect":
            raise RemetenteDesistiu(conectado=False)
        pedaco = mensagem.get("body", b"")
        cabe = pedaco[: teto_bytes + 1 - guardado]
        if cabe:
            pedacos.append(cabe)
            guardado += len(cabe)
        descartado += len(pedaco) - len(cabe)
        if not mensagem.get("more_body", False) or descartado > DESCARTE_MAXIMO_BYTES:
            return pedacos[0] if len(pedacos) == 1 else b"".join(pedacos)


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
    for nome_cru, valor_cru in escopo["headers"]:
        nome, valor = nome_cru.decode("latin-1"), valor_cru.decode("latin-1")
        if nome == "content-type":
            chave = "CONTENT_TYPE"
        elif nome == "content-length" or "_" in nome:
            continue  # o tamanho é o do corpo recebido; "_" permitiria forjar um cabeçalho com "-"
        else:
            chave = f"HTTP_{nome.upper().replace('-', '_')}"
        anterior = ambiente_wsgi.get(chave)
        juncao = "; " if chave == "HTTP_COOKIE" else ","
        ambiente_wsgi[chave] = valor if anterior is None else f"{anterior}{juncao}{valor}"
    ambiente_wsgi["CONTENT_LENGTH"] = str(len(corpo))
    return ambiente_wsgi


async def _atender(ambiente_wsgi: Ambiente, enviar: Enviar) -> None:
    """Roda o Django numa thread e manda a resposta, pedaço por pedaço quando ela é longa."""
    laco = asyncio.get_running_loop()
    situacao, cabecalhos, pedacos = await laco.run_in_executor(_threads, _rodar_django, ambiente_wsgi)
    await enviar({"type": "http.response.start", "status": situacao, "headers": cabecalhos})
    if isinstance(pedacos, bytes):
        await enviar({"type": "http.response.body", "body": pedacos})
        return
    iterador = iter(pedacos)
    try:
        while (pedaco := await laco.run_in_executor(_threads, _proximo, iterador)) is not None:
            await enviar({"type": "http.response.body", "body": pedaco, "more_body": True})
        await enviar({"type": "http.response.body", "body": b""})
    finally:
        fechar = getattr(pedacos, "close", None)
        if fechar is not None:
            await laco.run_in_executor(_threads, fechar)


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


async def _recusar(enviar: Enviar, situacao: int, codigo: str, detalhe: str) -> None:
    """Recusa sem passar pelo Django; leva o CORS aberto para que a página possa ler o motivo."""
    cabecalhos = [
        (b"content-type", b"application/json"),
        (b"access-control-allow-origin", b"*"),
        (b"access-control-expose-headers", b"Retry-After"),
        (b"retry-after", b"5"),
    ]
    await enviar({"type": "http.response.start", "status": situacao, "headers": cabecalhos})
    await enviar({"type": "http.response.body", "body": orjson.dumps({"detail": detalhe, "codigo": codigo})})


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
