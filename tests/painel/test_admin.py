"""As telas abrem, com dados e vazias, custam o mesmo com poucas e com muitas linhas, e nada hostil executa."""

import json
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestao.models import Aplicativo, AvisoFranquia, Erro, Evento, Lote, Recusa, Sessao, Uso
from painel.admin import tabela_grande
from tests.painel.conftest import HOSTIL, erro_js

pytestmark = pytest.mark.django_db

LISTAS = ("aplicativo", "sessao", "evento", "erro", "uso", "recusa", "avisofranquia", "lote")
PAGINAS: dict[str, Any] = {
    "sessao": Sessao,
    "evento": Evento,
    "erro": Erro,
    "lote": Lote,
    "aplicativo": Aplicativo,
}
# Sessão e usuário da requisição, a permissão, a contagem, a página e as opções dos filtros.
CONSULTAS_POR_LISTA = 8


def lista(modelo: str) -> str:
    return f"/admin/ingestao/{modelo}/"


@pytest.fixture
def com_dados(mandar: Callable[..., int], aplicativo: Aplicativo) -> Aplicativo:
    """Uma linha, ao menos, em cada tabela."""
    mandar(
        erro_js(pilha="TypeError\n  at f (https://loja.com.br/a.js:1:2)", payload={"a": 1}),
        {"evento_id": "x", "tipo": "X"},
        usuario_id="u1",
    )
    mandar({"evento_id": "r", "tipo": "REQUISICAO", "metodo": "GET", "status": 500})
    mandar({"evento_id": "p", "tipo": "PAGINA"}, aplicar=False)
    Lote.objects.update(estacionado_em=timezone.now(), tentativas=5, falha="DataError: fora do intervalo")
    AvisoFranquia.objects.create(
        aplicativo=aplicativo,
        periodo=date(2026, 1, 1),
        percentual=80,
        quantidade=8,
        franquia=10,
        criado_em=timezone.now(),
    )
    return aplicativo


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_abre_vazia(painel: Client, modelo: str) -> None:
    assert painel.get(lista(modelo)).status_code == 200


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_abre_com_dados(painel: Client, com_dados: Aplicativo, modelo: str) -> None:
    resposta = painel.get(lista(modelo))
    assert resposta.status_code == 200
    assert "Loja" in resposta.text
    assert resposta.context["cl"].result_count >= 1


@pytest.mark.parametrize("modelo", PAGINAS)
def test_pagina_abre_com_dados(painel: Client, com_dados: Aplicativo, modelo: str) -> None:
    registro = PAGINAS[modelo].objects.first()
    assert painel.get(f"{lista(modelo)}{registro.pk}/change/").status_code == 200


@pytest.mark.parametrize(
    "endereco", ["/admin/", "/admin/auth/user/", "/admin/auth/group/", "/admin/auth/user/add/"]
)
def test_inicio_usuarios_e_grupos_abrem(painel: Client, endereco: str) -> None:
    assert painel.get(endereco).status_code == 200


@pytest.mark.parametrize(
    ("modelo", "consulta"),
    [
        ("evento", "tipo=ERRO_JS&periodo=hora"),
        ("evento", "q=e1"),
        ("evento", "periodo=7d"),
        ("sessao", "q=s1"),
        ("sessao", "q=u1"),
        ("erro", "estado=aberto"),
        ("erro", "q=undefined"),
        ("erro", "tipo=ERRO_JS"),
        ("uso", "periodo=hoje"),
        ("recusa", "motivo=tipo_invalido"),
        ("lote", "situacao=estacionado"),
        ("aplicativo", "q=pk_live_loja"),
        ("aplicativo", "q=loja.com"),
    ],
)
def test_filtro_e_busca_acham_o_que_existe(
    painel: Client, com_dados: Aplicativo, modelo: str, consulta: str
) -> None:
    resposta = painel.get(f"{lista(modelo)}?{consulta}")
    assert resposta.status_code == 200
    assert resposta.context["cl"].result_count == 1 + (consulta == "periodo=7d")


@pytest.mark.parametrize(
    ("modelo", "consulta"),
    [
        ("evento", "tipo=CLIQUE"),
        ("evento", "aplicativo=nada"),
        ("evento", "sessao=x"),
        ("evento", "erro=x"),
        ("evento", "q=nao-existe"),
        ("sessao", "q=outra"),
        ("erro", "estado=resolvido"),
        ("erro", "estado=regrediu"),
        ("lote", "situacao=pendente"),
        ("aplicativo", "situacao=excluidos"),
    ],
)
def test_filtro_sem_resultado_abre_e_diz_que_nao_ha(
    painel: Client, com_dados: Aplicativo, modelo: str, consulta: str
) -> None:
    resposta = painel.get(f"{lista(modelo)}?{consulta}")
    assert resposta.status_code == 200
    assert resposta.context["cl"].result_count == 0
    assert "Nada por aqui" in resposta.text


