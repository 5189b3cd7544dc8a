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
from contextlib import nullcontext
from io import BytesIO
from typing import Any, Self

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
# Corpos na memória do processo, dos que chegam aos pedaços aos que esperam thread. Com isto e a base do
# Django (~107 MB), a web fica abaixo de 150 MB mesmo sob centenas de bombas. Os pequenos passam sempre: quem
# enche a memória com corpos grandes não fecha a porta para os outros.
CORPOS_MAXIMO_BYTES = 12 * 1024 * 1024
PEQUENO_BYTES = 16 * 1024
# Um corpo grande vira dezenas de MB de objetos, e uma bomba de gzip, dezenas de ms de CPU: poucos por vez, e
# quem espera a vez é uma corrotina. Os pequenos passam ao lado.
GRANDE_BYTES = 128 * 1024  # como enviado; em gzip, cerca de 1 MiB de JSON
GRANDES_POR_VEZ = 2
# Um PostgreSQL congelado não derruba a conexão: sem prazo, a resposta nunca viria. As transportadoras
# desistem entre 2 e 30 s. Só nas rotas de recebimento: uma tela do painel pode demorar.
PRAZO_DA_RESPOSTA_S = 3.0
ROTAS_COM_PRAZO = ("/evento/", "/dlr/callback/")

_django = get_wsgi_application()
_threads = ThreadPoolExecutor(max_workers=ambiente.THREADS, thread_name_prefix="django")
_vez_dos_grandes = asyncio.Semaphore(GRANDES_POR_VEZ)
_em_curso = 0
_corpos_bytes = 0


class CorpoNaoVeio(Exception):
    """O corpo não chegou inteiro: conexão fechada, pedaço malformado, silêncio, prazo ou memória."""

    def __init__(self, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


async def porta(escopo: Escopo, receber: Receber, enviar: Enviar) -> None:
    """Aplicação ASGI: junta o corpo (até o teto da rota), roda o Django numa thread e responde."""
    global _em_curso
    if escopo["type"] == "lifespan":
        return await _ciclo_de_vida(receber, enviar)
    if escopo["type"] != "http":
        return None
    async with _Corpo(TETOS_BYTES.get(escopo["path"], TETO_PADRAO_BYTES)) as corpo:
        try:
            async with asyncio.timeout(CORPO_MAXIMO_S):
                await corpo.juntar(receber)
        except TimeoutError:
            return await _recusar(
                enviar, 408, "corpo_incompleto", "O corpo não chegou inteiro no prazo; reenvie."
            )
        except CorpoNaoVeio as erro:
            return await _recusar(enviar, erro.status, erro.codigo, erro.detalhe)
        if _em_curso >= ESPERA_MAXIMA:
            return await _recusar(
                enviar, 503, "porta_cheia", "Muitas requisições em espera; reenvie em instantes."
            )
        _em_curso += 1
        try:
            async with _vez_dos_grandes if corpo.grande else nullcontext():
                await _atender(_ambiente_wsgi(escopo, corpo.bytes()), enviar)
        finally:
            _em_curso -= 1
    return None


class _Corpo:
    """O corpo de uma requisição, contado no orçamento de memória do processo enquanto existir."""

    def __init__(self, teto_bytes: int) -> None:
        self._teto_bytes = teto_bytes
        self._pedacos: list[bytes] = []
        self._guardado = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        global _corpos_bytes
        _corpos_bytes -= self._guardado
        self._pedacos.clear()

    @property
    def grande(self) -> bool:
        return self._guardado > GRANDE_BYTES

    def bytes(self) -> bytes:
        """O que chegou, numa peça só; os pedaços são soltos, para não ocupar o dobro."""
        if len(self._pedacos) != 1:
            self._pedacos = [b"".join(self._pedacos)]
        return self._pedacos[0]

    async def juntar(self, receber: Receber) -> None:
        """Guarda até `teto_bytes + 1`; o excedente é lido e jogado fora até um limite. Levanta `CorpoNaoVeio`."""
        descartado = 0
        while True:
            try:
                async with asyncio.timeout(SILENCIO_MAXIMO_S):
                    mensagem = await receber()
            except TimeoutError:
                raise CorpoNaoVeio(408, "corpo_incompleto", "O corpo parou de chegar; reenvie.") from None
            if mensagem["type"] == "http.disconnect":
                # Também é assim que chega um chunked malformado, com a conexão de pé: sem resposta nossa, o
                # servidor inventaria um 500.
                raise CorpoNaoVeio(400, "corpo_incompleto", "O corpo veio cortado ou malformado; reenvie.")
            pedaco = mensagem.get("body", b"")
            cabe = pedaco[: self._teto_bytes + 1 - self._guardado]
            self._guardar(cabe)
            descartado += len(pedaco) - len(cabe)
            if not mensagem.get("more_body", False) or descartado > DESCARTE_MAXIMO_BYTES:
                return

    def _guardar(self, pedaco: bytes) -> None:
        global _corpos_bytes
        if not pedaco:
            return
        pequeno = self._guardado + len(pedaco) <= PEQUENO_BYTES
        if not pequeno and _corpos_bytes + len(pedaco) > CORPOS_MAXIMO_BYTES:
            raise CorpoNaoVeio(
                503, "porta_cheia", "Muitos corpos grandes ao mesmo tempo; reenvie em instantes."
            )
        self._pedacos.append(pedaco)
        self._guardado += len(pedaco)
        _corpos_bytes += len(pedaco)


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
    trabalho = laco.run_in_executor(_threads, _rodar_django, ambiente_wsgi)
    com_prazo = ambiente_wsgi["PATH_INFO"].startswith(ROTAS_COM_PRAZO)
    try:
        situacao, cabecalhos, pedacos = await asyncio.wait_for(
            trabalho, PRAZO_DA_RESPOSTA_S if com_prazo else None
        )
    except TimeoutError:
        # Se ainda esperava thread, foi cancelado; se já rodava, pode ou não gravar: reenviar é seguro.
        return await _recusar(
            enviar,
            503,
            "armazenamento_lento",
            "O armazenamento não respondeu a tempo; reenvie o mesmo pedido.",
        )
    await enviar({"type": "http.response.start", "status": situacao, "headers": cabecalhos})
    if isinstance(pedacos, bytes):
        return await enviar({"type": "http.response.body", "body": pedacos})
    iterador = iter(pedacos)
    try:
        while (pedaco := await laco.run_in_executor(_threads, _proximo, iterador)) is not None:
            await enviar({"type": "http.response.body", "body": pedaco, "more_body": True})
        await enviar({"type": "http.response.body", "body": b""})
    finally:
        fechar = getattr(pedacos, "close", None)
        if fechar is not None:
            await laco.run_in_executor(_threads, fechar)
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
