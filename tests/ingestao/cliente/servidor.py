"""Um servidor de capturas de mentira: grava em memória, e faz o que o roteiro mandar antes disso."""

import hashlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INGESTAO, PULSO = "/captura/ingestao", "/captura/pulso"


@dataclass(frozen=True, slots=True, kw_only=True)
class Responder:
    """Responde isto em vez de atender; nada é gravado. `corpo` None é um erro JSON do Lastro."""

    status: int
    codigo: str = "erro_roteirizado"
    corpo: bytes | None = None
    cabecalhos: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cortar:
    """Fecha a conexão: depois de gravar (o ACK se perde), ou antes; ou com `bytes_da_resposta` já mandados."""

    depois_de_gravar: bool
    bytes_da_resposta: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trocar:
    """Grava, e troca o corpo da resposta pelo que a função devolver."""

    troca: Callable[[dict[str, Any]], bytes]


Ato = Responder | Cortar | Trocar | None
ERRO_500 = Responder(status=500, codigo="erro_interno")


@dataclass(slots=True)
class Recebido:
    """Uma requisição que chegou inteira."""

    caminho: str
    lote: dict[str, Any]
    recortes: dict[str, bytes]
    quando_s: float

    @property
    def ids(self) -> list[str]:
        return [evento["id_evento"] for evento in self.lote["eventos"]]


@dataclass(slots=True)
class Mundo:
    """O que o servidor gravou e o que vai fazer. `roteiro` vale um ato por POST de lote, na ordem."""

    roteiro: deque[Ato] = field(default_factory=deque)
    sempre: Callable[[Recebido], Ato] = lambda recebido: None
    no_pulso: Callable[[dict[str, Any]], Ato] = lambda pulso: None
    julgar: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda evento: None
    gravados: dict[str, str] = field(default_factory=dict)
    recortes: dict[str, bytes] = field(default_factory=dict)
    recebidos: list[Recebido] = field(default_factory=list)
    pulsos: list[dict[str, Any]] = field(default_factory=list)
    relatos: dict[str, dict[str, int]] = field(default_factory=dict)
    latencias: dict[str, int] = field(default_factory=dict)
    pedidos: list[dict[str, Any]] = field(default_factory=list)
    quadros: dict[str, bytearray] = field(default_factory=dict)
    cortes_no_quadro: deque[int] = field(default_factory=deque)
    perguntas: int = 0
    pedacos: list[int] = field(default_factory=list)
    indisponiveis: dict[str, str] = field(default_factory=dict)
    hora_servidor: Callable[[], datetime] = lambda: datetime.now(UTC)
    vez: threading.RLock = field(default_factory=threading.RLock)

    def descartados(self) -> dict[str, int]:
        """A soma dos relatos, cada um uma vez."""
        soma: dict[str, int] = {}
        for relato in self.relatos.values():
            for motivo, qtd in relato.items():
                soma[motivo] = soma.get(motivo, 0) + qtd
        return soma


class Servidor:
    """O servidor no ar, e o mundo dele."""

    def __init__(self, http: ThreadingHTTPServer, mundo: Mundo) -> None:
        self.mundo = mundo
        self.url = f"http://127.0.0.1:{http.server_address[1]}"


