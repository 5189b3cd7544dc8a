"""Quem pede: cada resposta é conferida na hora e anotada, para as contas do fim."""

import http.client
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.caos.envio import Resposta, SemResposta, mandar_cru

PRAZO_S = 30.0  # a máquina pode estar ocupada; uma resposta que não vem é defeito do mesmo jeito
SILENCIO_S = 0.3
VAZAMENTOS = (b"Traceback (most recent call last)", b"psycopg", b"django.db", b"/site-packages/")


FLUXOS = (("/evento/", "evento"), ("/captura/", "captura"), ("/dlr/", "dlr"), ("/admin", "painel"))
# Um HEAD não traz o código: se a rota existe, só o caminho diz.
ROTAS_DOS_APARELHOS = re.compile(r"/captura/(ingestao|pulso|pedidos|quadros/[^/]+(/indisponivel)?)")
CONTAS = {"/evento/": "eventos", "/captura/": "capturas", "/dlr/callback/": "recibos"}
Contagens = Counter[tuple[str, str]]  # (conta, motivo) → quantos


class Defeito(AssertionError):
    """O servidor respondeu o que não pode: um 5xx, um traço, um erro fora da forma, ou nada."""


class Visitante:
    """Faz pedidos, um de cada vez, e conta o que ouviu, nas mesmas contas em que o servidor o conta."""

    def __init__(self, porta: int) -> None:
        self.porta = porta
        self.ouvidas: Contagens = Counter()
        self.total = self.cruas = 0

    def esquecer(self) -> None:
        """Recomeça as contas; os totais ficam."""
        self.ouvidas.clear()

    def pedir(
        self,
        metodo: str,
        caminho: str,
        cabecalhos: Mapping[str, str] | None = None,
        corpo: bytes | None = None,
        *,
        em_pedacos: bool = False,
    ) -> Resposta:
        """Um pedido numa conexão nova. Levanta `Defeito`."""
        conexao = http.client.HTTPConnection("127.0.0.1", self.porta, timeout=PRAZO_S)
        try:
            peca: Any = iter([corpo]) if em_pedacos and corpo else corpo
            conexao.request(metodo, caminho, peca, dict(cabecalhos or {}), encode_chunked=em_pedacos)
            crua = conexao.getresponse()
            resposta = Resposta(
                status=crua.status,
                cabecalhos={nome.lower(): valor for nome, valor in crua.getheaders()},
                corpo=crua.read(),
            )
        except (OSError, http.client.HTTPException) as queda:
            raise Defeito(f"{metodo} {caminho[:300]}: sem resposta ({queda!r})") from queda
        finally:
            conexao.close()
        self.anotar(metodo, caminho, resposta, f"{dict(cabecalhos or {})} {(corpo or b'')[:500]!r}")
        return resposta

    def anotar(self, metodo: str, caminho: str, resposta: Resposta, resto: str = "") -> None:
        """Conta a resposta e confere o que vale para toda; `resto` é o que mais se mandou. Levanta `Defeito`."""
        self._contar(urlsplit(caminho).path, resposta)
        try:
            conferir(metodo, caminho, resposta)
        except Defeito as defeito:
            raise Defeito(f"{metodo} {caminho[:500]} {resto}: {defeito}") from None

    def _contar(self, caminho: str, resposta: Resposta) -> None:
        self.total += 1
        fluxo = next((nome for prefixo, nome in FLUXOS if caminho.startswith(prefixo)), "outro")
        self.ouvidas["respostas da porta", f"{fluxo} {resposta.status}"] += 1
        recusada = 400 <= resposta.status < 500
        conta = next((conta for prefixo, conta in CONTAS.items() if caminho.startswith(prefixo)), None)
        sem_rota = caminho.startswith("/captura/") and not ROTAS_DOS_APARELHOS.fullmatch(unquote(caminho))
        if sem_rota or resposta.codigo == "rota_inexistente":
            conta = None  # não é rota de recebimento nenhuma: conta-se só na porta
        if caminho.startswith("/dlr/") and resposta.status == 401:
            conta = "recibos"  # o token errado de quem envia soma com o das transportadoras
        if recusada and conta is not None:
            self.ouvidas[f"recusas de {conta}", resposta.codigo or "?"] += 1
        elif conta == "recibos":
            self.ouvidas["recibos guardados", ""] += 1
        elif conta == "eventos" and resposta.status == 202:
            self.ouvidas["eventos recusados em 202", ""] += resposta.json()["recusados"]

    def mandar_bytes(self, cru: bytes) -> bytes:
        """Bytes quaisquer pelo soquete; devolve o que veio. Levanta `Defeito` a um 5xx ou a um traço."""
        self.cruas += 1
        try:
            recebido = mandar_cru(self.porta, cru, prazo_s=SILENCIO_S)
        except OSError as queda:
            raise Defeito(f"{cru[:300]!r}: a porta não abriu ({queda!r})") from queda
        if b"HTTP/1.1 5" in recebido or b"HTTP/1.0 5" in recebido:
            raise Defeito(f"{cru[:600]!r}: {recebido[:300]!r}")
        _conferir_vazamento(recebido)
        return recebido


def conferir(metodo: str, caminho: str, resposta: Resposta) -> None:
    """O que vale para toda resposta. Levanta `Defeito`."""
    if resposta.status >= 500:
        raise Defeito(f"{resposta.status} {resposta.corpo[:300]!r}")
    _conferir_vazamento(resposta.corpo)
    if resposta.cabecalhos.get("x-content-type-options") != "nosniff":
        raise Defeito(f"{resposta.status} sem nosniff")
    if caminho.startswith("/admin"):
        _conferir_tela(resposta)
    if metodo == "HEAD" or resposta.status < 400 or caminho.startswith("/admin"):
        return
    vazio = resposta.status == 405 and not resposta.corpo  # o do Django, nas rotas que só se leem
    if not vazio and not {"detail", "codigo"} <= set(resposta.json() or ()):
        raise Defeito(f"{resposta.status} fora da forma: {resposta.corpo[:200]!r}")


def _conferir_tela(resposta: Resposta) -> None:
    """O que toda resposta do painel diz ao navegador: não guarde, não emoldure, não ofereça aparelhos."""
    politica = resposta.cabecalhos.get("content-security-policy", "")
    guarda = resposta.cabecalhos.get("cache-control", "")
    if "frame-ancestors 'none'" not in politica or resposta.cabecalhos.get("x-frame-options") != "DENY":
        raise Defeito(f"{resposta.status} que se deixa emoldurar")
    if (
        guarda not in ("no-store, private", "private, no-cache")
        or "permissions-policy" not in resposta.cabecalhos
    ):
        raise Defeito(f"{resposta.status} com Cache-Control {guarda!r}")


def _conferir_vazamento(corpo: bytes) -> None:
    for marca in VAZAMENTOS:
        if marca in corpo:
            raise Defeito(f"a resposta traz {marca!r}")


def esta_de_pe(visitante: Visitante) -> bool:
    """Diz se a porta ainda responde."""
    try:
        return visitante.pedir("GET", "/saude").status == 200
    except (Defeito, SemResposta):
        return False
