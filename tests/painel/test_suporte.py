"""O que aconteceu com este usuário: da busca à sessão, da sessão ao erro, do erro às outras sessões."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlr.models import Excecao
from ingestao.models import Aplicativo, Erro, Evento, Sessao
from painel.admin import tabela_grande
from painel.admin.ingestao import busca, ocorrencias
from painel.admin.ingestao.linha_do_tempo import mostrar_decorrido
from tests.painel.conftest import erro_js
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

SESSOES, EVENTOS, ERROS, USO = (f"/admin/ingestao/{m}/" for m in ("sessao", "evento", "erro", "uso"))
EXCECOES = "/admin/dlr/excecao/"


def em(segundos: float) -> str:
    return (timezone.now() - timedelta(minutes=5) + timedelta(seconds=segundos)).isoformat()


def clique(evento_id: str, segundos: float, **campos: Any) -> dict[str, Any]:
    return {
        "evento_id": evento_id,
        "tipo": "CLIQUE",
        "texto": "Comprar",
        "ocorrido_em": em(segundos),
        **campos,
    }


def pagina_da_sessao(sessao: Sessao) -> str:
    return f"{SESSOES}{sessao.pk}/change/"


# ---- A sessão


def test_tres_cliques_do_usuario_ao_erro_dele(painel: Client, mandar: Callable[..., int]) -> None:
    mandar({"evento_id": "i", "tipo": "IDENTIFICACAO", "usuario_id": "maria"}, erro_js())
    achadas = painel.get(f"{SESSOES}?q=maria")
    sessao = achadas.context["cl"].result_list[0]
    assert pagina_da_sessao(sessao) in achadas.text
    pagina = painel.get(pagina_da_sessao(sessao))
    erro = Erro.objects.get()
    assert f"{ERROS}{erro.pk}/change/" in pagina.text
    assert painel.get(f"{ERROS}{erro.pk}/change/").status_code == 200


def test_repeticoes_seguidas_viram_um_passo_com_a_contagem(
    painel: Client, mandar: Callable[..., int]
) -> None:
    mandar(clique("a", 0), clique("b", 1), clique("c", 2), clique("d", 3, texto="Pagar"), clique("e", 4))
    passos = painel.get(pagina_da_sessao(Sessao.objects.get())).context["linha_do_tempo"]
    assert [(passo.evento.texto, passo.vezes) for passo in passos] == [
        ("Comprar", 1),
        ("Pagar", 1),
        ("Comprar", 3),
    ]
    assert passos[2].desde_o_inicio == "+0 s"
    assert passos[0].desde_o_inicio == "+4 s"


def test_requisicao_que_falhou_se_destaca_e_a_que_deu_certo_nao(
    painel: Client, mandar: Callable[..., int]
) -> None:
    requisicao = {"tipo": "REQUISICAO", "metodo": "GET", "url": "https://loja.com.br/api"}
    mandar(
        {**requisicao, "evento_id": "1", "status": 200, "ocorrido_em": em(0)},
        {**requisicao, "evento_id": "2", "status": 503, "ocorrido_em": em(1)},
    )
    passos = painel.get(pagina_da_sessao(Sessao.objects.get())).context["linha_do_tempo"]
    assert [(passo.evento.status, passo.cor) for passo in passos] == [(503, "danger"), (200, "")]


def test_filtro_por_tipo_na_sessao_e_tipo_inventado_mostra_tudo(
    painel: Client, mandar: Callable[..., int]
) -> None:
    mandar(erro_js(), clique("c", 0))
    endereco = pagina_da_sessao(Sessao.objects.get())
    passos = painel.get(f"{endereco}?tipo=CLIQUE").context["linha_do_tempo"]
    assert [passo.evento.tipo for passo in passos] == ["CLIQUE"]
    assert len(painel.get(f"{endereco}?tipo=INVENTADO").context["linha_do_tempo"]) == 2


def test_outras_sessoes_sao_as_do_usuario_e_as_do_anonimo_e_so_do_aplicativo(
    painel: Client, mandar: Callable[..., int]
) -> None:
    Aplicativo.objects.create(nome="Blog", dominios=["loja.com.br"], chave="pk_live_blog")
    mandar(clique("1", 0), sessao_externa="s1", usuario_id="maria", anonimo_id="a1")
    mandar(clique("2", 0), sessao_externa="s2", usuario_id="maria")
    mandar(clique("3", 0), sessao_externa="s3", anonimo_id="a1")
    mandar(clique("4", 0), sessao_externa="s4", usuario_id="joao")
    mandar(clique("5", 0), sessao_externa="s5", usuario_id="maria", chave="pk_live_blog")
    outras = painel.get(pagina_da_sessao(Sessao.objects.get(sessao_externa="s1"))).context["outras"]
    assert {linha["sessao"].sessao_externa for linha in outras} == {"s2", "s3"}


def test_sessao_de_ninguem_nao_se_liga_a_outras_de_ninguem(
    painel: Client, mandar: Callable[..., int]
) -> None:
    mandar(clique("1", 0), sessao_externa="s1")
    mandar(clique("2", 0), sessao_externa="s2")
    resposta = painel.get(pagina_da_sessao(Sessao.objects.get(sessao_externa="s1")))
    assert resposta.context["outras"] == []
    assert "não trouxe usuário nem anônimo" in resposta.text


@pytest.mark.parametrize(
    ("segundos", "dito"), [(0, "+0 s"), (59, "+59 s"), (61, "+1 min 1 s"), (7_500, "+2 h 5 min"), (-3, "")]
)
def test_tempo_decorrido_por_extenso(segundos: int, dito: str) -> None:
    inicio = datetime(2026, 11, 30, tzinfo=UTC)
    assert mostrar_decorrido(inicio, inicio + timedelta(seconds=segundos)) == dito


# ---- A busca


@pytest.fixture
def achaveis(mandar: Callable[..., int], aplicativo: Aplicativo) -> Aplicativo:
    mandar(clique("c1", 0, seletor="#carrinho"), clique("c2", 1), usuario_id="maria")
    mandar(erro_js("e1", mensagem="Falhou o CARRINHO"), sessao_externa="s2", anonimo_id="a9")
    return aplicativo


@pytest.mark.parametrize("recorte", ["periodo=hora", "periodo=30d", "dia={hoje}", "periodo=7d&tipo=CLIQUE"])
def test_texto_se_procura_no_aplicativo_e_no_tempo(
    painel: Client, achaveis: Aplicativo, recorte: str
) -> None:
    recorte = recorte.format(hoje=timezone.localdate())
    resposta = painel.get(f"{EVENTOS}?aplicativo={achaveis.pk}&{recorte}&q=carrinho")
    esperado = {"c1"} if "tipo" in recorte else {"c1", "e1"}
    assert {evento.evento_id for evento in resposta.context["cl"].result_list} == esperado
    assert "procurado em mensagem, nome, URL, texto e seletor" in resposta.text


@pytest.mark.parametrize("recorte", ["", "aplicativo={}", "periodo=hora", "dia=2026-11-30"])
def test_texto_sem_aplicativo_ou_sem_tempo_nao_procura_e_diz_o_que_falta(
    painel: Client, achaveis: Aplicativo, recorte: str
) -> None:
    with CaptureQueriesContext(connection) as consultas:
        resposta = painel.get(f"{EVENTOS}?{recorte.format(achaveis.pk)}&q=carrinho")
    assert resposta.context["cl"].result_count == 0
    assert busca.FALTA_O_RECORTE in resposta.text
    assert not any("LIKE" in c["sql"] for c in consultas)


def test_texto_curto_demais_nao_procura(painel: Client, achaveis: Aplicativo) -> None:
    resposta = painel.get(f"{EVENTOS}?aplicativo={achaveis.pk}&periodo=hora&q=ca")
    assert "ao menos 3 letras" in resposta.text
    assert resposta.context["cl"].result_count == 0


def test_texto_so_se_procura_nas_linhas_recentes_e_a_tela_diz(
    painel: Client, achaveis: Aplicativo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabela_grande.recortar, "__defaults__", (1,))
    Evento.objects.filter(evento_id="c1").update(criado_em=timezone.now() - timedelta(minutes=30))
    resposta = painel.get(f"{EVENTOS}?aplicativo={achaveis.pk}&periodo=hora&q=%23carrinho")
    assert resposta.context["cl"].result_count == 0
    assert "registros mais recentes" in resposta.text


@pytest.mark.parametrize(("pessoa", "quais"), [("maria", {"c1", "c2"}), ("a9", {"e1"}), ("mari", set())])
def test_eventos_de_uma_pessoa_pelo_nome_exato(
    painel: Client, achaveis: Aplicativo, pessoa: str, quais: set[str]
) -> None:
    resposta = painel.get(f"{EVENTOS}?pessoa={pessoa}")
    assert {evento.evento_id for evento in resposta.context["cl"].result_list} == quais
    assert f'value="{pessoa}"' in resposta.text


def test_campo_da_barra_conserva_os_outros_filtros(painel: Client, achaveis: Aplicativo) -> None:
    texto = painel.get(f"{EVENTOS}?aplicativo={achaveis.pk}&p=1&pessoa=maria").text
    assert f'<input type="hidden" name="aplicativo" value="{achaveis.pk}">' in texto
    assert '<input type="hidden" name="p"' not in texto


@pytest.mark.parametrize("dia", ["2026-13-40", "ontem", "%00"])
def test_dia_que_nao_existe_nao_acha_nada_e_nao_quebra(
    painel: Client, achaveis: Aplicativo, dia: str
) -> None:
    resposta = painel.get(f"{EVENTOS}?dia={dia}")
    assert (resposta.status_code, resposta.context["cl"].result_count) == (200, 0)


@pytest.mark.parametrize("lista", [SESSOES, EVENTOS, ERROS])
@pytest.mark.parametrize("parametro", ["q", "pessoa", "dia", "aplicativo", "tipo"])
def test_nulo_e_texto_enorme_no_endereco_nao_quebram_a_lista(
    painel: Client, achaveis: Aplicativo, lista: str, parametro: str
) -> None:
    for valor in ("a%00b", "%F0%9F%9B%92" * 500, "'; DROP TABLE x; --", "%ff"):
        resposta = painel.get(f"{lista}?{parametro}={valor}&periodo=hora&aplicativo={achaveis.pk}")
        assert resposta.status_code in (200, 302, 400), (parametro, valor)


# ---- O erro


def test_erro_mostra_ocorrencias_por_dia_sessoes_e_as_partes_da_impressao(
    painel: Client, mandar: Callable[..., int]
) -> None:
    pilha = "TypeError: x\n  at f (https://loja.com.br/main.3f2a91bc.js:1:2)\n  at g (https://loja.com.br/b.js:3:4)"
    mandar(erro_js("1", "pedido 17", pilha=pilha), erro_js("2", "pedido 99", pilha=pilha), usuario_id="maria")
    mandar(erro_js("3", "pedido 5", pilha=pilha), sessao_externa="s2")
    Evento.objects.filter(evento_id="3").update(criado_em=timezone.now() - timedelta(days=2))
    erro = Erro.objects.get()
    resposta = painel.get(f"{ERROS}{erro.pk}/change/")
    por_dia = ocorrencias.contar_por_dia(erro.pk, timezone.localdate())
    assert [quantas for _, quantas in por_dia][-3:] == [1, 0, 2]
    assert len(por_dia) == 30
    vistas = {linha["sessao"].quem: linha["sessao"].vezes for linha in resposta.context["sessoes"]}
    assert vistas == {"maria": 2, "sem identificação": 1}
    partes = {linha.rotulo: linha.valor for linha in resposta.context["agrupamento"]}
    assert partes["Mensagem"] == "pedido <n>"
    assert partes["Quadros da pilha"] == "f /main.<build>.js\ng /b.js"
    assert partes["Impressão digital"] == erro.impressao
    assert "É o SHA-256 das partes acima." in resposta.text
    assert resposta.text.count("<details") >= 3


def test_dia_com_ocorrencias_demais_para_no_teto_e_o_grafico_diz(
    painel: Client, mandar: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from painel.admin.ingestao import erro as tela

    for modulo in (ocorrencias, tela):
        monkeypatch.setattr(modulo, "POR_DIA", 2)
    mandar(*[erro_js(str(n)) for n in range(5)])
    resposta = painel.get(f"{ERROS}{Erro.objects.get().pk}/change/")
    assert resposta.context["grafico"].titulo == "Ocorrências por dia (até 2 em cada um)"


def test_erros_por_quantidade_vem_na_ordem_do_indice(painel: Client, mandar: Callable[..., int]) -> None:
    mandar(erro_js("1", "muitas"), erro_js("2", "muitas"))
    mandar(erro_js("3", "uma"))
    with CaptureQueriesContext(connection) as consultas:
        lista = painel.get(f"{ERROS}?ordem=ocorrencias&periodo=hora").context["cl"].result_list
    assert [erro.quantidade for erro in lista] == [2, 1]
    assert any(
        'ORDER BY "ingestao_erro"."quantidade" DESC, "ingestao_erro"."id" DESC' in c["sql"] for c in consultas
    )
    assert [e.quantidade for e in painel.get(ERROS).context["cl"].result_list] == [1, 2]


# ---- A fila de exceções


def test_excecoes_dizem_quantas_iguais_ha_e_desde_quando(painel: Client, ligada: Ligada) -> None:
    outra = criar("outra")
    ligada.receber([recibo(letra) for letra in "xyz"])
    outra.receber([recibo("w"), 7])
    passar_a_janela()
    lista = painel.get(EXCECOES).context["cl"]
    assert [(g["tipo"], g["integracao"], g["grupo"].quantas) for g in lista.grupos] == [
        ("Sem correlação", "operadora-a", 3),
        ("Formato não reconhecido", "outra", 1),
        ("Sem correlação", "outra", 1),
    ]
    assert sorted(excecao.iguais for excecao in lista.result_list) == [1, 1, 3, 3, 3]
    assert f"?tipo=sem_correlacao&amp;integracao={ligada.id}" in painel.get(EXCECOES).text


@pytest.mark.parametrize(
    ("idade", "quantas"),
    [("1h", 1), ("24h", 1), ("passou_1h", 1), ("passou_24h", 0), ("mais", 0), ("inventada", 2)],
)
def test_excecoes_por_idade_e_por_dono(painel: Client, ligada: Ligada, idade: str, quantas: int) -> None:
    ligada.receber([7, 8])
    velha = Excecao.objects.order_by("pk")[0]
    Excecao.objects.filter(pk=velha.pk).update(
        aberta_em=timezone.now() - timedelta(hours=2), atribuida_a=User.objects.get()
    )
    assert painel.get(f"{EXCECOES}?idade={idade}").context["cl"].result_count == quantas
    assert list(painel.get(f"{EXCECOES}?dono=eu").context["cl"].result_list) == [velha]
    assert velha not in painel.get(f"{EXCECOES}?dono=ninguem").context["cl"].result_list


# ---- O uso


def test_uso_traz_o_grafico_do_aplicativo_escolhido(painel: Client, mandar: Callable[..., int]) -> None:
    outro = Aplicativo.objects.create(nome="Blog", dominios=["loja.com.br"], chave="pk_live_blog")
    mandar(erro_js("1"), erro_js("2"))
    mandar(erro_js("3"), {"tipo": "X"}, chave="pk_live_blog", sessao_externa="s2")
    assert [i.valor for i in painel.get(USO).context["cl"].grafico.legenda] == ["3", "1"]
    do_blog = painel.get(f"{USO}?aplicativo={outro.pk}").context["cl"].grafico
    assert [(i.nome, i.valor) for i in do_blog.legenda] == [("gravados", "1"), ("recusados", "1")]


def test_aplicativo_mostra_a_franquia_do_mes_em_barra(painel: Client, mandar: Callable[..., int]) -> None:
    Aplicativo.objects.filter(chave="pk_live_loja").update(franquia=1)
    mandar(erro_js("1"), erro_js("2"))
    resposta = painel.get(f"/admin/ingestao/aplicativo/{Aplicativo.objects.get().pk}/change/")
    assert resposta.context["franquia"].descricao == "dentro da franquia: 1, além da franquia: 1"
    assert 'style="' not in resposta.text.split('id="meses-titulo"')[1].split("</figure>")[0]