@contextmanager
def servidor_no_ar(porta: int = 0) -> Iterator[Servidor]:
    """Sobe o servidor numa porta livre (ou na dada) e o encerra na saída."""
    mundo = Mundo()
    http = _Http(("127.0.0.1", porta), type("Manipulador", (_Manipulador,), {"mundo": mundo}))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Servidor(http, mundo)
    finally:
        http.shutdown()
        http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Conexão cortada é o assunto destes testes; o traço só atrapalharia."""


class _Manipulador(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    mundo: Mundo

    def do_POST(self) -> None:
        corpo = self.rfile.read(int(self.headers["content-length"]))
        if len(corpo) < int(self.headers["content-length"]):
            self._fechar()
            return
        if self.path == INGESTAO:
            self._lote(corpo)
        elif self.path == PULSO:
            self._pulso(json.loads(corpo))
        else:
            pedido = self.path.split("/")[3]
            self.mundo.indisponiveis[pedido] = json.loads(corpo)["motivo"]
            self._encerrar_pedido(pedido)
            self._responder(200, {"situacao": "indisponivel"})

    def do_GET(self) -> None:
        with self.mundo.vez:
            pedidos = list(self.mundo.pedidos)
        self.mundo.perguntas += 1
        self._responder(200, {"pedidos": pedidos, "hora_servidor": self._hora()})

    def do_HEAD(self) -> None:
        quadro = self.mundo.quadros.get(self.path.split("/")[3])
        self._responder(404 if quadro is None else 200, None, offset=len(quadro or b""))

    def do_PATCH(self) -> None:
        tamanho, offset = int(self.headers["content-length"]), int(self.headers["upload-offset"])
        quadro = self.mundo.quadros[self.path.split("/")[3]]
        if self.mundo.cortes_no_quadro and tamanho > (limite := self.mundo.cortes_no_quadro[0]):
            self.mundo.cortes_no_quadro.popleft()
            quadro += self.rfile.read(limite)  # o que chegou antes do corte ficou gravado
            self._fechar()
            return
        pedaco = self.rfile.read(tamanho)
        if offset != len(quadro):
            self._responder(409, {"codigo": "offset_errado", "detail": ""}, offset=len(quadro))
            return
        quadro += pedaco
        self.mundo.pedacos.append(tamanho)
        self._conferir_quadro(quadro)

    def _conferir_quadro(self, quadro: bytearray) -> None:
        pedido = next(p for p in self.mundo.pedidos if p["id"] == self.path.split("/")[3])
        if len(quadro) == pedido["bytes"] and hashlib.sha256(quadro).hexdigest() != pedido["sha256"]:
            quadro.clear()
            self._responder(460, {"codigo": "hash_divergente", "detail": ""}, offset=0)
            return
        if len(quadro) == pedido["bytes"]:
            self._encerrar_pedido(pedido["id"])
        self._responder(204, None, offset=len(quadro))

    def _encerrar_pedido(self, id_: str) -> None:
        with self.mundo.vez:
            self.mundo.pedidos[:] = [p for p in self.mundo.pedidos if p["id"] != id_]

    def _lote(self, corpo: bytes) -> None:
        lote, recortes = ler_corpo(self.headers["content-type"], corpo)
        recebido = Recebido(self.path, lote, recortes, time.monotonic())
        with self.mundo.vez:
            self.mundo.recebidos.append(recebido)
            roteirizado = bool(self.mundo.roteiro)
            ato = self.mundo.roteiro.popleft() if roteirizado else self.mundo.sempre(recebido)
            if isinstance(ato, Responder) or (isinstance(ato, Cortar) and not ato.depois_de_gravar):
                resposta: dict[str, Any] = {}
            else:
                resposta = self._gravar(recebido)
        self._agir(ato, resposta)

    def _gravar(self, recebido: Recebido) -> dict[str, Any]:
        self._anotar(recebido.lote)
        return {
            "resultados": [self._gravar_um(e, i, recebido) for i, e in enumerate(recebido.lote["eventos"])],
            "pedidos": list(self.mundo.pedidos),
            "hora_servidor": self._hora(),
        }

    def _gravar_um(self, evento: dict[str, Any], indice: int, recebido: Recebido) -> dict[str, Any]:
        if (recusa := self.mundo.julgar(evento)) is not None:
            return {"id_evento": evento["id_evento"], "indice": indice, **recusa}
        id_evento = evento["id_evento"]
        if id_evento in recebido.recortes:
            self.mundo.recortes[id_evento] = recebido.recortes[id_evento]
        gravado_em = self.mundo.gravados.setdefault(id_evento, self._hora())
        return {"id_evento": id_evento, "situacao": "gravado", "gravado_em": gravado_em}

    def _pulso(self, pulso: dict[str, Any]) -> None:
        with self.mundo.vez:
            self.mundo.pulsos.append(pulso)
            ato = self.mundo.no_pulso(pulso)
            if not isinstance(ato, Responder):
                self._anotar(pulso)
            resposta = {"hora_servidor": self._hora(), "pedidos": list(self.mundo.pedidos)}
        self._agir(ato, resposta)

    def _anotar(self, contato: dict[str, Any]) -> None:
        if contato.get("descartados"):
            self.mundo.relatos.setdefault(contato["relato_id"], contato["descartados"])
        for latencia in contato.get("latencias", []):
            self.mundo.latencias.setdefault(latencia["id_evento"], latencia["ms"])

    def _agir(self, ato: Ato, resposta: dict[str, Any]) -> None:
        if isinstance(ato, Cortar):
            if ato.bytes_da_resposta:
                self.wfile.write(self._montar(200, json.dumps(resposta).encode())[: ato.bytes_da_resposta])
                self.wfile.flush()
            self._fechar()
        elif isinstance(ato, Responder):
            corpo = ato.corpo
            if corpo is None:
                corpo = json.dumps({"detail": "roteirizado", "codigo": ato.codigo}).encode()
            self.wfile.write(self._montar(ato.status, corpo, ato.cabecalhos))
        else:
            corpo = ato.troca(resposta) if isinstance(ato, Trocar) else json.dumps(resposta).encode()
            self.wfile.write(self._montar(200, corpo))

    def _responder(self, status: int, corpo: dict[str, Any] | None, *, offset: int | None = None) -> None:
        cabecalhos = () if offset is None else (("Upload-Offset", str(offset)), ("Tus-Resumable", "1.0.0"))
        self.wfile.write(self._montar(status, json.dumps(corpo).encode() if corpo else b"", cabecalhos))

    def _montar(self, status: int, corpo: bytes, cabecalhos: tuple[tuple[str, str], ...] = ()) -> bytes:
        linhas = [f"HTTP/1.1 {status} x", *(f"{nome}: {valor}" for nome, valor in cabecalhos)]
        if status != 204:
            linhas.append(f"Content-Length: {len(corpo)}")
        return "\r\n".join(linhas).encode() + b"\r\n\r\n" + corpo

    def _fechar(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def _hora(self) -> str:
        return self.mundo.hora_servidor().isoformat().replace("+00:00", "Z")

    def log_message(self, *_: Any) -> None:
        """O pytest já mostra o que interessa."""


def ler_corpo(tipo: str, corpo: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """O lote e os recortes, de JSON ou de multipart, lidos por uma biblioteca que não é a nossa."""
    if tipo == "application/json":
        return json.loads(corpo), {}
    mensagem = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {tipo}\r\n\r\n".encode() + corpo)
    partes = {str(p.get_param("name", header="content-disposition")): p for p in mensagem.iter_parts()}
    lote = json.loads(partes.pop("lote").get_payload(decode=True))
    recortes = {nome.removeprefix("recorte-"): p.get_payload(decode=True) for nome, p in partes.items()}
    return lote, recortes
