"""`GET /coletor.js` e a página de demonstração, sem navegador."""

import gzip
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from config import ambiente
from ingestao.coletor import MINIFICADO
from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from ingestao.models import Aplicativo

TETO_BYTES = 6 * 1024
COM_GZIP = {"accept-encoding": "br;q=1.0, gzip;q=0.8"}


def test_o_que_se_serve_tem_no_maximo_seis_kb_comprimido(client: Client) -> None:
    resposta = client.get("/coletor.js", headers=COM_GZIP)
    assert resposta.status_code == 200
    assert resposta["Content-Encoding"] == "gzip"
    assert len(resposta.content) <= TETO_BYTES
    assert gzip.decompress(resposta.content) == MINIFICADO.read_bytes()


@pytest.mark.parametrize("aceita", ["", "identity", "gzip;q=0", "br, gzip; q=0.0, deflate"])
def test_quem_nao_aceita_gzip_recebe_o_script_puro(client: Client, aceita: str) -> None:
    resposta = client.get("/coletor.js", headers={"accept-encoding": aceita})
    assert "Content-Encoding" not in resposta
    assert resposta.content == MINIFICADO.read_bytes()


def test_cache_etag_e_304_sem_corpo(client: Client) -> None:
    primeira = client.get("/coletor.js", headers=COM_GZIP)
    assert primeira["Cache-Control"] == "public, max-age=3600, stale-while-revalidate=86400"
    assert primeira["Content-Type"] == "text/javascript; charset=utf-8"
    assert primeira["Vary"] == "Accept-Encoding"
    assert primeira["Access-Control-Allow-Origin"] == "*"
    assert primeira["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert "Set-Cookie" not in primeira
    for ainda in (primeira["ETag"], f'"outra", {primeira["ETag"]}', "*"):
        segunda = client.get("/coletor.js", headers={"if-none-match": ainda})
        assert (segunda.status_code, segunda.content, segunda["ETag"]) == (304, b"", primeira["ETag"])
    assert client.get("/coletor.js", headers={"if-none-match": 'W/"outra"'}).status_code == 200


def test_so_se_le(client: Client) -> None:
    assert client.head("/coletor.js").content == b""
    assert client.post("/coletor.js").status_code == 405


def test_o_script_nao_usa_o_que_uma_csp_proibe_nem_cookies() -> None:
    codigo = MINIFICADO.read_text("utf-8")
    for proibido in (
        r"\beval\b",
        r"new Function",
        r"\.innerHTML",
        r"document\.write",
        r"\.cookie\b",
        r"\.style\b",
    ):
        assert re.search(proibido, codigo) is None, proibido


def test_demonstracao_so_existe_no_modo_local(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", False)
    for rota in ("/demonstracao/", "/demonstracao/eventos"):
        resposta = client.get(rota)
        assert (resposta.status_code, resposta.json()["codigo"]) == (404, "rota_inexistente")


def test_demonstracao_nao_tem_nada_embutido(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", True)
    resposta = client.get("/demonstracao/")
    assert resposta["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    pagina = resposta.content.decode()
    assert f'data-chave="{CHAVE_DE_DEMONSTRACAO}"' in pagina
    assert re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", pagina) is None


def test_gravados_mostra_o_que_o_worker_aplicou(
    client: Client, postar: Callable[..., Any], processar: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", True)
    assert client.get("/demonstracao/eventos").json()["codigo"] == "sem_demonstracao"
    Aplicativo.objects.create(nome="Demonstração", dominios=["exemplo.com.br"], chave=CHAVE_DE_DEMONSTRACAO)
    evento = {"evento_id": "1", "tipo": "ERRO_JS", "mensagem": "<b>quebrou</b>", "linha": 3}
    postar(evento, {"evento_id": "2", "tipo": "PULSO"}, chave=CHAVE_DE_DEMONSTRACAO)
    postar({"evento_id": "3", "tipo": "CLIQUE"})  # de outro aplicativo
    processar()
    lido = client.get("/demonstracao/eventos", {"sessao": "s-1"}).json()
    assert [(e["tipo"], e["mensagem"], e["linha"]) for e in lido["eventos"]] == [
        ("ERRO_JS", "<b>quebrou</b>", 3)
    ]
    assert lido["sessao"]["quantidade_erros"] == 1
    assert client.get("/demonstracao/eventos", {"sessao": "s\0-de-ninguem"}).json()["sessao"] is None
