"""Um proxy roteirizado na frente do servidor de verdade: passa, responde no lugar dele ou corta a conexão."""

import contextlib
import gzip
import http.client
import http.server
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ROTA = "/evento/ingestao"


@dataclass(frozen=True, slots=True, kw_only=True)
class Falsa:
    """Uma resposta dada no lugar do servidor, com o CORS que ele daria."""

    status: int
    corpo: Mapping[str, Any] = field(default_factory=dict)
    espera_s: int | None = None


# `cortar`: a conexão cai antes de o servidor ver o lote. `engolir`: ele grava, e a resposta se perde.
Passo = Falsa | Literal["passar", "cortar", "engolir"]


class Atravessador:
    """Usar como bloco `with`. Cada POST de evento gasta um passo do `roteiro`; acabado ele, vale `depois`."""

    def __init__(self, porta_do_servidor: int) -> None:
        self.roteiro: list[Passo] = []
        self.depois: Passo = "passar"
        self.lotes: list[dict[str, Any]] = []
        self.cabecalhos: list[dict[str, str]] = []
        self.caminhos: list[str] = []
        self.trava = threading.Lock()
        self.porta_do_servidor = porta_do_servidor
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _atendente(self))
        self.porta = self._http.server_port

    def __enter__(self) -> "Atravessador":
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def vistos(self) -> list[str]:
        """Os evento_id de todos os POSTs, na ordem e com as repetições."""
        return [evento["evento_id"] for lote in self.lotes for evento in lote["eventos"]]

    def proximo(self, corpo: bytes, cabecalhos: Mapping[str, str]) -> Passo:
        """Anota o lote e devolve o que fazer com ele. O roteiro pode ser uma função do lote."""
        nomes = {nome.lower(): valor for nome, valor in cabecalhos.items()}
        if nomes.get("content-encoding") == "gzip":
            corpo = gzip.decompress(corpo)
        with self.trava:
            self.lotes.append(json.loads(corpo))
            self.cabecalhos.append(nomes)
            return self.roteiro.pop(0) if self.roteiro else self.depois


def _atendente(atravessador: Atravessador) -> type[http.server.BaseHTTPRequestHandler]:
    class Atendente(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._repassar(b"")

        do_OPTIONS = do_GET

        def do_POST(self) -> None:
            corpo = self.rfile.read(int(self.headers.get("content-length", 0)))
            passo = atravessador.proximo(corpo, self.headers)
            if passo == "passar":
                return self._repassar(corpo)
            if isinstance(passo, Falsa):
                return self._responder(passo)
            if passo == "engolir":
                self._perguntar(corpo)
            return self._cortar()

        def _perguntar(self, corpo: bytes) -> tuple[http.client.HTTPResponse, bytes]:
            conexao = http.client.HTTPConnection("127.0.0.1", atravessador.porta_do_servidor, timeout=20)
            with contextlib.closing(conexao):
                conexao.request(self.command, self.path, corpo or None, dict(self.headers.items()))
                resposta = conexao.getresponse()
                return resposta, resposta.read()

        def _repassar(self, corpo: bytes) -> None:
            atravessador.caminhos.append(f"{self.command} {self.path}")
            resposta, lido = self._perguntar(corpo)
            self.send_response(resposta.status)
            for nome, valor in resposta.getheaders():
                if nome.lower() not in (
                    "connection",
                    "transfer-encoding",
                    "content-length",
                    "date",
                    "server",
                ):
                    self.send_header(nome, valor)
            self.send_header("content-length", str(len(lido)))
            self.end_headers()
            self.wfile.write(lido)

        def _responder(self, falsa: Falsa) -> None:
            corpo = json.dumps(falsa.corpo).encode()
            self.send_response(falsa.status)
            self.send_header("access-control-allow-origin", "*")
            self.send_header("access-control-expose-headers", "Retry-After")
            if falsa.espera_s is not None:
                self.send_header("retry-after", str(falsa.espera_s))
            self.send_header("content-length", str(len(corpo)))
            self.end_headers()
            self.wfile.write(corpo)

        def _cortar(self) -> None:
            self.close_connection = True
            self.connection.close()

        def log_message(self, *_: Any) -> None: ...

    return Atendente
