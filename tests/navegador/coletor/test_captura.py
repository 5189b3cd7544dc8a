"""Cada tipo de evento, de uma página de outra origem até a linha no banco."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from tests.caos.servidor import ServidorLocal
from tests.navegador.coletor.atravessador import Atravessador
from tests.navegador.coletor.site import Site

Abrir = Callable[..., Page]
AteGravar = Callable[..., list[dict[str, Any]]]


def lancar(pagina: Page, expressao: str) -> None:
    """Lança numa tarefa da própria página: um erro dentro de `evaluate` iria para o teste."""
    pagina.evaluate(f"() => void setTimeout(() => {{ {expressao} }})")


def test_erro_traz_nome_mensagem_pilha_arquivo_linha_e_coluna(
    abrir: Abrir, ate_gravar: AteGravar, site: Site
) -> None:
    url = site.por("/app.js", "function comprar() {\n  carrinho.total();\n}\n")
    pagina = abrir(f'<script src="{url}?v=7"></script>')
    lancar(pagina, "comprar()")
    (erro,) = ate_gravar("ERRO_JS")
    assert erro["nome"] == "ReferenceError"
    assert erro["mensagem"] == "Uncaught ReferenceError: carrinho is not defined"
    assert (erro["arquivo"], erro["linha"], erro["coluna"]) == (url, 2, 3)
    assert f"at comprar ({url}:2:3)" in erro["pilha"]
    assert erro["url"] == f"http://127.0.0.1:{site.porta}/loja"
    assert erro["erro_id"] is not None


MOTIVOS = {
    "new TypeError('falhou')": ("TypeError", "falhou"),
    "'só um texto'": (None, "só um texto"),
    "undefined": (None, "undefined"),
    "null": (None, "null"),
    "42": (None, "42"),
    "Symbol('s')": (None, "Symbol(s)"),
    "10n ** 20n": (None, "100000000000000000000"),
    "{codigo: 7, itens: [1]}": ("Object", '{"codigo":7,"itens":[1]}'),
    "new DOMException('cancelado', 'AbortError')": ("AbortError", "cancelado"),
    "document.body": ("Object", "<body>"),
}


def test_promise_rejeitada_com_qualquer_motivo(abrir: Abrir, ate_gravar: AteGravar) -> None:
    rejeitar = "; ".join(f"Promise.reject({motivo})" for motivo in MOTIVOS)
    abrir().evaluate(f"() => {{ {rejeitar} }}")
    rejeicoes = ate_gravar("PROMISE_REJEITADA", len(MOTIVOS))
    assert [(r["nome"], r["mensagem"]) for r in rejeicoes] == list(MOTIVOS.values())


def test_console_error_entra_em_erros_e_warn_so_por_opcao(
    abrir: Abrir, ate_gravar: AteGravar, gravados: AteGravar
) -> None:
    abrir().evaluate("() => { console.warn('aviso'); console.error('falha ao salvar', {id: 3}); }")
    (console,) = ate_gravar("CONSOLE")
    assert (console["nivel"], console["mensagem"]) == ("error", 'falha ao salvar {"id":3}')
    assert console["erro_id"] is not None
    abrir(caminho="/outra", data_console="error warn").evaluate(
        "() => console.warn('devagar', new Error('x'))"
    )
    achados = ate_gravar("CONSOLE", 2)
    assert (achados[1]["nivel"], achados[1]["mensagem"], achados[1]["nome"]) == (
        "warn",
        "devagar Error: x",
        "Error",
    )
    assert achados[1]["pilha"].startswith("Error: x")


def test_requisicoes_de_fetch_e_xhr_sem_query_nem_corpo_e_nunca_as_do_coletor(
    abrir: Abrir, ate_gravar: AteGravar, atravessador: Atravessador, site: Site
) -> None:
    pagina = abrir()
    pagina.evaluate(
        """async () => {
            await fetch('/api/ok?token=segredo', {method: 'post', body: 'senha'});
            await fetch(new Request('/api/erro'));
            await fetch(new URL('/api/nada#pedaco', location.href));
            await fetch('http://127.0.0.1:1/fora').catch(() => {});
            const pedir = (metodo, url) => new Promise((pronto) => {
                const xhr = new XMLHttpRequest();
                xhr.open(metodo, url); xhr.onloadend = pronto; xhr.send();
            });
            await pedir('GET', '/api/ok?cpf=1');
            await pedir('put', 'http://127.0.0.1:1/fora');
        }"""
    )
    achadas = ate_gravar("REQUISICAO", 6)
    raiz = f"http://127.0.0.1:{site.porta}"
    assert [(r["metodo"], r["url"], r["status"], r["nome"]) for r in achadas] == [
        ("POST", f"{raiz}/api/ok", 200, None),
        ("GET", f"{raiz}/api/erro", 500, None),
        ("GET", f"{raiz}/api/nada", 404, None),
        ("GET", "http://127.0.0.1:1/fora", 0, "TypeError"),
        ("GET", f"{raiz}/api/ok", 200, None),
        ("PUT", "http://127.0.0.1:1/fora", 0, None),
    ]
    assert all(0 <= r["duracao_ms"] < 20_000 for r in achadas)
    assert achadas[0]["payload"] == {"pagina": f"{raiz}/loja"}
    assert not any("segredo" in str(lote) or "senha" in str(lote) for lote in atravessador.lotes)


def test_clique_traz_seletor_estavel_e_o_texto_do_botao(abrir: Abrir, ate_gravar: AteGravar) -> None:
    pagina = abrir(
        '<main id=caixa><div><p>Total</p></div><div class="css-1x9a"><button>Comprar  <b>agora</b></button></div>'
        '</main><button data-testid="sair">Sair</button><span id="r1234" style="padding:9px">solto</span>'
    )
    for seletor in ("b", "[data-testid=sair]", "#r1234"):
        pagina.click(seletor)
    um, dois, tres = ate_gravar("CLIQUE", 3)
    assert (um["seletor"], um["texto"]) == ("main#caixa > div:nth-of-type(2) > button", "Comprar agora")
    assert (dois["seletor"], dois["texto"]) == ('button[data-testid="sair"]', "Sair")
    assert (tres["seletor"], tres["texto"]) == ("body > span", None)


def test_paginas_inclusive_as_de_navegacao_sem_recarga(
    abrir: Abrir, ate_gravar: AteGravar, site: Site
) -> None:
    pagina = abrir()
    pagina.evaluate(
        """async () => {
            history.pushState({}, '', '/loja/carrinho?cupom=X');
            history.replaceState({}, '', '/loja/carrinho?cupom=Y');
            history.pushState({}, '', '/loja/fim#topo');
            location.hash = '#/passo/2?id=9';
            await new Promise((f) => addEventListener('hashchange', f, {once: true}));
            history.back();
        }"""
    )
    raiz = f"http://127.0.0.1:{site.porta}"
    achadas = ate_gravar("PAGINA", 5)
    caminhos = [p["url"].removeprefix(raiz) for p in achadas]
    assert caminhos == ["/loja", "/loja/carrinho", "/loja/fim", "/loja/fim#/passo/2", "/loja/fim"]
    assert achadas[1]["payload"] == {"referencia": f"{raiz}/loja"}


def test_desempenho_traz_as_cinco_medidas_e_a_sessao_o_tempo_de_carregamento(
    abrir: Abrir, ate_gravar: AteGravar, servidor: ServidorLocal, chave: str
) -> None:
    pagina = abrir(
        '<h1>Uma loja com um título bem grande</h1><button onclick="const f = performance.now() + 90;'
        " while (performance.now() < f); this.before('cresceu')\">Devagar</button>"
    )
    ate_gravar("DESEMPENHO", 2)
    pagina.wait_for_timeout(200)
    pagina.click("button")
    pagina.wait_for_timeout(300)
    pagina.goto("about:blank")
    medidas = {m["metrica"]: m["valor"] for m in ate_gravar("DESEMPENHO", 5)}
    assert medidas.keys() == {"TTFB", "CARREGAMENTO", "LCP", "CLS", "INP"}
    assert 0 <= medidas["TTFB"] <= medidas["CARREGAMENTO"] < 20_000
    assert medidas["LCP"] > 0
    assert 0 <= medidas["CLS"] < 1
    assert medidas["INP"] >= 88
    ((carregamento,),) = servidor.consultar(
        "SELECT tempo_carregamento_ms FROM ingestao_sessao s JOIN ingestao_aplicativo a ON a.id = s.aplicativo_id"
        " WHERE a.chave = %s",
        (chave,),
    )
    assert carregamento == medidas["CARREGAMENTO"]


def test_identificar_e_evento_da_pagina(
    abrir: Abrir, ate_gravar: AteGravar, servidor: ServidorLocal, chave: str
) -> None:
    pagina = abrir()
    pagina.evaluate("() => { lastro.identificar(42); lastro.evento('compra', {total: 10.5, itens: ['a']}); }")
    (compra,) = ate_gravar("PERSONALIZADO")
    assert (compra["nome"], compra["payload"]) == ("compra", {"total": 10.5, "itens": ["a"]})
    assert ate_gravar("IDENTIFICACAO")[0]["usuario_id"] == "42"
    ((sessao,),) = servidor.consultar(
        "SELECT row_to_json(s) FROM ingestao_sessao s JOIN ingestao_aplicativo a ON a.id = s.aplicativo_id"
        " WHERE a.chave = %s",
        (chave,),
    )
    assert sessao["usuario_id"] == "42"
    assert re.fullmatch(r"Chrome \d+", sessao["navegador"])
    assert (sessao["sistema_operacional"], sessao["dispositivo"]) == ("Linux", "computador")
    assert re.fullmatch(r"[0-9a-f]{32}", sessao["anonimo_id"])
    assert re.fullmatch(r"\d+x\d+", sessao["resolucao"])
    assert sessao["pagina_inicial"].endswith("/loja")


def test_pulso_marca_atividade_e_nao_e_gravado(
    abrir: Abrir, atravessador: Atravessador, gravados: AteGravar
) -> None:
    pagina = abrir(data_pulso_s="0.2")
    pagina.wait_for_timeout(900)
    assert "PULSO" in {e["tipo"] for lote in atravessador.lotes for e in lote["eventos"]}
    assert gravados("PULSO") == []


def test_evento_do_mesmo_visitante_e_da_mesma_sessao_entre_paginas(
    abrir: Abrir, ate_gravar: AteGravar, atravessador: Atravessador, site: Site
) -> None:
    pagina = abrir()
    pagina.goto(f"http://127.0.0.1:{site.porta}/loja?outra")
    ate_gravar("PAGINA", 2)
    sessoes = {
        (lote["sessao"]["sessao_externa"], lote["sessao"]["anonimo_id"]) for lote in atravessador.lotes
    }
    assert len(sessoes) == 1
