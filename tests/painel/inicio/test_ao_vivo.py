"""A página num Chromium de verdade: o que chega aparece sozinho, sem tirar a pessoa de onde estava."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.caos.servidor import RAIZ, ServidorLocal
from tests.navegador.conftest import abrir_chromium

PRAZO_MS = 45_000  # o intervalo é de 5 s; a máquina pode estar rodando o resto da suíte
NOME_HOSTIL = '<img src=x onerror="alert(1)"> \u202egpj'


@pytest.fixture(scope="module")
def servidor() -> Iterator[ServidorLocal]:
    with ServidorLocal() as servidor:
        yield servidor


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Fechado ao fim deste arquivo: o Playwright aberto impede o `asyncio.run` dos testes seguintes."""
    with abrir_chromium() as navegador:
        yield navegador


@pytest.fixture(scope="module")
def chave(servidor: ServidorLocal) -> str:
    comando = [
        sys.executable,
        "manage.py",
        "criar_aplicativo",
        "--nome",
        NOME_HOSTIL,
        "--dominio",
        "127.0.0.1",
    ]
    saida = subprocess.run(
        [*comando, "--franquia", "1000"],
        cwd=RAIZ,
        env=servidor.ambiente(),
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(saida.stdout)["chave"])


@pytest.fixture
def pagina(servidor: ServidorLocal, chromium: Browser) -> Iterator[Page]:
    """A página inicial aberta por quem administra; falha se o navegador reclamar de algo."""
    contexto = chromium.new_context(locale="pt-BR")
    aberta = contexto.new_page()
    reclamacoes: list[str] = []
    aberta.on("pageerror", lambda erro: reclamacoes.append(str(erro)))
    aberta.on("dialog", lambda dialogo: (reclamacoes.append(dialogo.message), dialogo.dismiss()))
    senha = (servidor.dados / "senha-admin.txt").read_text().split()[-1]
    aberta.goto(f"http://127.0.0.1:{servidor.porta}/admin/login/?next=/admin/")
    aberta.fill("[name=username]", "admin")
    aberta.fill("[name=password]", senha)
    aberta.click("[type=submit]")
    aberta.wait_for_selector("[data-situacao=vivo]")
    yield aberta
    contexto.close()
    assert reclamacoes == []


def mandar(servidor: ServidorLocal, chave: str, *ids: str) -> None:
    eventos = [{"evento_id": id_, "tipo": "ERRO_JS", "mensagem": NOME_HOSTIL} for id_ in ids]
    corpo = {"chave": chave, "sessao": {"sessao_externa": "s"}, "eventos": eventos}
    pedido = Request(
        f"http://127.0.0.1:{servidor.porta}/evento/ingestao",
        json.dumps(corpo).encode(),
        {"Origin": "http://127.0.0.1", "Content-Type": "text/plain"},
    )
    assert urlopen(pedido, timeout=30).status == 202


def numero_de_eventos(pagina: Page) -> int:
    return int(pagina.locator("#hoje .inicio-numero").first.inner_text().replace(".", ""))


def test_lote_que_chega_muda_o_numero_sem_recarregar(
    servidor: ServidorLocal, chave: str, pagina: Page
) -> None:
    antes = numero_de_eventos(pagina)
    tabela = pagina.locator("#mes details").first
    if antes:
        tabela.locator("summary").click()
    pagina.evaluate("window.mesmaPagina = true")
    elo = pagina.locator("#hoje .inicio-numero a").first
    elo.focus()
    pagina.evaluate("window.scrollTo(0, 200)")
    mandar(servidor, chave, *(f"vivo-{n}" for n in range(7)))
    expect(pagina.locator("#hoje .inicio-numero").first).to_have_text(str(antes + 7), timeout=PRAZO_MS)
    assert pagina.evaluate("window.mesmaPagina") is True
    assert pagina.evaluate("document.activeElement === document.querySelector('#hoje .inicio-numero a')")
    assert pagina.evaluate("window.scrollY") == pagina.evaluate(
        "Math.min(200, document.documentElement.scrollHeight - innerHeight)"
    )
    expect(pagina.locator("#erros")).to_contain_text("Novos em 24 h")
    expect(pagina.locator("#filas")).to_contain_text(re.compile(r"[1-9]\d* workers? vivos?"))


