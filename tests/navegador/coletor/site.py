"""O site do cliente: páginas feitas pelo teste, noutra porta, com uma API pequena que elas chamam."""

import contextlib
import http.server
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIPOS = {".js": "text/javascript", ".json": "application/json", ".html": "text/html; charset=utf-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurso:
    """O que o site responde num caminho."""

    corpo: bytes
    cabecalhos: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


class Site:
    """Usar como bloco `with`. `por` publica um recurso; um `Path` é servido do disco a cada pedido."""

    def __init__(self) -> None:
        self.recursos: dict[str, Recurso | Path] = {
            "/api/ok": Recurso(corpo=b'{"ok": true}', cabecalhos={"content-type": "application/json"}),
            "/api/erro": Recurso(corpo=b"{}", status=500),
        }
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _atendente(self))
        self.porta = self._http.server_port

    def __enter__(self) -> "Site":
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def por(self, caminho: str, corpo: str | Path, **cabecalhos: str) -> str:
        """Publica e devolve a URL. Os cabeçalhos vêm com `_` no lugar de `-`."""
        nomes = {nome.replace("_", "-"): valor for nome, valor in cabecalhos.items()}
        self.recursos[caminho] = (
            corpo if isinstance(corpo, Path) else Recurso(corpo=corpo.encode(), cabecalhos=nomes)
        )
        return f"http://127.0.0.1:{self.porta}{caminho}"


def _atendente(site: Site) -> type[http.server.BaseHTTPRequestHandler]:
    class Atendente(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            caminho = self.path.partition("?")[0]
            if caminho == "/api/fluxo":
                return self._mandar_aos_poucos()
            achado = site.recursos.get(caminho, Recurso(corpo=b"", status=404))
            if isinstance(achado, Path):
                achado = Recurso(corpo=achado.read_bytes())
            cabecalhos = {
                "content-type": TIPOS.get(Path(caminho).suffix, TIPOS[".html"]),
                **achado.cabecalhos,
            }
            self.send_response(achado.status)
            for nome, valor in {**cabecalhos, "content-length": str(len(achado.corpo))}.items():
                self.send_header(nome, valor)
            self.end_headers()
            self.wfile.write(achado.corpo)
            return None

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def _mandar_aos_poucos(self) -> None:
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # a página cancela no meio, de propósito
                for pedaco in (b"um", b"dois", b"tres"):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(pedaco), pedaco))
                    time.sleep(0.05)
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None: ...

    return Atendente
