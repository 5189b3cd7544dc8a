"""A impressão digital: o que junta, o que separa, e que texto hostil não a faz demorar."""

import time
from typing import Any

import pytest

from ingestao.eventos.agrupamento import VERSAO, agrupar, e_erro, normalizar, normalizar_arquivo

PILHA_CHROME = """TypeError: x is not a function
    at comprar (https://loja.com/js/app.3f2a91bc.js:10:5)
    at HTMLButtonElement.<anonymous> (https://loja.com/js/app.3f2a91bc.js:99:1)"""
PILHA_FIREFOX = """comprar@https://loja.com/js/app.3f2a91bc.js:10:5
@https://loja.com/js/app.3f2a91bc.js:99:1"""


def erro(**campos: Any) -> dict[str, Any]:
    return {"tipo": "ERRO_JS", "nome": "TypeError", "mensagem": "x is not a function", **campos}


@pytest.mark.parametrize(
    ("um", "outro"),
    [
        ("pedido 123 não existe", "pedido 98765 não existe"),
        ("id 0b9f6c1e-3a56-4c57-8a2e-9c1b7f6f2f10", "id 11111111-2222-4333-8444-555555555555"),
        ("objeto deadbeef01 sumiu", "objeto 0123abcd99 sumiu"),
        ("em 2026-11-30T12:00:00Z", "em 2025-01-02T03:04:05.678+03:00"),
        ("falhou https://a.com/x?y=1", "falhou https://b.com/z"),
        ("ana@exemplo.com inválido", "rui.silva@outro.com.br inválido"),
        ("ponteiro 0xFF12", "ponteiro 0x00"),
        ("levou 1.234,5 ms", "levou 2 ms"),
    ],
)
def test_o_que_varia_entre_ocorrencias_nao_separa(um: str, outro: str) -> None:
    assert agrupar(erro(mensagem=um)).impressao == agrupar(erro(mensagem=outro)).impressao


def test_um_deploy_muda_linha_coluna_e_build_mas_nao_o_grupo() -> None:
    depois = PILHA_CHROME.replace("app.3f2a91bc.js:10:5", "app.99ffee00.js:42:7")
    assert agrupar(erro(pilha=PILHA_CHROME)).impressao == agrupar(erro(pilha=depois)).impressao


@pytest.mark.parametrize(
    "diferenca",
    [
        {"mensagem": "y is not a function"},
        {"nome": "RangeError"},
        {"tipo": "PROMISE_REJEITADA"},
        {"pilha": PILHA_CHROME},
    ],
    ids=repr,
)
def test_o_que_distingue_um_erro_separa(diferenca: dict[str, Any]) -> None:
    assert agrupar(erro()).impressao != agrupar(erro(**diferenca)).impressao


def test_quadros_do_chrome_e_do_firefox_sao_lidos() -> None:
    assert agrupar(erro(pilha=PILHA_CHROME)).local == "comprar /js/app.<build>.js"
    assert agrupar(erro(pilha=PILHA_FIREFOX)).local == "comprar /js/app.<build>.js"


@pytest.mark.parametrize(
    ("lugar", "normal"),
    [
        ("https://a.com/assets/index-BkX93_aQ.mjs?v=2:1:2", "/assets/index.<build>.mjs"),
        ("https://a.com/main.js:1:2", "/main.js"),
        ("webpack:///./src/app.tsx:10", "/./src/app.tsx"),
        ("/static/jquery-ui.js", "/static/jquery-ui.js"),
        ("<anonymous>", "<anonymous>"),
    ],
)
def test_arquivo_perde_origem_posicao_e_marca_de_build(lugar: str, normal: str) -> None:
    assert normalizar_arquivo(lugar) == normal


def test_palavra_com_digito_no_meio_fica() -> None:
    assert normalizar("base64 e utf8 em h1") == "base64 e utf8 em h1"


@pytest.mark.parametrize(
    ("evento", "conta"),
    [
        ({"tipo": "ERRO_JS"}, True),
        ({"tipo": "PROMISE_REJEITADA"}, True),
        ({"tipo": "CONSOLE", "nivel": "error"}, True),
        ({"tipo": "CONSOLE", "nivel": "warn"}, False),
        ({"tipo": "CONSOLE"}, False),
        ({"tipo": "REQUISICAO", "nivel": "error"}, False),
    ],
    ids=repr,
)
def test_quem_entra_em_erros(evento: dict[str, Any], conta: bool) -> None:
    assert e_erro(evento) is conta


def test_impressao_da_versao_1_nao_muda() -> None:
    # Mudou? Então a regra mudou: crie a versão 2 em vez de corrigir este valor.
    assert VERSAO == 1
    assert (
        agrupar(erro(pilha=PILHA_CHROME)).impressao
        == "a3636e81ed5f56626d47ffe9a0ea404565f1252bfeac93dab2bfcf1b5a203f04"
    )


@pytest.mark.parametrize(
    "hostil",
    [
        "a." * 4000,
        "at " + " " * 8000 + "(",
        "a@" * 4000,
        "-a" * 4000,
        "at " + "a (" * 2600,
        "1" * 8000,
        "f" * 8000 + "1",
    ],
    ids=lambda v: v[:8],
)
def test_texto_hostil_nao_prende_o_worker(hostil: str) -> None:
    inicio = time.perf_counter()
    agrupar(erro(mensagem=hostil, pilha="\n".join([hostil] * 2), nome=hostil[:120], arquivo=hostil[:2000]))
    assert time.perf_counter() - inicio < 0.25  # quadrático de verdade levaria segundos
