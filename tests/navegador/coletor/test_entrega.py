"""Redes ruins, abas que fecham, servidor que recusa: no fim, cada evento está gravado uma vez só."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.caos.servidor import ServidorLocal, esperar
from tests.navegador.coletor.atravessador import Atravessador, Falsa, Passo
from tests.navegador.coletor.site import Site

Abrir = Callable[..., Page]
AteGravar = Callable[..., list[dict[str, Any]]]

GUARDADO = "Object.keys(localStorage).filter((nome) => nome.startsWith('lastro.fila')).length"
MARCAR = "quantos => { for (let i = 1; i <= quantos; i++) lastro.evento('marca', {i}); }"


def marcas(eventos: list[dict[str, Any]]) -> list[int]:
    return sorted(evento["payload"]["i"] for evento in eventos if evento["nome"] == "marca")


def fechar(pagina: Page) -> None:
    """Como a pessoa fecharia: com os avisos de saída que a página recebe."""
    with pagina.expect_event("close"):
        pagina.close(run_before_unload=True)


@pytest.mark.parametrize(
    "roteiro",
    [
        pytest.param([Falsa(status=429, espera_s=1, corpo={"codigo": "limite_por_minuto"})], id="429"),
        pytest.param([Falsa(status=500), Falsa(status=503, espera_s=1)], id="500-e-503"),
        pytest.param(["cortar", "cortar"], id="cortada-antes-do-servidor"),
        pytest.param(["engolir", "engolir"], id="resposta-perdida-depois-do-commit"),
        pytest.param([Falsa(status=200, corpo={})], id="um-200-que-nao-e-nosso"),
        pytest.param(
            [Falsa(status=415), Falsa(status=408, corpo={"codigo": "corpo_incompleto"})], id="415-e-408"
        ),
    ],
)
def test_cada_evento_e_gravado_uma_vez(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, roteiro: list[Passo]
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    atravessador.roteiro = list(roteiro)
    pagina.evaluate(MARCAR, 30)
    assert esperar(lambda: not atravessador.roteiro and pagina.evaluate(GUARDADO) == 0, 20, passo_s=0.1)
    eventos = ate_gravar("PERSONALIZADO", 30)
    assert marcas(eventos) == list(range(1, 31))
    ids = {e["evento_id"] for e in eventos}
    levados = [i for i in atravessador.vistos() if i in ids]
    assert len(levados) == 30 * (len(roteiro) + 1)  # cada reenvio levou os mesmos ids


def test_429_espera_o_retry_after_antes_de_tentar_de_novo(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    pagina.wait_for_timeout(400)
    antes = len(atravessador.lotes)
    atravessador.roteiro = [Falsa(status=429, espera_s=3)]
    pagina.evaluate(MARCAR, 1)
    assert esperar(lambda: len(atravessador.lotes) == antes + 1, 10)
    pagina.evaluate(MARCAR, 1)
    pagina.wait_for_timeout(1500)
    assert len(atravessador.lotes) == antes + 1
    ate_gravar("PERSONALIZADO", 2)


def test_sem_rede_espera_e_entrega_quando_ela_volta(
    abrir: Abrir, contexto: BrowserContext, ate_gravar: AteGravar, gravados: AteGravar
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    contexto.set_offline(True)
    pagina.evaluate(MARCAR, 5)
    pagina.wait_for_timeout(800)
    assert gravados("PERSONALIZADO") == []
    contexto.set_offline(False)
    assert marcas(ate_gravar("PERSONALIZADO", 5)) == [1, 2, 3, 4, 5]


def test_aba_fechada_logo_depois_do_erro_nao_o_perde(abrir: Abrir, ate_gravar: AteGravar) -> None:
    pagina = abrir(data_intervalo_ms="60000")
    pagina.evaluate("() => { dispatchEvent(new ErrorEvent('error', {message: 'último suspiro'})); }")
    fechar(pagina)
    assert ate_gravar("ERRO_JS")[0]["mensagem"] == "último suspiro"


def test_aba_fechada_sem_rede_e_adotada_pela_proxima_visita(
    abrir: Abrir, contexto: BrowserContext, site: Site, ate_gravar: AteGravar
) -> None:
    contexto.new_page()  # sem nenhuma aba, o contexto se fecha
    pagina = abrir(data_intervalo_ms="60000")
    contexto.set_offline(True)
    pagina.evaluate(MARCAR, 3)
    fechar(pagina)
    contexto.set_offline(False)
    outra = abrir(caminho="/outra")
    achados = ate_gravar("PERSONALIZADO", 3)
    assert marcas(achados) == [1, 2, 3]
    assert {e["url"] for e in achados} == {f"http://127.0.0.1:{site.porta}/loja"}
    paginas = ate_gravar("PAGINA", 2)
    # Cada um na sessão em que aconteceu, não na de quem o entregou.
    assert {e["sessao_id"] for e in achados} == {paginas[0]["sessao_id"]} != {paginas[1]["sessao_id"]}
    assert esperar(lambda: outra.evaluate(GUARDADO) == 0, 10)


def test_recarregar_em_cima_de_um_servidor_fora_do_ar_nao_perde_nem_dobra(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    atravessador.depois = Falsa(status=503, espera_s=1)
    pagina.evaluate(MARCAR, 4)
    pagina.wait_for_timeout(400)
    for _ in range(3):
        pagina.reload()
        pagina.wait_for_function("window.lastro")
    atravessador.depois = "passar"
    assert marcas(ate_gravar("PERSONALIZADO", 4)) == [1, 2, 3, 4]
    ate_gravar("PAGINA", 4)


def test_duas_abas_nao_entregam_a_fila_uma_da_outra(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    uma = abrir()
    duas = abrir(caminho="/outra")
    ate_gravar("PAGINA", 2)
    atravessador.depois = Falsa(status=503)
    uma.evaluate(MARCAR, 10)
    duas.evaluate(MARCAR, 10)
    uma.wait_for_timeout(300)
    atravessador.depois = "passar"
    atravessador.lotes.clear()
    assert len(ate_gravar("PERSONALIZADO", 20)) == 20
    assert esperar(lambda: len(atravessador.vistos()) >= 20, 5)
    entregues = [
        i for i in atravessador.vistos() if i in {e["evento_id"] for e in ate_gravar("PERSONALIZADO", 20)}
    ]
    assert len(entregues) == len(set(entregues)) == 20


def test_evento_que_estraga_o_lote_e_isolado_por_metades_e_contado(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recusar_o_treze(corpo: bytes, cabecalhos: Any) -> Passo:
        original(corpo, cabecalhos)
        ruim = any((e.get("payload") or {}).get("i") == 13 for e in atravessador.lotes[-1]["eventos"])
        return Falsa(status=400, corpo={"codigo": "json_invalido"}) if ruim else "passar"

    original = atravessador.proximo
    monkeypatch.setattr(atravessador, "proximo", recusar_o_treze)
    pagina = abrir()
    ate_gravar("PAGINA")
    pagina.evaluate(MARCAR, 40)
    achados = ate_gravar("PERSONALIZADO", 40)  # 39 e o aviso do descarte
    assert marcas(achados) == [i for i in range(1, 41) if i != 13]
    (descartes,) = [e for e in achados if e["nome"] == "lastro.descartes"]
    assert descartes["payload"] == {"recusado:json_invalido": 1}


def test_413_divide_o_lote(abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    atravessador.roteiro = [Falsa(status=413, corpo={"codigo": "corpo_grande"})] * 2
    pagina.evaluate(MARCAR, 16)
    assert marcas(ate_gravar("PERSONALIZADO", 16)) == list(range(1, 17))
    tamanhos = [
        len(lote["eventos"]) for lote in atravessador.lotes if lote["eventos"][0].get("nome") == "marca"
    ]
    assert tamanhos[:3] == [16, 8, 4]


@pytest.mark.parametrize(("status", "codigo"), [(401, "chave_desconhecida"), (403, "origem_nao_autorizada")])
def test_chave_ou_origem_recusada_para_com_uma_linha_no_console(
    abrir: Abrir, atravessador: Atravessador, status: int, codigo: str
) -> None:
    atravessador.depois = Falsa(status=status, corpo={"codigo": codigo})
    pagina = abrir()
    linhas: list[str] = []
    pagina.on("console", lambda m: linhas.append(m.text))
    assert esperar(lambda: len(atravessador.lotes) >= 1, 10)
    pagina.wait_for_timeout(300)
    feitos = len(atravessador.lotes)
    pagina.evaluate(MARCAR, 5)
    pagina.wait_for_timeout(500)
    assert len(atravessador.lotes) == feitos == 1
    nossas = [linha for linha in linhas if linha.startswith("lastro:")]
    assert len(nossas) <= 1 and all(codigo in linha for linha in nossas)
    assert pagina.evaluate("Object.keys(localStorage)") == ["lastro.anonimo"]


def test_franquia_esgotada_para_nesta_pagina_e_a_proxima_tenta_de_novo(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, gravados: AteGravar
) -> None:
    atravessador.roteiro = [Falsa(status=402, corpo={"codigo": "franquia_estourada"})]
    pagina = abrir()
    assert esperar(lambda: len(atravessador.lotes) == 1, 10)
    pagina.wait_for_timeout(400)
    assert (len(atravessador.lotes), gravados()) == (1, [])
    pagina.reload()
    ate_gravar("PAGINA", 2)


def test_fila_cheia_descarta_o_mais_antigo_e_conta(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar, gravados: AteGravar
) -> None:
    pagina = abrir(data_sem="DESEMPENHO")
    ate_gravar("PAGINA")
    pagina.evaluate(
        """() => {
            const peso = ['x'.repeat(2000), 'y'.repeat(2000)];
            for (let i = 1; i <= 100; i++) lastro.evento('marca', {i, peso});
        }"""
    )
    assert esperar(
        lambda: any(e["nome"] == "lastro.descartes" for e in gravados("PERSONALIZADO")), 20, passo_s=0.2
    )
    (descartes,) = [e for e in gravados("PERSONALIZADO") if e["nome"] == "lastro.descartes"]
    perdidos = descartes["payload"]["fila_cheia"]
    assert 0 < perdidos < 100
    esperar(lambda: len(gravados("PERSONALIZADO")) == 101 - perdidos, 20, passo_s=0.2)
    assert marcas(gravados("PERSONALIZADO")) == list(range(perdidos + 1, 101))


def test_o_corpo_vai_comprimido_e_o_da_saida_nao(
    abrir: Abrir, atravessador: Atravessador, servidor: ServidorLocal, ate_gravar: AteGravar
) -> None:
    pagina = abrir()
    ate_gravar("PAGINA")
    pagina.evaluate(MARCAR, 20)
    ate_gravar("PERSONALIZADO", 20)
    assert atravessador.cabecalhos[-1]["content-encoding"] == "gzip"
    pagina.evaluate(MARCAR, 20)
    pagina.goto("about:blank")
    ate_gravar("PERSONALIZADO", 40)
    assert "content-encoding" not in atravessador.cabecalhos[-1]
    assert atravessador.cabecalhos[-1]["content-type"].startswith("text/plain")
    assert not any("cookie" in cabecalhos for cabecalhos in atravessador.cabecalhos)


def test_gzip_que_nao_abre_igual_vai_sem_compressao(
    abrir: Abrir, atravessador: Atravessador, ate_gravar: AteGravar
) -> None:
    quebrar = "window.CompressionStream = class extends TransformStream {};"  # devolve o que recebeu
    pagina = abrir(antes=quebrar)
    pagina.evaluate(MARCAR, 20)
    ate_gravar("PERSONALIZADO", 20)
    assert not any("content-encoding" in cabecalhos for cabecalhos in atravessador.cabecalhos)
