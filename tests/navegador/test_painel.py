"""O painel no Chromium: entra-se em dois passos, e nenhuma tela viola a política de conteúdo."""

import base64
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from django_otp.oath import TOTP
from playwright.sync_api import Browser, BrowserContext, Page

from tests.caos.servidor import RAIZ, ServidorLocal, esperar

TELAS_NO_MAXIMO = 120  # o painel inteiro tem perto de metade disto com um registro de cada
SEMENTES = ("/admin/", "/admin/nao-existe/", "/admin/segundo-fator/", "/admin/password_change/", "/api/docs")
ESCUTAR_VIOLACOES = """
    window.violacoes = [];
    document.addEventListener("securitypolicyviolation",
        evento => window.violacoes.push(evento.effectiveDirective + " " + evento.blockedURI));
"""


def raiz(servidor: ServidorLocal) -> str:
    return f"http://127.0.0.1:{servidor.porta}"


def senha_do_admin(servidor: ServidorLocal) -> str:
    return (servidor.dados / "senha-admin.txt").read_text("utf-8").strip()


@pytest.fixture
def contexto(chromium: Browser) -> Iterator[BrowserContext]:
    contexto = chromium.new_context(locale="pt-BR")
    contexto.add_init_script(ESCUTAR_VIOLACOES)
    yield contexto
    contexto.close()


def entrar(pagina: Page, servidor: ServidorLocal) -> None:
    pagina.goto(f"{raiz(servidor)}/admin/login/")
    pagina.fill("input[name=username]", "admin")
    pagina.fill("input[name=password]", senha_do_admin(servidor))
    pagina.click("button[type=submit]")


@pytest.fixture(scope="module")
def com_dados(servidor: ServidorLocal) -> None:
    """Um registro, ao menos, atrás de cada tela de lista."""
    evento = {"evento_id": "e1", "tipo": "ERRO_JS", "nome": "TypeError", "mensagem": "x", "payload": {"a": 1}}
    corpo = {"chave": "pk_live_demonstracao", "sessao": {"sessao_externa": "s"}, "eventos": [evento]}
    origem = {"origin": "http://localhost"}
    assert httpx.post(f"{raiz(servidor)}/evento/ingestao", json=corpo, headers=origem).status_code == 202
    saida = subprocess.run(
        [sys.executable, "manage.py", "criar_integracao", "--slug", "op", "--formato", "padrao"],
        cwd=RAIZ,
        env=servidor.ambiente(),
        capture_output=True,
        text=True,
        check=True,
    )
    callback = json.loads(saida.stdout)["url_callback"]
    for recibo in (b'{"id_externo": "a", "estado": "DELIVERED", "destino": "+5511999990000"}', b"torto"):
        assert httpx.post(f"{raiz(servidor)}{callback}", content=recibo).status_code == 202
    for tabela in ("dlr_ocorrencia", "ingestao_erro"):
        assert esperar(lambda: servidor.consultar(f"SELECT 1 FROM {tabela}"), 60), tabela  # noqa: B023


class Escuta:
    """As queixas do navegador, tela a tela."""

    def __init__(self, pagina: Page) -> None:
        self.pagina = pagina
        self.queixas: list[str] = []
        pagina.on("console", lambda mensagem: self._anotar(mensagem.type, mensagem.text))
        pagina.on("pageerror", lambda erro: self.queixas.append(f"{pagina.url}: {erro}"))

    def _anotar(self, tipo: str, texto: str) -> None:
        if "Content Security Policy" in texto or "Permissions-Policy" in texto:
            self.queixas.append(f"{self.pagina.url}: {texto}")

    def conferir(self) -> None:
        self.queixas += [f"{self.pagina.url}: {v}" for v in self.pagina.evaluate("window.violacoes")]
        assert not self.queixas


def test_nenhuma_tela_viola_a_politica_de_conteudo(
    contexto: BrowserContext, servidor: ServidorLocal, com_dados: None
) -> None:
    pagina = contexto.new_page()
    escuta = Escuta(pagina)
    pagina.goto(f"{raiz(servidor)}/admin/login/")
    escuta.conferir()
    entrar(pagina, servidor)
    a_ver, vistas = list(SEMENTES), set[str]()
    while a_ver and len(vistas) < TELAS_NO_MAXIMO:
        rota = a_ver.pop(0)
        if (forma := re.sub(r"/(\d+|[0-9a-f-]{36})(?=/)", "/N", rota)) in vistas:
            continue
        vistas.add(forma)
        pagina.goto(f"{raiz(servidor)}{rota}")
        pagina.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        escuta.conferir()
        enderecos = pagina.eval_on_selector_all(
            "a[href^='/admin/']", "links => links.map(a => a.getAttribute('href'))"
        )
        listas = [e.partition("#")[0] for e in enderecos if "logout" not in e and "?" not in e]
        a_ver.extend(listas)
    # Viu de verdade: as listas do menu e as páginas de um registro de cada fluxo.
    assert {"/admin/ingestao/erro/", "/admin/dlr/excecao/", "/admin/admin/logentry/"} <= vistas
    assert sum("/change/" in rota for rota in vistas) >= 5
    assert len(vistas) > 25


def test_a_politica_barra_script_escrito_na_pagina(contexto: BrowserContext, servidor: ServidorLocal) -> None:
    """O teste acima escuta mesmo: um script sem o nonce não roda e é notado."""
    pagina = contexto.new_page()
    pagina.goto(f"{raiz(servidor)}/admin/login/")
    pagina.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'window.invadiu = 1';"
        " document.body.append(s); const i = document.createElement('img'); i.src = 'http://mau.example/x';"
        " document.body.append(i); }"
    )
    assert esperar(lambda: len(pagina.evaluate("window.violacoes")) >= 2, 30)
    assert pagina.evaluate("window.invadiu") is None


def test_entra_em_dois_passos_com_o_segredo_que_a_tela_mostrou(
    contexto: BrowserContext, servidor: ServidorLocal
) -> None:
    pagina = contexto.new_page()
    escuta = Escuta(pagina)
    entrar(pagina, servidor)
    pagina.goto(f"{raiz(servidor)}/admin/segundo-fator/")
    assert pagina.locator(".lastro-qr svg").bounding_box()["width"] > 150  # type: ignore[index]
    segredo = pagina.inner_text(".lastro-segredo").replace(" ", "")
    pagina.fill("input[name=codigo]", calcular(segredo))
    pagina.click("button:has-text('Ativar')")
    codigos = pagina.locator(".lastro-recuperacao code").all_inner_texts()
    assert len(codigos) == 10
    escuta.conferir()
    try:
        contexto.clear_cookies()
        entrar(pagina, servidor)
        assert pagina.url.endswith("/admin/login/codigo/")
        pagina.fill("input[name=codigo]", "000000")
        pagina.click("button:has-text('Entrar')")
        assert "não confere" in pagina.inner_text("body")
        time.sleep(1.1)  # a espera de um segundo que o erro impõe
        pagina.fill("input[name=codigo]", codigos[0])
        pagina.click("button:has-text('Entrar')")
        assert pagina.url.endswith("/admin/")
        escuta.conferir()
    finally:
        comando = [sys.executable, "manage.py", "remover_segundo_fator", "admin"]
        subprocess.run(comando, cwd=RAIZ, env=servidor.ambiente(), check=True, capture_output=True)


def calcular(segredo_base32: str) -> str:
    """O que o aplicativo autenticador mostraria para o segredo digitado."""
    totp = TOTP(base64.b32decode(segredo_base32))
    totp.time = time.time()
    return f"{totp.token():06d}"
