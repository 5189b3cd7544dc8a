"""O POST de um aviso: assinado, sem redirecionamento, com prazo total, no IP conferido."""

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from painel.avisos.endereco import EnderecoRecusado, ler_url, resolver

CONEXAO_S = 3.0
# Da conexão ao fim da resposta. Um prazo por leitura não basta: um byte a cada segundo o renovaria.
PRAZO_S = 10.0
RESPOSTA_LIDA_BYTES = 2_048
TRECHO_CARACTERES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Resultado:
    """O que aconteceu numa tentativa: `status` HTTP (None sem resposta), trecho do corpo e a frase do erro."""

    sucesso: bool
    status: int | None = None
    resposta: str = ""
    erro: str = ""


def postar(url: str, corpo: bytes, cabecalhos: Mapping[str, str], *, local: bool) -> Resultado:
    """Manda e devolve o resultado; nenhuma falha da rede ou do outro lado é levantada. Só 2xx é sucesso."""
    try:
        alvo = ler_url(url, local=local)
        ip = resolver(alvo, local=local)
        with _conectar(ip, alvo.porta, alvo.nome if alvo.seguro else None) as soquete:
            conexao = http.client.HTTPConnection(alvo.nome, alvo.porta)
            conexao.sock = soquete  # já conectado: nada aqui volta a resolver o nome
            conexao.request("POST", alvo.caminho, corpo, {**_FIXOS, **cabecalhos})
            resposta = conexao.getresponse()
            trecho = limpar(resposta.read(RESPOSTA_LIDA_BYTES))
    except EnderecoRecusado as erro:
        return Resultado(sucesso=False, erro=str(erro))
    except (OSError, http.client.HTTPException, UnicodeError) as erro:
        return Resultado(sucesso=False, erro=_descrever(erro))
    return Resultado(
        sucesso=200 <= resposta.status < 300,
        status=resposta.status,
        resposta=trecho,
        erro="Redirecionamento não é seguido: use a URL final." if 300 <= resposta.status < 400 else "",
    )


_FIXOS = {"Content-Type": "application/json", "User-Agent": "Lastro", "Connection": "close"}


@contextmanager
def _conectar(ip: str, porta: int, nome_tls: str | None) -> Iterator[socket.socket]:
    """O soquete até o IP, com TLS para `nome_tls`; um vigia o derruba ao fim de `PRAZO_S`."""
    cru = socket.create_connection((ip, porta), timeout=CONEXAO_S)
    vencido = threading.Event()
    # Uma cópia: o TLS toma o soquete para si, e o vigia precisa alcançá-lo depois disso.
    vigiado = cru.dup()
    vigia = threading.Timer(PRAZO_S, _derrubar, (vigiado, vencido))
    vigia.daemon = True
    vigia.start()
    try:
        cru.settimeout(PRAZO_S)
        if nome_tls is None:
            yield cru
        else:
            with ssl.create_default_context().wrap_socket(cru, server_hostname=nome_tls) as seguro:
                yield seguro
        if vencido.is_set():  # o http.client toma a conexão derrubada no meio dos cabeçalhos pelo fim deles
            raise TimeoutError
    finally:
        vigia.cancel()
        vigiado.close()
        cru.close()


def _derrubar(soquete: socket.socket, vencido: threading.Event) -> None:
    vencido.set()
    with suppress(OSError):
        soquete.shutdown(socket.SHUT_RDWR)


def limpar(cru: bytes) -> str:
    """O começo de uma resposta alheia numa linha, sem controles nem marcas de direção."""
    texto = "".join(c if c.isprintable() else " " for c in cru.decode("utf-8", "replace"))
    return " ".join(texto.split())[:TRECHO_CARACTERES]


def _descrever(erro: Exception) -> str:
    if isinstance(erro, TimeoutError):
        return "Não respondeu a tempo."
    if isinstance(erro, socket.gaierror):
        return "O nome do servidor não se resolve."
    if isinstance(erro, ssl.SSLCertVerificationError):
        return f"Certificado recusado: {erro.verify_message}."
    return limpar(f"{type(erro).__name__}: {erro}".encode())
