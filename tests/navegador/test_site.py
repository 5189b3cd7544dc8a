"""Uma página de outra origem posta com fetch, gzip e sendBeacon, e lê o que lhe foi respondido."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from tests.caos.servidor import ServidorLocal, esperar
from tests.navegador.conftest import LIMITE_POR_MINUTO

# O que um site escreveria. Devolve o que a página consegue ler da resposta.
POSTAR = """
async ({url, lote, comprimir}) => {
    let corpo = JSON.stringify(lote), headers = {"content-type": "application/json"};
    if (comprimir) {
        const fluxo = new Blob([corpo]).stream().pipeThrough(new CompressionStream("gzip"));
        corpo = await new Response(fluxo).blob();
        headers["content-encoding"] = "gzip";
    }
    const resposta = await fetch(url, {method: "POST", headers, body: corpo});
    return {
        status: resposta.status,
        espera_s: resposta.headers.get("Retry-After"),
        corpo: await resposta.json(),
    };
}
"""
AVISAR = "({url, lote}) => navigator.sendBeacon(url, JSON.stringify(lote))"


def lote(chave: str, sessao: str, *ids: str) -> dict[str, Any]:
    return {
        "chave": chave,
        "sessao": {"sessao_externa": sessao, "navegador": "Chromium"},
        "eventos": [{"evento_id": id_, "tipo": "CLIQUE", "texto": "Comprar 🛒"} for id_ in ids],
    }


def gravados(servidor: ServidorLocal, chave: str) -> list[str]:
    linhas = servidor.consultar(
        "SELECT e.evento_id FROM ingestao_evento e JOIN ingestao_aplicativo a ON a.id = e.aplicativo_id"
        " WHERE a.chave = %s ORDER BY 1",
        (chave,),
    )
    return [linha[0] for linha in linhas]


def url(servidor: ServidorLocal) -> str:
    return f"http://127.0.0.1:{servidor.porta}/evento/ingestao"


def test_fetch_com_gzip_passa_pelo_preflight_le_202_e_o_evento_aparece_em_um_segundo(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave()
    argumentos = {"url": url(servidor), "lote": lote(chave, "s", "um", "dois"), "comprimir": True}
    lida = pagina.evaluate(POSTAR, argumentos)
    assert lida == {"status": 202, "espera_s": None, "corpo": {"aceitos": 2, "recusados": 0, "recusas": []}}
    assert esperar(lambda: gravados(servidor, chave) == ["dois", "um"], 3)


def test_sendbeacon_entrega_sem_preflight(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave()
    assert pagina.evaluate(AVISAR, {"url": url(servidor), "lote": lote(chave, "s", "farol")}) is True
    assert esperar(lambda: gravados(servidor, chave) == ["farol"], 5)


def test_sendbeacon_na_saida_da_pagina_nao_se_perde(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave()
    argumentos = {"url": url(servidor), "lote": lote(chave, "s", "adeus")}
    pagina.evaluate(f"a => addEventListener('pagehide', () => ({AVISAR})(a))", argumentos)
    pagina.goto("about:blank")
    assert esperar(lambda: gravados(servidor, chave) == ["adeus"], 5)


def test_origem_nao_autorizada_le_403_com_codigo(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page, porta_do_site: int
) -> None:
    chave = criar_chave()
    pagina.goto(f"http://localhost:{porta_do_site}/")
    lida = pagina.evaluate(POSTAR, {"url": url(servidor), "lote": lote(chave, "s", "x"), "comprimir": False})
    assert (lida["status"], lida["corpo"]["codigo"]) == (403, "origem_nao_autorizada")
    assert gravados(servidor, chave) == []


def test_limite_por_minuto_le_429_e_o_retry_after(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave()
    ids = [f"e{n:03}" for n in range(int(LIMITE_POR_MINUTO))]
    for parte in (ids[:500], ids[500:]):
        cheio = {"url": url(servidor), "lote": lote(chave, "s", *parte), "comprimir": True}
        assert pagina.evaluate(POSTAR, cheio)["status"] == 202
    demais = pagina.evaluate(POSTAR, {"url": url(servidor), "lote": lote(chave, "s", "x"), "comprimir": True})
    assert (demais["status"], demais["corpo"]["codigo"]) == (429, "limite_por_minuto")
    assert 1 <= int(demais["espera_s"]) <= 60
    assert esperar(lambda: gravados(servidor, chave) == ids, 5)


def test_franquia_esgotada_le_402(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave("--franquia", "2", "--politica", "PARAR_INGESTAO")
    argumentos = {"url": url(servidor), "comprimir": False}
    assert pagina.evaluate(POSTAR, {**argumentos, "lote": lote(chave, "s", "a", "b")})["status"] == 202
    assert esperar(lambda: gravados(servidor, chave) == ["a", "b"], 5)
    lida = pagina.evaluate(POSTAR, {**argumentos, "lote": lote(chave, "s", "c")})
    assert (lida["status"], lida["corpo"]["codigo"]) == (402, "franquia_estourada")


def test_o_que_o_site_mandou_esta_no_admin(
    servidor: ServidorLocal, criar_chave: Callable[..., str], pagina: Page
) -> None:
    chave = criar_chave()
    hostil = lote(chave, "visita-42", "no-admin")
    hostil["eventos"][0] |= {"tipo": "ERRO_JS", "mensagem": "<script>window.invadido = 1</script>"}
    pagina.evaluate(POSTAR, {"url": url(servidor), "lote": hostil, "comprimir": False})
    assert esperar(lambda: gravados(servidor, chave) == ["no-admin"], 3)
    raiz = f"http://127.0.0.1:{servidor.porta}"
    pagina.goto(f"{raiz}/admin/")
    pagina.fill("input[name=username]", "admin")
    pagina.fill("input[name=password]", (servidor.dados / "senha-admin.txt").read_text().strip())
    pagina.click("button[type=submit], input[type=submit]")
    for tela, esperado in (
        ("ingestao/evento/", "<script>window.invadido = 1</script>"),
        ("ingestao/erro/", "<script>window.invadido = 1</script>"),
        ("ingestao/sessao/", "visita-42"),
        ("ingestao/aplicativo/", "Loja"),
    ):
        pagina.goto(f"{raiz}/admin/{tela}")
        assert esperado in pagina.inner_text("body"), tela
        assert pagina.evaluate("window.invadido") is None, tela
