"""As telas principais sem falha séria de acessibilidade, no claro e no escuro, e tudo alcançável pelo teclado.

Uma tela nova é uma linha em `TELAS`: o nome e o endereço, com `{…}` no lugar dos ids que `povoado` guarda.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.caos.servidor import RAIZ, ServidorLocal, esperar

TELAS = {
    "início": "",
    "aplicativos": "ingestao/aplicativo/",
    "aplicativo": "ingestao/aplicativo/{aplicativo}/change/",
    "sessões": "ingestao/sessao/",
    "sessão": "ingestao/sessao/{sessao}/change/",
    "eventos": "ingestao/evento/",
    "busca de eventos": "ingestao/evento/?aplicativo={aplicativo}&periodo=hora&q=carrinho",
    "evento": "ingestao/evento/{evento}/change/",
    "erros": "ingestao/erro/",
    "erro": "ingestao/erro/{erro}/change/",
    "uso": "ingestao/uso/",
    "caixa de entrada": "ingestao/lote/",
    "exceções": "dlr/excecao/",
    "exceção": "dlr/excecao/{excecao}/change/",
    "ligar à mão": "dlr/excecao/atos/ligar/?excecao={excecao}",
    "mensagens": "dlr/mensagem/",
    "mensagem": "dlr/mensagem/{mensagem}/change/",
    "recepções": "dlr/recepcao/",
    "recepção": "dlr/recepcao/{recepcao}/change/",
    "evento lógico": "dlr/eventologico/{logico}/change/",
    "integrações": "dlr/integracao/",
    "integração": "dlr/integracao/{integracao}/change/",
    "finais": "dlr/integracao/{integracao}/mudar-finais/",
    "experimento": "dlr/integracao/{integracao}/experimentar/",
}
GRAVES = ("serious", "critical")
# O que responde a um clique e não é alcançado pela tecla Tab.
SO_COM_O_PONTEIRO = """
() => [...document.querySelectorAll("*")].filter(e => {
    const ouve = [...e.attributes].some(a => /^(x-on:|@)click(\\.(stop|prevent))*$|^onclick$/.test(a.name));
    const foca = e.matches("a[href], button, input, select, textarea, summary, label, [tabindex]");
    return ouve && !foca && e.checkVisibility();
}).map(e => e.outerHTML.slice(0, 160))
"""


def comandar(servidor: ServidorLocal, *comando: str) -> dict[str, Any]:
    saida = subprocess.run(
        [sys.executable, "manage.py", *comando],
        cwd=RAIZ,
        env=servidor.ambiente(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return dict(json.loads(saida))


ORIGEM = {"origin": "https://aurora.com.br"}
ERRO = {"tipo": "ERRO_JS", "mensagem": "carrinho vazio", "pilha": "at f (https://a.com/b.js:1:2)"}
EVENTOS = [
    {"evento_id": "p", "tipo": "PAGINA", "url": "https://aurora.com.br/carrinho"},
    {
        "evento_id": "r",
        "tipo": "REQUISICAO",
        "metodo": "POST",
        "status": 500,
        "url": "https://aurora.com.br/api",
    },
    {"evento_id": "c", "tipo": "CONSOLE", "nivel": "warn", "mensagem": "obsoleto"},
    *({**ERRO, "evento_id": f"e{n}"} for n in range(3)),
]
# Nome em `TELAS` → a linha que dá o id.
LINHAS = {
    "sessao": "ingestao_sessao WHERE sessao_externa = 'v1'",
    "evento": "ingestao_evento WHERE evento_id = 'e0'",
    "erro": "ingestao_erro WHERE quantidade = 3",
    "excecao": "dlr_excecao",
    "mensagem": "dlr_mensagem",
    "recepcao": "dlr_recepcao",
    "logico": "dlr_eventologico",
}


def mandar_eventos(cliente: httpx.Client, chave: str) -> None:
    sessao = {"sessao_externa": "v1", "usuario_id": "maria"}
    lote = {"chave": chave, "sessao": sessao, "eventos": EVENTOS}
    assert cliente.post("/evento/ingestao", json=lote, headers=ORIGEM).status_code == 202


def mandar_recibos(cliente: httpx.Client, integracao: dict[str, Any]) -> None:
    """Uma mensagem com dois finais incompatíveis: há exceção a mostrar."""
    mensagem = {"id_interno": "pedido-1", "ids_externos": [{"valor": "az1"}], "destino": "+5511999990000"}
    autorizacao = {"authorization": f"Bearer {integracao['token']}"}
    pedido = {"mensagens": [{**mensagem, "aceita": True}]}
    assert cliente.post("/dlr/mensagens", json=pedido, headers=autorizacao).status_code == 200
    for estado in ("ENROUTE", "DELIVERED", "EXPIRED"):
        recibo = {"id_externo": "az1", "estado": estado}
        assert cliente.post(integracao["url_callback"], json=recibo).status_code == 202


@pytest.fixture(scope="module")
def povoado(servidor: ServidorLocal) -> dict[str, Any]:
    """Um de cada, pela porta e aplicado pelo worker; devolve os ids das telas."""
    nome = ("--nome", "Aurora", "--dominio", "aurora.com.br", "--franquia", "5")
    aplicativo = comandar(servidor, "criar_aplicativo", *nome)
    integracao = comandar(servidor, "criar_integracao", "--slug", "azul", "--formato", "padrao")
    with httpx.Client(base_url=f"http://127.0.0.1:{servidor.porta}", timeout=30) as cliente:
        mandar_eventos(cliente, aplicativo["chave"])
        mandar_recibos(cliente, integracao)
    assert esperar(lambda: bool(servidor.consultar("SELECT 1 FROM dlr_excecao")), 30)
    assert esperar(lambda: bool(servidor.consultar(f"SELECT 1 FROM {LINHAS['erro']}")), 30)
    ids = {
        nome: servidor.consultar(f"SELECT id FROM {linha} LIMIT 1")[0][0] for nome, linha in LINHAS.items()
    }
    return {**ids, "aplicativo": aplicativo["id"], "integracao": integracao["id"]}


@pytest.fixture(scope="module", params=["light", "dark"])
def dentro(request: pytest.FixtureRequest, chromium: Browser, servidor: ServidorLocal) -> Iterator[Page]:
    """Uma página com o administrador dentro, num dos dois temas."""
    contexto = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param)
    pagina = contexto.new_page()
    pagina.goto(f"http://127.0.0.1:{servidor.porta}/admin/")
    pagina.fill("input[name=username]", "admin")
    pagina.fill("input[name=password]", (servidor.dados / "senha-admin.txt").read_text().strip())
    pagina.click("button[type=submit], input[type=submit]")
    pagina.wait_for_url("**/admin/")
    escuro = pagina.evaluate("document.documentElement.classList.contains('dark')")
    assert escuro == (request.param == "dark")
    yield pagina
    contexto.close()


def abrir(pagina: Page, servidor: ServidorLocal, tela: str, ids: dict[str, Any]) -> None:
    resposta = pagina.goto(f"http://127.0.0.1:{servidor.porta}/admin/{TELAS[tela].format(**ids)}")
    assert resposta is not None
    assert resposta.status == 200, tela


@pytest.mark.parametrize("tela", TELAS)
def test_tela_sem_falha_seria_de_acessibilidade_nem_nada_so_para_o_ponteiro(
    dentro: Page, servidor: ServidorLocal, povoado: dict[str, Any], tela: str
) -> None:
    abrir(dentro, servidor, tela, povoado)
    achados = Axe().run(dentro).response["violations"]
    graves = [
        (achado["id"], no["target"], no["failureSummary"])
        for achado in achados
        if achado["impact"] in GRAVES
        for no in achado["nodes"]
    ]
    assert graves == []
    assert dentro.evaluate(SO_COM_O_PONTEIRO) == []


def test_menu_conta_e_filtro_abrem_pelo_teclado(
    dentro: Page, servidor: ServidorLocal, povoado: dict[str, Any]
) -> None:
    abrir(dentro, servidor, "eventos", povoado)
    dentro.focus("button[aria-label='Mostrar ou esconder o menu']")
    dentro.keyboard.press("Enter")
    dentro.wait_for_selector("#nav-sidebar", state="hidden")
    dentro.keyboard.press("Enter")
    dentro.focus(".lastro-conta-botao")
    dentro.keyboard.press("Enter")
    dentro.wait_for_selector("#logout-form button")
    dentro.keyboard.press("Escape")
    dentro.wait_for_selector("#logout-form button", state="hidden")
    dentro.focus("input[name=pessoa]")
    dentro.keyboard.type("maria")
    dentro.keyboard.press("Enter")
    dentro.wait_for_url("**pessoa=maria**")
    assert dentro.locator("#result_list tbody tr").count() == 6


def test_triagem_e_ato_se_fazem_pelo_teclado(
    dentro: Page, servidor: ServidorLocal, povoado: dict[str, Any]
) -> None:
    abrir(dentro, servidor, "erro", povoado)
    antes = dentro.locator(".lastro-trilha > li strong").count()
    dentro.focus("textarea[name=nota]")
    dentro.keyboard.type("visto")
    dentro.focus("button[value=ANOTAR]")
    dentro.keyboard.press("Enter")
    dentro.wait_for_selector("text=Nota acrescentada à trilha.")
    assert dentro.locator(".lastro-trilha > li strong").count() == antes + 1
    abrir(dentro, servidor, "exceção", povoado)
    dentro.focus("text=Anotar")
    dentro.keyboard.press("Enter")
    dentro.wait_for_url("**/atos/anotar/**")
    dentro.focus("textarea[name=motivo]")
    dentro.keyboard.type("apurado")
    dentro.focus("form.lastro-ato button.lastro-botao-forte")
    dentro.keyboard.press("Enter")
    dentro.wait_for_selector("text=1 exceção anotada.")
