"""A página continua a mesma: CSP rígida, páginas hostis, laços de erro, fetch e XHR iguais, Vue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

from tests.caos.servidor import esperar
from tests.navegador.coletor.atravessador import Atravessador
from tests.navegador.coletor.site import Site

Abrir = Callable[..., Page]
AteGravar = Callable[..., list[dict[str, Any]]]


def test_csp_rigida_basta_liberar_o_servidor_em_script_e_connect(
    site: Site,
    contexto: BrowserContext,
    atravessador: Atravessador,
    etiqueta: Callable[..., str],
    ate_gravar: AteGravar,
) -> None:
    servidor = f"http://127.0.0.1:{atravessador.porta}"
    csp = f"default-src 'none'; script-src {servidor}; connect-src {servidor}; require-trusted-types-for 'script'"
    url = site.por("/", f"<!doctype html>{etiqueta()}<button>Comprar</button>", Content_Security_Policy=csp)
    pagina = contexto.new_page()
    violacoes: list[str] = []
    pagina.on("console", lambda m: violacoes.append(m.text))
    pagina.goto(url)
    pagina.click("button")
    assert ate_gravar("CLIQUE")[0]["texto"] == "Comprar"
    assert [v for v in violacoes if "Content Security" in v or "Trusted" in v] == []


LACO = """async () => {
    let maior = 0, antes = performance.now();
    const vigia = setInterval(() => {
        maior = Math.max(maior, performance.now() - antes);
        antes = performance.now();
    }, 10);
    const erro = {message: 'em laço', error: new Error('em laço')};
    for (let i = 0; i < 100; i++) {
        for (let j = 0; j < 100; j++) dispatchEvent(new ErrorEvent('error', erro));
        await new Promise((pronto) => setTimeout(pronto));
    }
    clearInterval(vigia);
    return maior;
}"""


def test_dez_mil_erros_em_laco_a_pagina_responde_e_o_servidor_ve_poucos_e_a_conta(
    abrir: Abrir, gravados: AteGravar, atravessador: Atravessador
) -> None:
    pagina = abrir(antes="addEventListener('error', (e) => e.preventDefault());")
    demora_ms = pagina.evaluate(LACO)
    assert demora_ms < 2_000  # nunca travada; folga para a máquina ocupada dos testes

    def contados() -> int:
        avisos = [e["payload"] for e in gravados("PERSONALIZADO") if e["nome"] == "lastro.descartes"]
        return sum(aviso.get("limite:ERRO_JS", 0) for aviso in avisos)

    assert esperar(lambda: contados() + len(gravados("ERRO_JS")) == 10_000, 20, passo_s=0.2)
    assert 100 <= len(gravados("ERRO_JS")) <= 300
    assert len(atravessador.lotes) < 100


def test_pagina_hostil_nao_derruba_o_coletor_nem_ele_a_pagina(abrir: Abrir, ate_gravar: AteGravar) -> None:
    hostil = """
        const nativo = console.error;
        console.error = function (...a) { window.chamadas = (window.chamadas || 0) + 1; return 'meu'; };
        Array.prototype.toJSON = Object.prototype.toJSON = String.prototype.toJSON = () => 'sequestrado';
        Object.freeze(History.prototype); Object.freeze(XMLHttpRequest.prototype);
        Array.prototype.intruso = 1; Object.prototype.outro = 2;
    """
    pagina = abrir(antes=hostil)
    erros: list[Any] = []
    pagina.on("pageerror", lambda erro: erros.append(erro))
    devolveu = pagina.evaluate(
        """() => {
            const circular = {nome: 'c'}; circular.eu = circular;
            lastro.evento('circular', circular);
            lastro.evento('toJSON', {a: {toJSON() { throw 1; }, b: 2}});
            lastro.evento('getter', {get a() { throw 1; }, get b() { console.error('aninhado'); return 3; }});
            lastro.evento('proxy', new Proxy({}, {ownKeys() { throw 1; }, getPrototypeOf() { throw 1; }}));
            lastro.evento('enorme', {texto: 'x'.repeat(1e6), lista: Array.from({length: 1e5}, (_, i) => 'item ' + i)});
            lastro.evento('fundo', JSON.parse('['.repeat(500) + ']'.repeat(500)));
            lastro.evento('numeros', [NaN, Infinity, 2 ** 63, 10n, undefined, () => 1, Symbol('s'), -0.5]);
            lastro.evento('emoji', {texto: 'x'.repeat(1999) + '😀'});
            lastro.evento({toString() { throw 1; }}, {});
            return console.error({get stack() { throw 1; }, get message() { throw 2; }});
        }"""
    )
    assert devolveu == "meu"
    achados = {e["nome"]: e["payload"] for e in ate_gravar("PERSONALIZADO", 9)}
    assert achados.pop("lastro.descartes")["interno"] >= 1
    assert achados["circular"] == {"nome": "c", "eu": "[circular]"}
    assert achados["toJSON"] == {"a": {"toJSON": "[função]", "b": 2}}
    assert achados["getter"] == {"a": "[ilegível]", "b": 3}
    assert achados["proxy"] == "[ilegível]"
    assert len(achados["enorme"]["texto"]) == 2000
    assert len(achados["enorme"]["lista"]) == 100
    assert achados["fundo"] == [[[[[["[…]"]]]]]]
    assert achados["numeros"] == [
        "NaN",
        "Infinity",
        "9223372036854776000",
        "10",
        None,
        "[função]",
        "Symbol(s)",
        -0.5,
    ]
    assert achados["emoji"] == {"texto": "x" * 1999}
    assert len(ate_gravar("CONSOLE")) == 1
    assert erros == []


def test_erro_de_script_de_outra_origem_chega_como_o_navegador_o_mostra(
    abrir: Abrir, site: Site, ate_gravar: AteGravar
) -> None:
    site.por("/alheio.js", "setTimeout(() => { throw new Error('segredo de outra origem'); }, 300);")
    abrir(f'<script src="http://localhost:{site.porta}/alheio.js"></script>')
    (erro,) = ate_gravar("ERRO_JS")
    assert (erro["mensagem"], erro["nome"], erro["pilha"], erro["linha"]) == ("Script error.", None, None, 0)


def test_carregado_duas_vezes_conta_uma(
    abrir: Abrir, etiqueta: Callable[..., str], ate_gravar: AteGravar, gravados: AteGravar
) -> None:
    pagina = abrir(etiqueta())
    pagina.evaluate("() => { console.error('um'); lastro.evento('um'); }")
    ate_gravar("CONSOLE")
    ate_gravar("PERSONALIZADO")
    pagina.wait_for_timeout(300)
    assert len(gravados("PAGINA")) == len(gravados("CONSOLE")) == 1


def test_sem_chave_uma_linha_no_console_e_nada_mais(
    site: Site, contexto: BrowserContext, atravessador: Atravessador
) -> None:
    pagina = contexto.new_page()
    linhas: list[str] = []
    pagina.on("console", lambda m: linhas.append(m.text))
    pagina.goto(
        site.por("/", f'<script defer src="http://127.0.0.1:{atravessador.porta}/coletor.js"></script>')
    )
    pagina.evaluate("() => { lastro.evento('nada'); lastro.identificar('x'); return fetch('/api/ok'); }")
    pagina.wait_for_timeout(300)
    assert [linha for linha in linhas if "404" not in linha] == [
        "lastro: falta data-chave no script; nada será coletado."
    ]
    assert atravessador.lotes == []
    assert pagina.evaluate("localStorage.length + sessionStorage.length") == 0
    assert pagina.evaluate("Object.getOwnPropertyDescriptor(window, 'fetch').value.toString()").count(
        "native code"
    )


COMPARAR = Path(__file__).with_name("comparacao.js").read_text("utf-8")


def test_fetch_xhr_e_history_se_comportam_igual_com_e_sem_o_coletor(
    abrir: Abrir, site: Site, contexto: BrowserContext
) -> None:
    limpa = contexto.new_page()
    limpa.goto(site.por("/limpa", "<!doctype html><title>Sem</title>"))
    esperado = limpa.evaluate(COMPARAR)
    assert (esperado["motivo"], esperado["pedacos"], esperado["rejeicoes"]) == ("motivo", "umdoistres", 1)
    # `crossorigin`: sem ele, o navegador cala a rejeição nascida dentro de um script de outra origem.
    assert abrir(crossorigin="").evaluate(COMPARAR) == esperado
    sem_crossorigin = abrir(caminho="/sem").evaluate(COMPARAR)
    assert sem_crossorigin == {**esperado, "rejeicoes": sem_crossorigin["rejeicoes"]}


def test_pagina_em_vue_com_o_tratador_de_erros_dele(
    abrir: Abrir, site: Site, npm: Path, ate_gravar: AteGravar
) -> None:
    vue = site.por("/vue.js", npm / "node_modules" / "vue" / "dist" / "vue.global.prod.js")
    site.por("/app.js", Path(__file__).with_name("pagina_vue").joinpath("app.js"))
    pagina = abrir(
        f'<main id="app"></main><script defer src="{vue}"></script><script defer src="/app.js"></script>'
    )
    pagina.click("text=Somar")
    assert pagina.inner_text("output") == "1"
    pagina.click("text=Quebrar")
    pagina.click("text=Navegar")
    pagina.click("text=Buscar")
    (erro,) = ate_gravar("CONSOLE")
    assert (erro["nivel"], erro["nome"]) == ("error", "TypeError")
    assert "quebrar" in erro["pilha"]
    assert [c["texto"] for c in ate_gravar("CLIQUE", 4)] == ["Somar", "Quebrar", "Navegar", "Buscar"]
    assert ate_gravar("PAGINA", 2)[1]["url"].endswith("/loja/produto")
    assert ate_gravar("REQUISICAO")[0]["url"].endswith("/api/ok")
    assert pagina.inner_text("output") == "1 true"