def test_nome_hostil_nao_executa_nem_some(servidor: ServidorLocal, chave: str, pagina: Page) -> None:
    mandar(servidor, chave, "hostil")
    expect(pagina.locator("#cota")).to_contain_text('<img src=x onerror="alert(1)">', timeout=PRAZO_MS)
    assert pagina.locator("#cota img, #erros img").count() == 0


def test_tabela_aberta_continua_aberta(servidor: ServidorLocal, chave: str, pagina: Page) -> None:
    antes = numero_de_eventos(pagina)
    mandar(servidor, chave, "tabela-1")
    expect(pagina.locator("#hoje .inicio-numero").first).to_have_text(str(antes + 1), timeout=PRAZO_MS)
    pagina.locator("#hora details summary").first.click()
    mandar(servidor, chave, "tabela-2", "tabela-3")
    expect(pagina.locator("#hoje .inicio-numero").first).to_have_text(str(antes + 3), timeout=PRAZO_MS)
    assert pagina.locator("#hora details").first.evaluate("d => d.open") is True


def test_pausado_nao_pergunta(servidor: ServidorLocal, chave: str, pagina: Page) -> None:
    antes = numero_de_eventos(pagina)
    mandar(servidor, chave, "pausa-antes")
    expect(pagina.locator("#hoje .inicio-numero").first).to_have_text(str(antes + 1), timeout=PRAZO_MS)
    pagina.get_by_role("button", name="Pausar").click()
    pedidos: list[str] = []
    pagina.on("request", lambda pedido: pedidos.append(pedido.url) if "retrato" in pedido.url else None)
    mandar(servidor, chave, "pausa")
    pagina.wait_for_timeout(7_000)  # mais que um intervalo
    assert pedidos == []
    expect(pagina.locator("[data-vivo]")).to_contain_text("Pausado")
    assert numero_de_eventos(pagina) == antes + 1
    pagina.get_by_role("button", name="Continuar").click()
    expect(pagina.locator("#hoje .inicio-numero").first).to_have_text(str(antes + 2), timeout=PRAZO_MS)


def test_aba_oculta_nao_pergunta(pagina: Page) -> None:
    pedidos: list[str] = []
    pagina.on("request", lambda pedido: pedidos.append(pedido.url) if "retrato" in pedido.url else None)
    pagina.evaluate(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    pagina.wait_for_timeout(7_000)
    assert pedidos == []
    pagina.evaluate(
        "Object.defineProperty(document, 'hidden', {value: false, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    pagina.wait_for_timeout(2_000)
    assert len(pedidos) >= 1


def test_sem_javascript_a_pagina_se_le(servidor: ServidorLocal, chromium: Browser, pagina: Page) -> None:
    biscoitos = pagina.context.cookies()
    contexto = chromium.new_context(java_script_enabled=False, locale="pt-BR")
    contexto.add_cookies(biscoitos)
    aberta = contexto.new_page()
    aberta.goto(f"http://127.0.0.1:{servidor.porta}/admin/")
    expect(aberta.locator("#faixa")).to_contain_text("Recusado?")
    expect(aberta.locator("#hoje .inicio-numero")).to_have_count(3)
    expect(aberta.locator("[data-pausa]")).to_be_hidden()
    contexto.close()


@pytest.mark.parametrize("largura", [390, 1440])
def test_nada_transborda_e_nenhuma_regra_de_acessibilidade_falha(pagina: Page, largura: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    pagina.set_viewport_size({"width": largura, "height": 900})
    pagina.wait_for_timeout(500)
    assert pagina.evaluate("document.documentElement.scrollWidth") <= largura
    for tema in ("light", "dark"):
        pagina.evaluate("tema => localStorage.setItem('adminTheme', JSON.stringify(tema))", tema)
        pagina.reload()
        pagina.wait_for_selector("[data-situacao=vivo]")
        achados = Axe().run(pagina, context=".inicio").response["violations"]
        assert [(a["id"], [n["html"][:160] for n in a["nodes"]][:3]) for a in achados] == []