def test_numero_da_sessao_na_busca_de_eventos_vira_o_filtro_dela(
    painel: Client, com_dados: Aplicativo
) -> None:
    sessao = Sessao.objects.get()
    resposta = painel.get(f"{lista('evento')}?q={sessao.pk}", follow=True)
    assert resposta.redirect_chain == [(f"{lista('evento')}?sessao={sessao.pk}", 302)]
    assert resposta.context["cl"].result_count == 2


@pytest.mark.parametrize("parametro", ["mensagem__regex=(a%2B)%2B", "payload__a=1", "pilha__contains=x"])
def test_filtro_por_campo_escrito_no_endereco_e_recusado(painel: Client, parametro: str) -> None:
    assert painel.get(f"{lista('evento')}?{parametro}").status_code == 400


def test_ordem_pedida_no_endereco_nao_muda_a_do_indice(painel: Client, com_dados: Aplicativo) -> None:
    with CaptureQueriesContext(connection) as consultas:
        painel.get(f"{lista('evento')}?o=4.-2")
    (pagina,) = [
        c["sql"]
        for c in consultas
        if "ORDER BY" in c["sql"] and "COUNT" not in c["sql"] and '"ingestao_evento"."mensagem"' in c["sql"]
    ]
    assert 'ORDER BY "ingestao_evento"."criado_em" DESC, "ingestao_evento"."id" DESC' in pagina


@pytest.mark.parametrize("modelo", ["evento", "sessao", "lote", "erro"])
def test_lista_grande_nunca_conta_a_tabela_inteira(
    painel: Client, com_dados: Aplicativo, modelo: str
) -> None:
    for consulta in ("", f"?aplicativo={com_dados.pk}", "?q=s1", "?periodo=hoje"):
        with CaptureQueriesContext(connection) as consultas:
            painel.get(lista(modelo) + consulta)
        contagens = [c["sql"] for c in consultas if "COUNT(" in c["sql"].upper()]
        assert all(re.search(r"COUNT\(\*\) FROM \(SELECT .* LIMIT \d+\)", sql) for sql in contagens), (
            contagens
        )


def test_contagem_para_no_teto_e_a_tela_diz_que_ha_mais(
    painel: Client, mandar: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabela_grande, "CONTAGEM_MAXIMA", 2)
    mandar(*[{"evento_id": str(n), "tipo": "CLIQUE"} for n in range(5)])
    texto = " ".join(painel.get(lista("evento")).text.split())
    assert "2+ eventos" in texto


