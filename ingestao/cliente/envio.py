"""O HTTP, e só ele: monta a requisição, devolve o que veio, ou `SemLink`.

Nada se repete aqui dentro (urllib3 sem novas tentativas nem redirecionamentos): quem repete é o remetente, que
sabe contar tentativas. O token nunca aparece em mensagem nem em log.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from . import mensagens
from .erros import ConfiguracaoInvalida, SemLink
from .fila import EventoNaFila

VERSAO = "0.1.0"
MAX_RESPOSTA_BYTES = 1024 * 1024  # cem resultados têm 15 KB; o resto é engano ou ataque
PEDACO_BYTES = 64 * 1024
VERSAO_TUS = "1.0.0"
SEM_CORPO = 204
CONEXOES = 4  # lotes, espera de pedidos, envio de quadro, e folga


@dataclass(frozen=True)
class Resposta:
    """O que o servidor respondeu. Os nomes dos cabeçalhos não distinguem maiúsculas."""

    status: int
    cabecalhos: Mapping[str, str]
    corpo: bytes

    @property
    def codigo(self) -> str | None:
        """O `codigo` do erro, se quem respondeu foi o Lastro."""
        return mensagens.ler_codigo(self.corpo)

    @property
    def offset(self) -> int | None:
        """`Upload-Offset`, se veio e é um número."""
        texto = self.cabecalhos.get("upload-offset") or ""
        return int(texto) if texto.isascii() and texto.isdigit() else None


class Envio:
    """Um servidor e um token. Serve a várias threads."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        prazo_conexao_s: float,
        prazo_resposta_s: float,
        ca: Path | None = None,
    ) -> None:
        """Levanta ConfiguracaoInvalida se a URL não é http(s) ou o token não cabe num cabeçalho."""
        partes = urlsplit(url)
        if partes.scheme not in ("http", "https") or not partes.hostname:
            raise ConfiguracaoInvalida("A url precisa ser como https://lastro.exemplo.com.br")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfiguracaoInvalida(
                "O token está vazio ou tem caracteres estranhos; confira o arquivo dele."
            )
        self._url = url.rstrip("/")
        self._prazo_resposta_s = prazo_resposta_s
        self._prazo_conexao_s = prazo_conexao_s
        self._cabecalhos = {"Authorization": f"Bearer {token}", "User-Agent": f"lastro-captura/{VERSAO}"}
        opcoes: dict[str, Any] = {"ca_certs": str(ca)} if ca else {}
        self._conexoes = urllib3.PoolManager(num_pools=1, maxsize=CONEXOES, retries=False, **opcoes)

    def mandar_lote(self, lote: bytes, eventos: Sequence[EventoNaFila]) -> Resposta:
        """POST do lote: multipart se há recortes, JSON se não."""
        recortes = [(e.id_evento, e.recorte) for e in eventos if e.recorte is not None]
        tipo, corpo = ("application/json", lote) if not recortes else _multipart(lote, recortes)
        return self._pedir("POST", "/captura/ingestao", corpo=corpo, cabecalhos={"Content-Type": tipo})

    def mandar_json(self, caminho: str, corpo: bytes) -> Resposta:
        """POST de um JSON (pulso, indisponível)."""
        return self._pedir("POST", caminho, corpo=corpo, cabecalhos={"Content-Type": "application/json"})

    def esperar_pedidos(self, espera_s: int) -> Resposta:
        """Long poll: volta com os pedidos abertos, ou vazio no fim da espera."""
        caminho = f"/captura/pedidos?espera_s={espera_s}"
        return self._pedir("GET", caminho, prazo_s=espera_s + self._prazo_resposta_s)

    def ver_quadro(self, pedido_id: str) -> Resposta:
        """HEAD: onde o servidor parou."""
        return self._pedir("HEAD", f"/captura/quadros/{pedido_id}", cabecalhos={"Tus-Resumable": VERSAO_TUS})

    def mandar_pedaco(self, pedido_id: str, offset: int, pedaco: bytes) -> Resposta:
        """PATCH de um pedaço a partir de `offset`."""
        cabecalhos = {
            "Tus-Resumable": VERSAO_TUS,
            "Content-Type": "application/offset+octet-stream",
            "Upload-Offset": str(offset),
        }
        return self._pedir("PATCH", f"/captura/quadros/{pedido_id}", corpo=pedaco, cabecalhos=cabecalhos)

    def fechar(self) -> None:
        """Fecha as conexões ociosas."""
        self._conexoes.clear()

    def _pedir(
        self,
        metodo: str,
        caminho: str,
        *,
        corpo: bytes | None = None,
        cabecalhos: Mapping[str, str] | None = None,
        prazo_s: float | None = None,
    ) -> Resposta:
        prazo_s = prazo_s or self._prazo_resposta_s
        limite_s = time.monotonic() + prazo_s
        try:
            resposta = self._conexoes.request(
                metodo,
                self._url + caminho,
                body=corpo,
                headers={**self._cabecalhos, **(cabecalhos or {})},
                timeout=urllib3.Timeout(connect=self._prazo_conexao_s, read=prazo_s),
                redirect=False,
                preload_content=False,
            )
            lido = _ler_corpo(resposta, limite_s, tem_corpo=metodo != "HEAD")
            return Resposta(status=resposta.status, cabecalhos=resposta.headers, corpo=lido)
        except (NewConnectionError, ConnectTimeoutError) as erro:
            raise SemLink(f"Sem conexão com {self._url} ({type(erro).__name__}).", conectou=False) from erro
        except (HTTPError, OSError) as erro:
            raise SemLink(f"A conexão com {self._url} caiu ({type(erro).__name__}).", conectou=True) from erro


