"""O que nunca sai da página, e as páginas que pediram para não ser acompanhadas."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.navegador.coletor.atravessador import Atravessador
from tests.navegador.coletor.site import Site

Abrir = Callable[..., Page]
AteGravar = Callable[..., list[dict[str, Any]]]


def enviado(atravessador: Atravessador) -> str:
    return json.dumps([atravessador.lotes, atravessador.cabecalhos], ensure_ascii=False)


def test_query_string_e_credencial_saem_de_todo_endereco(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, site: Site, contexto: BrowserContext
) -> None:
    site.por("/antes", '<a href="/loja?token=SEGREDO#SEGREDO">ir</a>', Referrer_Policy="unsafe-url")
    abrir().close()
    script = site.por(
        "/app.js",
        "function comprar() { throw new Error('GET https://u:SEGREDO@x.test/a?b=SEGREDO falhou; /c?d=SEGREDO'); }",
    )
    pagina = contexto.new_page()
    pagina.goto(f"http://127.0.0.1:{site.porta}/antes?q=SEGREDO")
    pagina.click("a")
    pagina.wait_for_function("window.lastro")
    pagina.evaluate(
        "url => new Promise((pronto) => { const s = document.createElement('script');"
        " s.src = url; s.onload = () => { setTimeout(() => comprar()); pronto(); }; document.head.append(s); })",
        f"{script}?v=SEGREDO",
    )
    (erro,) = ate_gravar("ERRO_JS")
    assert erro["mensagem"] == "Uncaught Error: GET https://x.test/a falhou; /c"
    assert f"at comprar ({script}:1:" in erro["pilha"]
    paginas = ate_gravar("PAGINA", 2)
    assert paginas[1]["payload"] == {"referencia": f"http://127.0.0.1:{site.porta}/antes"}
    assert "SEGREDO" not in enviado(atravessador)


def test_valor_de_campo_nunca_sai(abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar) -> None:
    pagina = abrir(
        """<form onsubmit="return false"><label>Senha <input type=password value=SEGREDO></label>
        <textarea>SEGREDO</textarea><select><option>SEGREDO</select><div contenteditable>SEGREDO</div>
        <button>Enviar<input type=hidden value=SEGREDO><textarea hidden>SEGREDO</textarea></button>
        <input type=submit value=SEGREDO><button id=conta>Conta 123.456.789-00 de ana@x.com</button></form>"""
    )
    for seletor in (
        "[type=password]",
        "textarea",
        "select",
        "[contenteditable]",
        "button",
        "[type=submit]",
        "#conta",
    ):
        pagina.click(seletor, position={"x": 5, "y": 5})
    achados = ate_gravar("CLIQUE", 7)
    assert [c["texto"] for c in achados if c["texto"]] == ["Enviar", "Conta [número] de [e-mail]"]
    assert "SEGREDO" not in enviado(atravessador)


def test_data_lastro_ocultar_cala_o_texto_de_tudo_o_que_esta_dentro(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    pagina = abrir(
        '<section data-lastro-ocultar><button id=segredo-a aria-label="SEGREDO">SEGREDO</button></section>'
        "<button id=fora>Saldo: <b data-lastro-ocultar>SEGREDO</b></button>"
    )
    pagina.click("#segredo-a")
    pagina.click("#fora", position={"x": 5, "y": 5})
    um, dois = ate_gravar("CLIQUE", 2)
    assert (um["seletor"], um["texto"]) == ("body > section", None)
    assert (dois["seletor"], dois["texto"]) == ("button#fora", "Saldo:")
    assert "SEGREDO" not in enviado(atravessador)


@pytest.mark.parametrize("pedido", ["globalPrivacyControl: true", "doNotTrack: '1'"])
def test_pedido_de_nao_rastrear_e_respeitado_por_opcao(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, pedido: str
) -> None:
    sinal = f"Object.defineProperties(Navigator.prototype, Object.getOwnPropertyDescriptors({{{pedido}}}));"
    pagina = abrir(antes=sinal, data_respeitar_dnt="")
    pagina.evaluate("() => { lastro.evento('nada'); console.error('nada'); lastro.desligar(); }")
    pagina.wait_for_timeout(400)
    assert atravessador.lotes == []
    assert pagina.evaluate("localStorage.length + sessionStorage.length") == 0
    abrir(antes=sinal, caminho="/sem-a-opcao")
    ate_gravar("PAGINA")


def test_nenhum_cookie_e_so_o_que_esta_documentado_fica_no_navegador(
    abrir: Abrir, contexto: BrowserContext, ate_gravar: AteGravar
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    assert contexto.cookies() == []
    pagina.wait_for_function("Object.keys(localStorage).join() === 'lastro.anonimo'")
    assert pagina.evaluate("Object.keys(sessionStorage)") == ["lastro.sessao"]


@pytest.mark.parametrize("como", ["bloqueado", "por opção", "cheio"])
def test_sem_armazenamento_coleta_do_mesmo_jeito(abrir: Abrir, ate_gravar: AteGravar, como: str) -> None:
    bloqueio = {
        "bloqueado": "for (const nome of ['localStorage', 'sessionStorage']) Object.defineProperty(window, nome,"
        " {get() { throw new DOMException('negado', 'SecurityError'); }});",
        "por opção": "",
        "cheio": "Storage.prototype.setItem = () => { throw new DOMException('cheio', 'QuotaExceededError'); };",
    }[como]
    pagina = abrir(antes=bloqueio, **({"data_sem_guardar": ""} if como == "por opção" else {}))
    erros: list[Any] = []
    pagina.on("pageerror", lambda erro: erros.append(erro))
    pagina.evaluate("() => lastro.evento('marca', {i: 1})")
    ate_gravar("PERSONALIZADO")
    pagina.evaluate("() => lastro.desligar()")
    assert erros == []
    if como == "por opção":
        assert pagina.evaluate("localStorage.length + sessionStorage.length") == 0


def test_desligar_para_tudo_devolve_a_pagina_e_apaga_o_que_estava_guardado(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    pagina = abrir(antes="window.original = [fetch, XMLHttpRequest.prototype.send, console.error];")
    ate_gravar("PAGINA")
    pagina.wait_for_timeout(300)
    antes = len(atravessador.lotes)
    pagina.evaluate(
        "() => { lastro.evento('fica', {}); lastro.desligar(); lastro.evento('nada'); console.error('nada'); }"
    )
    assert pagina.evaluate(
        "original.every((f, i) => f === [fetch, XMLHttpRequest.prototype.send, console.error][i])"
    )
    assert pagina.evaluate("localStorage.length + sessionStorage.length") == 0
    pagina.goto("about:blank")
    pagina.wait_for_timeout(200)
    assert len(atravessador.lotes) == antes


def test_com_query_so_por_opcao(abrir: Abrir, ate_gravar: AteGravar, site: Site) -> None:
    pagina = abrir(data_com_query="")
    pagina.evaluate("() => fetch('/api/ok?pagina=2')")
    assert ate_gravar("REQUISICAO")[0]["url"] == f"http://127.0.0.1:{site.porta}/api/ok?pagina=2"
