"""Cada número da página confere com os dados, e o link dele abre a lista que dá o mesmo número."""

import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from painel.admin.texto_alheio import neutralizar
from tests.painel.conftest import HOSTIL, entrar_com, erro_js
from tests.painel.inicio.conferencia import Links, blocos_de, contar_lista, numeros_com_link

TODOS = [
    "faixa",
    "passos",
    "hoje",
    "hora",
    "mes",
    "filas",
    "cota",
    "erros",
    "excecoes",
    "mensagens",
    "capturas",
]


def texto_de(html: str) -> str:
    """O que se lê, numa linha."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).strip()


def test_cada_numero_com_link_e_o_da_lista(painel: Client, movimento: SimpleNamespace) -> None:
    conferidos = 0
    for nome, html in blocos_de(painel).items():
        for endereco, numero in numeros_com_link(html):
            assert contar_lista(painel, endereco) == numero, f"{nome}: {endereco}"
            conferidos += 1
    assert conferidos >= 40


def test_numeros_de_hoje(painel: Client, movimento: SimpleNamespace) -> None:
    hoje = texto_de(blocos_de(painel)["hoje"])
    assert (
        "Eventos de sites hoje 11 block 7 recusados" in hoje
    )  # 2 de tipo inventado, 5 de chave desconhecida
    assert "Recibos hoje 8 block 4 recusados" in hoje
    assert "Capturas hoje 3 block 6 recusados" in hoje


def test_recusas_por_motivo_na_hora_e_no_mes(painel: Client, movimento: SimpleNamespace) -> None:
    blocos = blocos_de(painel)
    for nome in ("hora", "mes"):
        texto = texto_de(blocos[nome])
        assert "tipo de evento inválido 2" in texto
        assert "chave desconhecida 5" in texto
        assert "Eventos 11" in texto
        assert "Recibos 8" in texto
        assert "Capturas 3" in texto
    assert "nao autenticado 6" in texto_de(blocos["mes"])


def test_faixa_diz_o_que_se_perdeu_atrasou_e_foi_recusado(painel: Client, movimento: SimpleNamespace) -> None:
    faixa = texto_de(blocos_de(painel)["faixa"])
    assert "Grave Há algo perdido, atrasado e recusado." in faixa
    assert "13 capturas descartadas pelos aparelhos em 24 h" in faixa
    assert "nenhum worker vivo: nada se aplica" in faixa
    assert "2 itens estacionados esperam alguém" in faixa
    assert "1 aparelho silencioso" in faixa
    assert re.search(r"11 recusas na última hora, a maior parte por chave desconhecida", faixa)


def test_erros_novos_e_regredidos(painel: Client, movimento: SimpleNamespace) -> None:
    erros = texto_de(blocos_de(painel)["erros"])
    assert "Voltaram depois de resolvidos 1 TypeError: falha a Loja" in erros
    assert "Novos em 24 h 3" in erros


def test_mensagens_sao_tres_contas_separadas(painel: Client, movimento: SimpleNamespace) -> None:
    mensagens = texto_de(blocos_de(painel)["mensagens"])
    assert "Mensagens das últimas 24 horas 6" in mensagens
    assert "aceita 5 recusada 1" in mensagens
    assert "DELIVERED 3 UNDELIVERABLE 1 sem recibo 2" in mensagens
    assert "verificada 2 não há 4" in mensagens


def test_excecoes_por_tipo_e_idade(painel: Client, movimento: SimpleNamespace) -> None:
    excecoes = texto_de(blocos_de(painel)["excecoes"])
    assert "até 1 h 4" in excecoes
    assert re.search(r"Formato não reconhecido há .*? 3", excecoes)
    assert re.search(r"Estado não mapeado há .*? 1", excecoes)


def test_capturas_latencia_reenvios_e_descartes(painel: Client, movimento: SimpleNamespace) -> None:
    capturas = texto_de(blocos_de(painel)["capturas"])
    assert "Latência p50 · p95 290 ms · 290 ms" in capturas
    assert "Reenvios por link o ACK se perdeu no caminho 7" in capturas
    assert "Reenvios por fila defeito na fila do aparelho 5" in capturas
    assert "Inválidas recusadas uma a uma 16" in capturas
    assert "Em conflito id de outra captura 17" in capturas
    assert "o aparelho desistiu de mandar 13 teto 9 disco 4" in capturas
    assert "Aparelhos silenciosos 1 Calado sem contato há 2 dias" in capturas


def test_cota_do_mes(painel: Client, movimento: SimpleNamespace) -> None:
    cota = texto_de(blocos_de(painel)["cota"])
    assert "Loja passou da franquia 11 de 10 110%" in cota


def test_filas(painel: Client, movimento: SimpleNamespace) -> None:
    filas = texto_de(blocos_de(painel)["filas"])
    assert "Lotes de eventos Pendentes 1 Mais antigo — Estacionados 2" in filas
    assert "Recepções de recibos Pendentes 0 Mais antigo — Estacionados 0" in filas


def test_pagina_e_retrato_mostram_o_mesmo(painel: Client, movimento: SimpleNamespace) -> None:
    pagina = painel.get("/admin/").content.decode()
    for nome, html in blocos_de(painel).items():
        assert f'data-bloco="{nome}"' in pagina
        if nome not in ("filas", "erros", "capturas", "excecoes"):  # estes dizem há quanto tempo
            assert html in pagina


@pytest.mark.usefixtures("db")
def test_vazio_diz_o_que_fazer_a_seguir(painel: Client) -> None:
    blocos = blocos_de(painel)
    assert list(blocos) == TODOS
    passos = Links(blocos["passos"]).achados
    assert ("/admin/ingestao/aplicativo/add/", "Criar aplicativo") in passos
    assert ("/admin/dlr/integracao/add/", "Criar integração") in passos
    assert "Criar um dispositivo" in blocos["passos"]
    assert "Em dia" not in texto_de(blocos["faixa"])  # sem worker nada se aplica, e a página o diz
    assert "Nada chegou na última hora." in blocos["hora"]
    assert "Nenhuma mensagem registrada em 24 horas." in texto_de(blocos["mensagens"])
    assert "Nenhum aparelho ainda." in texto_de(blocos["capturas"])
    assert all(
        painel.get(url).status_code == 200
        for html in blocos.values()
        for url, _ in Links(html).achados
        if url.startswith("/")
    )


def test_passos_feitos_somem(painel: Client, movimento: SimpleNamespace) -> None:
    assert blocos_de(painel)["passos"] == ""


def test_nome_hostil_aparece_inteiro_e_inerte(painel: Client, aplicativo, mandar) -> None:  # type: ignore[no-untyped-def]
    aplicativo.nome, aplicativo.franquia = HOSTIL, 5
    aplicativo.save()
    mandar(erro_js("h", HOSTIL))
    for html in blocos_de(painel).values():
        assert "<script>alert" not in html
        assert "<img src=x" not in html
    assert neutralizar(HOSTIL)[:8] in texto_de(blocos_de(painel)["cota"]).replace("&lt;", "<").replace(
        "&gt;", ">"
    )


@pytest.mark.parametrize(
    ("permissoes", "esperados"),
    [
        ((), ["faixa", "passos"]),
        (
            ("view_sessao", "view_evento", "view_erro", "view_captura"),  # Suporte
            ["faixa", "passos", "hoje", "hora", "mes", "erros", "capturas"],
        ),
        (
            (
                "view_excecao",
                "view_mensagem",
                "view_recepcao",
                "view_recusadecallback",
                "view_recepcaopendente",
                "view_lote",
            ),
            ["faixa", "passos", "hoje", "hora", "mes", "filas", "excecoes", "mensagens"],
        ),
        (("view_uso",), ["faixa", "passos", "hoje", "hora", "mes", "cota"]),
    ],
)
def test_cada_papel_ve_so_o_que_pode_abrir(
    movimento: SimpleNamespace, permissoes: tuple[str, ...], esperados: list[str]
) -> None:
    cliente = entrar_com(*permissoes)
    assert cliente.get("/admin/").status_code == 200
    blocos = blocos_de(cliente)
    assert list(blocos) == esperados
    for nome, html in blocos.items():
        for endereco, _ in Links(html).achados:
            if endereco.startswith("/"):
                assert cliente.get(endereco).status_code == 200, f"{nome}: {endereco}"


def test_numero_sem_lista_que_se_possa_abrir_fica_sem_link(movimento: SimpleNamespace) -> None:
    blocos = blocos_de(entrar_com("view_evento"))
    assert numeros_com_link(blocos["mes"]) == []
    assert "Eventos 11" in texto_de(blocos["mes"])


def test_retrato_so_para_quem_entra(client: Client, db: None) -> None:
    resposta = client.get("/admin/inicio/retrato")
    assert (resposta.status_code, resposta.json()["codigo"]) == (403, "nao_autenticado")
    assert "no-store" in resposta["Cache-Control"]


TABELAS_GRANDES = ("ingestao_evento", "ingestao_sessao", "dlr_recepcao", "dlr_eventologico", "dlr_ocorrencia")
# O orçamento: se subir, algo passou a consultar por linha, ou um bloco ganhou consulta sem que se decidisse.
CONSULTAS = 21  # o segundo fator de quem entrou é uma delas


def test_numero_de_consultas_nao_depende_dos_dados(
    painel: Client, django_assert_num_queries, request: pytest.FixtureRequest
) -> None:  # type: ignore[no-untyped-def]
    painel.get("/admin/inicio/retrato")  # tipos de conteúdo e o que mais o processo guarda
    with django_assert_num_queries(CONSULTAS):
        painel.get("/admin/inicio/retrato")
    request.getfixturevalue("movimento")
    with django_assert_num_queries(CONSULTAS):
        painel.get("/admin/inicio/retrato")


def test_nenhuma_consulta_le_as_tabelas_grandes(
    painel: Client, movimento: SimpleNamespace, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(CONSULTAS + 10) as consultas:
        painel.get("/admin/inicio/retrato")
    lidas = " ".join(consulta["sql"] for consulta in consultas.captured_queries)
    assert [tabela for tabela in TABELAS_GRANDES if re.search(rf"\b{tabela}\b", lidas)] == []
    assert "dlr_mensagem" in lidas  # a procura acha o que está lá


def test_mensagens_alem_da_janela_se_dizem(
    painel: Client, monkeypatch: pytest.MonkeyPatch, movimento: Any
) -> None:
    monkeypatch.setattr("painel.inicio.mensagens.JANELA_RECENTE", 3)
    assert "As 3 mais recentes." in texto_de(blocos_de(painel)["mensagens"])
