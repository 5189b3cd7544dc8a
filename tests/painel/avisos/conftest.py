"""Um receptor de webhooks de verdade, destinos prontos, e rodadas com o relógio na mão."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from config.cofre import cifrar
from ingestao.models import Aplicativo
from painel.avisos import entrega, rodada
from painel.avisos.assinatura import gerar_segredo
from painel.models import Canal, DestinoDeAviso

Avisar = Callable[..., int]
AGORA = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)  # meio-dia em São Paulo


@dataclass
class Recebido:
    """Um POST que chegou ao receptor."""

    caminho: str
    cabecalhos: dict[str, str]
    corpo: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.corpo)


@dataclass
class Receptor:
    """Um servidor HTTP em 127.0.0.1. `respostas` é consumida em ordem; vazia, responde 200."""

    servidor: ThreadingHTTPServer
    recebidos: list[Recebido] = field(default_factory=list)
    respostas: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.servidor.server_port}/gancho"


@pytest.fixture
def receptor(settings: Any) -> Iterator[Receptor]:
    settings.WEBHOOK_LOCAL = True
    servidor = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    receptor = Receptor(servidor)

    class Tratador(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            corpo = self.rfile.read(int(self.headers["Content-Length"]))
            cabecalhos = {nome.lower(): valor for nome, valor in self.headers.items()}
            receptor.recebidos.append(Recebido(self.path, cabecalhos, corpo))
            status, extras, resposta = receptor.respostas.pop(0) if receptor.respostas else (200, {}, b"ok")
            self.send_response(status)
            for nome, valor in extras.items():
                self.send_header(nome, valor)
            self.send_header("Content-Length", str(len(resposta)))
            self.end_headers()
            self.wfile.write(resposta)

        def log_message(self, *args: Any) -> None: ...

    servidor.RequestHandlerClass = Tratador
    thread = threading.Thread(target=servidor.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield receptor
    servidor.shutdown()
    servidor.server_close()
    thread.join()


@pytest.fixture
def correio(db: None) -> DestinoDeAviso:
    return DestinoDeAviso.objects.create(nome="Plantão", canal=Canal.EMAIL, emails="plantao@exemplo.com.br")


@pytest.fixture
def gancho(db: None, receptor: Receptor) -> DestinoDeAviso:
    segredo = gerar_segredo()
    destino = DestinoDeAviso(
        nome="Sala", canal=Canal.WEBHOOK, url=receptor.url, segredo_cifrado=cifrar(segredo)
    )
    destino.save()
    destino.segredo = segredo  # type: ignore[attr-defined]
    return destino


@pytest.fixture
def loja(db: None) -> Aplicativo:
    return Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"])


@pytest.fixture
def com_dono(loja: Aplicativo) -> Aplicativo:
    loja.franquia, loja.emails_de_aviso = 10, "dona@exemplo.com.br, ti@exemplo.com.br"
    loja.save()
    return loja


@pytest.fixture
def avisar() -> Avisar:
    """Uma rodada e um envio, tantos minutos depois de `AGORA`; devolve quantas mensagens saíram."""

    def avisar(minutos: float = 0) -> int:
        agora = AGORA + timedelta(minutes=minutos)
        assert rodada.rodar(agora) is not None
        return entrega.enviar_pendentes(agora)

    return avisar
