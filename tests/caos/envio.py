"""HTTP com o soquete à vista: manter aberta, mandar só um pedaço, cortar, repetir.

As bibliotecas de HTTP repetem e consertam sozinhas; aqui cada byte e cada queda é decisão de quem testa.
"""

import contextlib
import http.client
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PRAZO_S = 20.0
ROTA = "/evento/ingestao"


class SemResposta(Exception):
    """A conexão caiu, foi recusada ou estourou o prazo antes de uma resposta inteira."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """Uma resposta inteira. `cabecalhos` com nomes em minúsculas."""

    status: int
    cabecalhos: Mapping[str, str]
    corpo: bytes

    def json(self) -> Any:
        """O corpo como JSON, ou None se não é JSON."""
        try:
            return json.loads(self.corpo)
        except ValueError:
            return None

    @property
    def codigo(self) -> str | None:
        """O `codigo` estável do erro, se há."""
        lido = self.json()
        return lido.get("codigo") if isinstance(lido, dict) else None


class Canal:
    """Uma conexão mantida aberta com o servidor; reabre sozinha na mensagem seguinte a uma queda."""

    def __init__(self, porta: int, prazo_s: float = PRAZO_S, *, rota: str = ROTA) -> None:
        self._rota = rota
        self._conexao = http.client.HTTPConnection("127.0.0.1", porta, timeout=prazo_s)

    def postar(self, corpo: bytes, cabecalhos: Mapping[str, str], *, em_pedacos: bool = False) -> Resposta:
        """Manda e espera a resposta; levanta SemResposta. `em_pedacos` usa Transfer-Encoding: chunked."""
        self.mandar(corpo, cabecalhos, em_pedacos=em_pedacos)
        return self.receber()

    def mandar(self, corpo: bytes, cabecalhos: Mapping[str, str], *, em_pedacos: bool = False) -> None:
        """Manda a requisição inteira e não lê a resposta; levanta SemResposta."""
        try:
            pedacos = iter([corpo[:700], corpo[700:]]) if em_pedacos else None
            self._conexao.request(
                "POST",
                self._rota,
                body=pedacos or corpo,
                headers=dict(cabecalhos),
                encode_chunked=em_pedacos,
            )
        except (OSError, http.client.HTTPException) as queda:
            self.fechar()
            raise SemResposta(repr(queda)) from queda

    def receber(self) -> Resposta:
        """Lê a resposta da requisição mandada; levanta SemResposta."""
        try:
            return _ler(self._conexao.getresponse())
        except (OSError, http.client.HTTPException) as queda:
            self.fechar()
            raise SemResposta(repr(queda)) from queda

    def fechar(self) -> None:
        self._conexao.close()


def _ler(resposta: http.client.HTTPResponse) -> Resposta:
    """A resposta inteira. Cortada no meio dos cabeçalhos, o `http.client` a daria por completa e vazia."""
    if resposta.length is None and not resposta.chunked:
        raise http.client.IncompleteRead(b"")
    return Resposta(
        status=resposta.status,
        cabecalhos={nome.lower(): valor for nome, valor in resposta.getheaders()},
        corpo=resposta.read(),
    )


def perguntar(porta: int, caminho: str, *, prazo_s: float = PRAZO_S) -> Resposta:
    """GET numa conexão nova; levanta SemResposta."""
    conexao = http.client.HTTPConnection("127.0.0.1", porta, timeout=prazo_s)
    try:
        conexao.request("GET", caminho)
        return _ler(conexao.getresponse())
    except (OSError, http.client.HTTPException) as queda:
        raise SemResposta(repr(queda)) from queda
    finally:
        conexao.close()


def postar(porta: int, corpo: bytes, cabecalhos: Mapping[str, str], *, prazo_s: float = PRAZO_S) -> Resposta:
    """POST numa conexão nova; levanta SemResposta."""
    canal = Canal(porta, prazo_s)
    try:
        return canal.postar(corpo, cabecalhos)
    finally:
        canal.fechar()


def mandar_cru(porta: int, *pedacos: bytes, prazo_s: float = 5.0) -> bytes:
    """Manda os bytes como estão e devolve tudo o que veio até o servidor fechar ou calar por `prazo_s`."""
    recebido = b""
    with (
        socket.create_connection(("127.0.0.1", porta), timeout=prazo_s) as soquete,
        contextlib.suppress(OSError),
    ):
        for pedaco in pedacos:
            soquete.sendall(pedaco)
        while vindo := soquete.recv(65_536):
            recebido += vindo
    return recebido


def cortar_no_meio(
    porta: int, corpo: bytes, cabecalhos: Mapping[str, str], *, fracao: float = 0.5, abrupto: bool = False
) -> None:
    """Anuncia o corpo inteiro, manda só uma parte e fecha (com RST, se `abrupto`). Não levanta."""
    inicio = montar_cabeca(corpo, cabecalhos)
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", porta), timeout=5) as soquete:
        soquete.sendall(inicio + corpo[: int(len(corpo) * fracao)])
        if abrupto:
            soquete.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def montar_cabeca(
    corpo: bytes, cabecalhos: Mapping[str, str], *, metodo: str = "POST", extras: Sequence[str] = ()
) -> bytes:
    """A linha de requisição e os cabeçalhos, com o Content-Length do corpo inteiro."""
    linhas = [
        f"{metodo} {ROTA} HTTP/1.1",
        "Host: localhost",
        f"Content-Length: {len(corpo)}",
        *(f"{nome}: {valor}" for nome, valor in cabecalhos.items()),
        *extras,
    ]
    return "\r\n".join(linhas).encode() + b"\r\n\r\n"