def _ler_corpo(resposta: Any, limite_s: float, *, tem_corpo: bool) -> bytes:
    """O corpo inteiro, sob teto de bytes e de tempo. Resposta cortada, ou que goteja para sempre, é link caído."""
    ler = getattr(resposta, "read1", resposta.read)  # o `read1` do urllib3 2 devolve o que já chegou
    partes, total = [], 0
    inteira = False
    try:
        while pedaco := ler(PEDACO_BYTES):
            partes.append(pedaco)
            total += len(pedaco)
            if total > MAX_RESPOSTA_BYTES or time.monotonic() > limite_s:
                raise SemLink("A resposta do servidor não acaba.", conectou=True)
        if tem_corpo and resposta.status != SEM_CORPO and _veio_cortada(resposta.headers, total):
            raise SemLink("A resposta do servidor veio cortada.", conectou=True)
        inteira = True
    finally:
        if inteira:
            resposta.release_conn()
        else:
            resposta.close()
    return b"".join(partes)


def _veio_cortada(cabecalhos: Mapping[str, str], total: int) -> bool:
    """Menos bytes que o prometido; ou nenhum, sem promessa: a conexão caiu no meio dos cabeçalhos."""
    prometido = cabecalhos.get("content-length", "")
    if prometido.isdigit():
        return total < int(prometido)
    return total == 0 and "transfer-encoding" not in cabecalhos


def _multipart(lote: bytes, recortes: Sequence[tuple[str, bytes]]) -> tuple[str, bytes]:
    """`multipart/form-data` com a parte `lote` e um `recorte-<id>` por imagem."""
    fronteira = uuid.uuid4().hex
    partes = [
        f'--{fronteira}\r\nContent-Disposition: form-data; name="lote"\r\n'
        "Content-Type: application/json\r\n\r\n".encode(),
        lote,
    ]
    for id_evento, recorte in recortes:
        nome = f"recorte-{id_evento}"
        partes.append(
            f'\r\n--{fronteira}\r\nContent-Disposition: form-data; name="{nome}"; filename="{nome}.jpg"\r\n'
            "Content-Type: image/jpeg\r\n\r\n".encode()
        )
        partes.append(recorte)
    partes.append(f"\r\n--{fronteira}--\r\n".encode())
    return f"multipart/form-data; boundary={fronteira}", b"".join(partes)
