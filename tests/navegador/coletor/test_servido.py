"""O que se serve é o `coletor.js` deste repositório, e a página de demonstração o mostra funcionando."""

import subprocess
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from ingestao.coletor import MINIFICADO
from tests.caos.servidor import ServidorLocal


def test_o_minificado_e_o_que_make_coletor_faria_agora(npm: Path) -> None:
    feito = subprocess.run(
        ["npm", "run", "-s", "conferir"], cwd=npm, capture_output=True, text=True, check=True
    )
    assert MINIFICADO.read_text("utf-8").strip() == feito.stdout.strip(), "rode `make coletor`"


def test_demonstracao_mostra_cada_evento_que_um_botao_provoca(
    servidor: ServidorLocal, chromium: Browser
) -> None:
    contexto = chromium.new_context(viewport={"width": 390, "height": 844})
    pagina = contexto.new_page()
    violacoes: list[str] = []
    pagina.on("console", lambda m: violacoes.append(m.text) if "Content Security" in m.text else None)
    pagina.goto(f"http://127.0.0.1:{servidor.porta}/demonstracao/")
    for botao in pagina.query_selector_all("[data-faz]"):
        if botao.get_attribute("data-faz") not in ("recarregar", "enxurrada"):
            botao.click()
    pagina.click(".campo input")
    pagina.click("button[data-lastro-ocultar]")
    for resumo in (
        "carrinho is not defined",
        "o pagamento não respondeu",
        'falha ao salvar o pedido {"pedido":1042}',
        'estoque baixo ["camiseta",2]',
        "/nao-existe → 404",
        "compra {",
        "“Erro de JavaScript”",
        "/demonstracao/#/passo/",
        "TTFB",
    ):
        expect(pagina.locator(".resumo", has_text=resumo).first).to_be_attached(timeout=20_000)
    expect(pagina.locator("#pessoa")).to_have_text("ana")
    assert "nunca-sai" not in pagina.inner_text("#eventos")
    assert "1.234" not in pagina.inner_text("#eventos")
    assert perguntas_viraram_evento(pagina) is False
    assert pagina.evaluate("document.documentElement.scrollWidth") == 390
    assert violacoes == []
    contexto.close()


def perguntas_viraram_evento(pagina: Page) -> bool:
    return "/demonstracao/eventos" in pagina.inner_text("#eventos")
