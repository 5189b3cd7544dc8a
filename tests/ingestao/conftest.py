"""Um aplicativo, um jeito de postar como um navegador e um jeito de aplicar o que está na caixa."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from ingestao.caixa import Balanco
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Recusa

Postar = Callable[..., Any]
Processar = Callable[[], Balanco]
ORIGEM = "https://exemplo.com.br"


@pytest.fixture
def aplicativo(db: None) -> Aplicativo:
    return Aplicativo.objects.create(nome="Loja", dominios=["exemplo.com.br", "*.exemplo.com.br"])


@pytest.fixture
def postar(client: Client, aplicativo: Aplicativo) -> Postar:
    """Posta um lote (ou um corpo cru) como um navegador faria."""

    def postar(
        *eventos: Any,
        corpo: bytes | None = None,
        sessao: Any = None,
        chave: Any = None,
        origem: str | None = ORIGEM,
        tipo_de_conteudo: str = "application/json",
        comprimir: bool = False,
        cabecalhos: dict[str, str] | None = None,
    ) -> Any:
        if corpo is None:
            lote = {
                "chave": aplicativo.chave if chave is None else chave,
                "sessao": {"sessao_externa": "s-1"} if sessao is None else sessao,
                "eventos": list(eventos),
            }
            corpo = json.dumps(lote).encode()
        headers = dict(cabecalhos or {})
        if origem is not None:
            headers["origin"] = origem
        if comprimir:
            corpo = gzip.compress(corpo)
            headers["content-encoding"] = "gzip"
        return client.post("/evento/ingestao", corpo, content_type=tipo_de_conteudo, headers=headers)

    return postar


@pytest.fixture
def processar(db: None) -> Processar:
    """Aplica o que está na caixa, como o worker faria; falha se algo foi adiado ou estacionado."""

    def processar() -> Balanco:
        balanco = CAIXA_DE_LOTES.esvaziar()
        assert (balanco.adiados, balanco.estacionados) == (0, 0)
        return balanco

    return processar


def recusas() -> dict[str, tuple[int, int]]:
    """As requisições e os eventos recusados, por motivo."""
    return {r.motivo: (r.quantidade_requisicoes, r.quantidade_eventos) for r in Recusa.objects.all()}


_sequencia = iter(range(10**9))


def evento(**campos: Any) -> dict[str, Any]:
    """Um evento válido, com id próprio, e o que mais se quiser."""
    return {"evento_id": f"e-{next(_sequencia)}", "tipo": "CLIQUE", **campos}