def test_filtro_sem_indice_olha_so_as_linhas_recentes_e_diz(
    painel: Client, mandar: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mandar(erro_js())
    mandar(*[{"evento_id": str(n), "tipo": "CLIQUE"} for n in range(3)])
    monkeypatch.setattr(tabela_grande.recortar, "__defaults__", (2,))
    resposta = painel.get(f"{lista('evento')}?tipo=ERRO_JS")
    assert resposta.context["cl"].result_count == 0
    assert "registros mais recentes" in resposta.text


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_custa_o_mesmo_com_muitas_linhas(
    painel: Client,
    com_dados: Aplicativo,
    mandar: Callable[..., int],
    django_assert_max_num_queries: Callable,
    modelo: str,
) -> None:
    for n in range(12):
        outro = Aplicativo.objects.create(nome=f"Loja {n}", dominios=["loja.com.br"], chave=f"pk_live_{n:04}")
        mandar(
            erro_js(f"m{n}", mensagem="abcdefghijkl"[n] * 9),
            {"tipo": 1},
            chave=outro.chave,
            sessao_externa=f"t{n}",
        )
        Uso.objects.create(aplicativo=com_dados, dia=timezone.localdate() - timedelta(days=n + 1))
        Lote.objects.create(aplicativo=outro, conteudo=b"{}")
        AvisoFranquia.objects.create(
            aplicativo=outro,
            periodo=date(2026, 1, 1),
            percentual=80,
            quantidade=8,
            franquia=9,
            criado_em=timezone.now(),
        )
    with django_assert_max_num_queries(CONSULTAS_POR_LISTA):
        resposta = painel.get(lista(modelo))
    assert resposta.context["cl"].result_count >= 12


@pytest.fixture
def hostil(mandar: Callable[..., int]) -> None:
    mandar(
        erro_js(
            HOSTIL,
            HOSTIL,
            nome=HOSTIL,
            pilha=HOSTIL,
            url="javascript:alert(3)",
            arquivo="data:text/html,<script>alert(4)</script>",
            seletor=HOSTIL,
            texto=HOSTIL,
            payload={HOSTIL: [HOSTIL, "</pre><script>"]},
        ),
        sessao_externa=HOSTIL,
        usuario_id=HOSTIL,
        navegador=HOSTIL,
        pagina_inicial="javascript:alert(5)",
    )
    conteudo = json.dumps({"sessao": {"navegador": HOSTIL}, "eventos": []}, ensure_ascii=False).encode()
    Lote.objects.create(conteudo=conteudo, falha=HOSTIL, estacionado_em=timezone.now())


@pytest.mark.parametrize("modelo", ["sessao", "evento", "erro", "lote"])
def test_conteudo_hostil_aparece_inerte_na_lista_e_na_pagina(
    painel: Client, hostil: None, modelo: str
) -> None:
    registro = PAGINAS[modelo].objects.get()
    for endereco in (lista(modelo), f"{lista(modelo)}{registro.pk}/change/"):
        texto = painel.get(endereco).text
        assert "&lt;script&gt;alert(1)" in texto
        for ativo in ("<script>alert", "<img src=x", "</pre><script>", "\x1b", "\u202e"):
            assert ativo not in texto
        assert not re.search(r'href="\s*(?:javascript|data):', texto, re.IGNORECASE)


ATIVOS = ("<script>alert", "<img src=x", "\x1b", "\u202e")


def test_busca_nota_e_trilha_hostis_tambem_sao_inertes(painel: Client, hostil: None) -> None:
    erro = Erro.objects.get()
    painel.post(f"{lista('erro')}{erro.pk}/triagem/", {"verbo": "ANOTAR", "nota": HOSTIL})
    Sessao.objects.create(
        aplicativo=erro.aplicativo,
        sessao_externa=f"outra {HOSTIL}",
        usuario_id=Sessao.objects.get().usuario_id,
        primeira_atividade_em=timezone.now(),
        ultima_atividade_em=timezone.now(),
        criado_em=timezone.now(),
    )
    procurado = urlencode(
        {"q": HOSTIL, "pessoa": HOSTIL, "aplicativo": str(erro.aplicativo_id), "periodo": "hora"}
    )
    sessao = Sessao.objects.order_by("pk")[0]
    for endereco in (
        f"{lista('erro')}{erro.pk}/change/",
        f"{lista('sessao')}{sessao.pk}/change/",
        f"{lista('evento')}?{procurado}",
    ):
        texto = painel.get(endereco).text
        assert "&lt;script&gt;alert(1)" in texto, endereco
        # No campo da busca fica o que a própria pessoa digitou, para ela poder corrigir.
        ativos = ATIVOS[:2] if "?" in endereco else ATIVOS
        assert not any(ativo in texto for ativo in ativos), endereco


def test_nome_de_aplicativo_e_motivo_hostis_sao_inertes_nas_listas(painel: Client, hostil: None) -> None:
    Aplicativo.objects.update(nome="<script>alert(1)</script>")
    Recusa.objects.create(dia=timezone.localdate(), motivo="<script>alert(1)</script>")
    for modelo in LISTAS:
        assert "<script>alert" not in painel.get(lista(modelo)).text, modelo


def test_endereco_http_vira_link_que_nao_entrega_a_pagina(painel: Client, mandar: Callable[..., int]) -> None:
    mandar({"evento_id": "p", "tipo": "PAGINA", "url": "https://loja.com.br/?a=1&b=2"})
    texto = painel.get(f"{lista('evento')}{Evento.objects.get().pk}/change/").text
    assert 'href="https://loja.com.br/?a=1&amp;b=2"' in texto
    assert 'rel="noopener noreferrer nofollow"' in texto


def test_evento_cuja_sessao_e_erro_ja_sairam_ainda_abre(painel: Client, com_dados: Aplicativo) -> None:
    evento = Evento.objects.get(evento_id="e1")
    Erro.objects.all().delete()
    connection.cursor().execute("DELETE FROM ingestao_sessao")
    assert "passou da retenção" in painel.get(f"{lista('evento')}{evento.pk}/change/").text
    assert painel.get(lista("evento")).context["cl"].result_count == 2


@pytest.mark.parametrize("modelo", LISTAS)
def test_nada_se_apaga_pelo_painel(painel: Client, com_dados: Aplicativo, modelo: str) -> None:
    tabelas: dict[str, Any] = {**PAGINAS, "uso": Uso, "recusa": Recusa, "avisofranquia": AvisoFranquia}
    registro = tabelas[modelo].objects.first()
    assert painel.post(f"{lista(modelo)}{registro.pk}/delete/", {"post": "yes"}).status_code == 403
    painel.post(
        lista(modelo), {"action": "delete_selected", "_selected_action": [registro.pk], "post": "yes"}
    )
    assert tabelas[modelo].objects.filter(pk=registro.pk).exists()


@pytest.mark.parametrize(
    "consulta",
    ["?_to_field=^b", "?inexistente__x=1", "?_to_field=%00", "?_to_field=", "?o=9.9.9&p=-1", "?id__in=,,"],
)
def test_endereco_torto_de_quem_esta_dentro_nao_vai_ao_registro(
    painel: Client, caplog: pytest.LogCaptureFixture, consulta: str
) -> None:
    for tela in ("/admin/auth/user/", f"/admin/auth/user/{painel.session['_auth_user_id']}/change/"):
        assert painel.get(f"{tela}{consulta}").status_code < 500
    assert [registro for registro in caplog.records if registro.levelname in ("ERROR", "CRITICAL")] == []
