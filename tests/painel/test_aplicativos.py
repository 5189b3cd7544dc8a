"""O cadastro de aplicativos: domínios, chave, uso, e a exclusão que guarda a história."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from ingestao.models import Aplicativo, Evento
from tests.painel.conftest import entrar_com, erro_js, mensagens

pytestmark = pytest.mark.django_db

APLICATIVOS = "/admin/ingestao/aplicativo/"
FORMULARIO = {"nome": "Blog", "franquia": "", "politica": "SO_AVISAR", "emails_de_aviso": ""}


def pagina(aplicativo: Aplicativo, acao: str = "change") -> str:
    return f"{APLICATIVOS}{aplicativo.pk}/{acao}/"


def test_dominios_sao_escritos_um_por_linha_e_guardados_normalizados(painel: Client) -> None:
    dominios = " Exemplo.COM.br \r\n\r\n*.exemplo.com.br\r\nexemplo.com.br\r\nação.com.br"
    resposta = painel.post(f"{APLICATIVOS}add/", {**FORMULARIO, "dominios": dominios}, follow=True)
    blog = Aplicativo.objects.get(nome="Blog")
    assert blog.dominios == ["exemplo.com.br", "*.exemplo.com.br", "xn--ao-siap.com.br"]
    assert resposta.redirect_chain == [(pagina(blog), 302)]
    assert blog.chave in resposta.text


def test_dominio_que_nao_serve_e_dito_no_formulario_linha_por_linha(painel: Client) -> None:
    dominios = "https://a.com.br/x\nbom.com.br\n*.com"
    resposta = painel.post(f"{APLICATIVOS}add/", {**FORMULARIO, "dominios": dominios})
    assert resposta.status_code == 200
    assert resposta.context["adminform"].form.errors["dominios"] == [
        "“https://a.com.br/x”: escreva só o domínio, sem protocolo, caminho ou espaços.",
        "“*.com”: o curinga pede uma raiz com ponto e sem porta, como *.exemplo.com.br.",
    ]
    assert "sem protocolo, caminho ou espaços" in resposta.text
    assert "bom.com.br" in resposta.text
    assert not Aplicativo.objects.exists()


@pytest.mark.parametrize(
    ("campo", "valor"), [("dominios", "  \n "), ("franquia", "0"), ("emails_de_aviso", "a@b.com, torto")]
)
def test_campo_invalido_volta_com_o_erro_no_campo(painel: Client, campo: str, valor: str) -> None:
    resposta = painel.post(f"{APLICATIVOS}add/", {**FORMULARIO, "dominios": "a.com.br", campo: valor})
    assert list(resposta.context["adminform"].form.errors) == [campo]


def test_salvar_o_formulario_nao_desfaz_uma_troca_de_chave_feita_no_meio(
    painel: Client, aplicativo: Aplicativo
) -> None:
    aplicativo.trocar_chave()
    aplicativo.save()
    painel.post(pagina(aplicativo), {**FORMULARIO, "nome": "Outro", "dominios": "loja.com.br"})
    depois = Aplicativo.objects.get()
    assert (depois.nome, depois.chave) == ("Outro", aplicativo.chave)


def test_pagina_mostra_a_chave_o_trecho_pronto_e_o_uso(painel: Client, mandar: Callable[..., int]) -> None:
    mandar(erro_js())
    aplicativo = Aplicativo.objects.get()
    resposta = painel.get(pagina(aplicativo))
    assert "curl -i &#x27;http://testserver/evento/ingestao&#x27;" in resposta.text
    assert "Origin: https://loja.com.br" in resposta.text
    assert resposta.context["meses"][-1].eventos == 1
    assert len(resposta.context["meses"]) == 12


def test_trocar_a_chave_pede_confirmacao_e_mantem_as_duas_valendo(
    painel: Client, aplicativo: Aplicativo, mandar: Callable[..., int]
) -> None:
    assert painel.get(pagina(aplicativo, "trocar-chave")).status_code == 200
    aplicativo.refresh_from_db()
    assert aplicativo.chave == "pk_live_loja"

    resposta = painel.post(pagina(aplicativo, "trocar-chave"), follow=True)
    aplicativo.refresh_from_db()
    assert aplicativo.chave != "pk_live_loja"
    assert aplicativo.chave_anterior_ate is not None
    assert aplicativo.chave_anterior_ate - timezone.now() > timedelta(days=6, hours=23)
    assert aplicativo.chave in mensagens(resposta)[0]
    assert "pk_live_loja</code> ainda vale até" in resposta.text
    assert mandar(erro_js("1"), chave="pk_live_loja") == 202
    assert mandar(erro_js("2"), chave=aplicativo.chave) == 202
    assert LogEntry.objects.get().change_message == "Trocou a chave."


def test_segunda_troca_avisa_que_a_chave_anterior_cai_agora(painel: Client, aplicativo: Aplicativo) -> None:
    painel.post(pagina(aplicativo, "trocar-chave"))
    assert "deixa de valer agora" in painel.get(pagina(aplicativo, "trocar-chave")).text


def test_excluir_e_logico_a_porta_responde_401_e_restaurar_desfaz(
    painel: Client, aplicativo: Aplicativo, mandar: Callable[..., int]
) -> None:
    assert mandar(erro_js("1")) == 202
    assert painel.get(pagina(aplicativo, "excluir")).status_code == 200
    assert not Aplicativo.objects.get().deletado

    resposta = painel.post(pagina(aplicativo, "excluir"), follow=True)
    assert "a história fica" in mensagens(resposta)[0]
    assert "está excluído" in resposta.text
    assert mandar(erro_js("2")) == 401
    assert Evento.objects.count() == 1
    assert painel.get(APLICATIVOS).context["cl"].result_count == 0
    assert painel.get(f"{APLICATIVOS}?situacao=excluidos").context["cl"].result_count == 1

    painel.post(pagina(aplicativo, "restaurar"))
    assert mandar(erro_js("3")) == 202
    assert [e.change_message for e in LogEntry.objects.order_by("id")] == ["Excluiu.", "Restaurou."]


@pytest.mark.parametrize("acao", ["excluir", "restaurar", "trocar-chave"])
def test_acao_de_aplicativo_sem_permissao_e_recusada(aplicativo: Aplicativo, acao: str) -> None:
    cliente = entrar_com("view_aplicativo")
    assert cliente.post(pagina(aplicativo, acao)).status_code == 403
    depois = Aplicativo.objects.get()
    assert (depois.chave, depois.deletado) == ("pk_live_loja", False)
