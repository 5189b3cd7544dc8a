"""Cada papel abre o que é dele e é recusado no resto: todas as rotas do painel, uma a uma, e cada link delas."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, reverse

from dlr.models import Excecao
from painel.admin.navegacao import ENTRADAS
from painel.permissoes import OPERACAO, PAPEIS, SUPORTE
from tests.painel.papeis.conftest import chave_de, entrar_como
from tests.painel.papeis.quem_abre import (
    A_PARTE,
    CONFERIDAS,
    CONTAGENS,
    DE_TODOS,
    NOMES,
    OUTRAS,
    SIGLAS,
    SO_POST,
    VE,
    quem_abre,
)

pytestmark = pytest.mark.django_db


def test_toda_rota_do_painel_tem_quem_a_abre_decidido() -> None:
    sem_dono = [nome for nome in CONFERIDAS if quem_abre(nome) is None]
    assert not sem_dono, f"diga em tests/painel/papeis/quem_abre.py quem abre: {sem_dono}"
    inventadas = sorted((set(OUTRAS) | DE_TODOS | A_PARTE) - set(NOMES))
    assert not inventadas, f"não existem mais: {inventadas}"


def pedir(cliente: Client, nome: str) -> Any:
    if nome == "dlr_excecao_ato":
        excecao = Excecao.objects.filter(situacao="aberta").first()
        assert excecao is not None
        return cliente.get(reverse("admin:dlr_excecao_ato", args=["anotar"]), {"excecao": excecao.pk})
    argumentos = [] if sem_chave(nome) else [chave_de(nome)]
    endereco = reverse(f"admin:{nome}", args=argumentos)
    return cliente.post(endereco) if nome.endswith(SO_POST) else cliente.get(endereco)


@pytest.mark.parametrize("papel", [*PAPEIS, ""])
def test_papel_abre_o_que_e_dele_e_e_recusado_no_resto(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    # As que mudam alguma coisa por último: o que some não faz falta às outras.
    for nome in sorted(CONFERIDAS, key=lambda nome: nome.endswith(SO_POST)):
        abre = SIGLAS.get(papel, "-") in (quem_abre(nome) or "")
        resposta = pedir(cliente, nome)
        esperado = {200, 302, 400} if nome.endswith(SO_POST) else {200}
        assert resposta.status_code in (esperado if abre else {403}), (papel, nome, resposta.status_code)
        if resposta.status_code == 302:
            assert "/login/" not in resposta.headers["Location"]


@pytest.mark.parametrize("papel", [*PAPEIS, ""])
def test_o_que_e_da_propria_pessoa_abre_a_todos(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    for nome in DE_TODOS:
        assert cliente.get(reverse(f"admin:{nome}")).status_code == 200, nome


def test_quem_nao_entrou_vai_ao_login_em_toda_rota(um_de_cada: None) -> None:
    anonimo = Client(headers={"accept": "text/html"})
    for nome in CONFERIDAS:
        resposta = pedir(anonimo, nome)
        assert resposta.status_code in (302, 405), nome
        if resposta.status_code == 302:
            assert resposta.headers["Location"].startswith("/admin/login/"), nome


def test_nenhum_envio_sem_o_token_do_formulario_e_aceito(um_de_cada: None) -> None:
    """De outro site, o navegador manda o cookie da sessão; o token do formulário, não."""
    exigente = Client(enforce_csrf_checks=True)
    exigente.force_login(User.objects.create_superuser("chefe"))
    for nome in CONFERIDAS:
        chaves = [] if sem_chave(nome) else ["anotar" if nome == "dlr_excecao_ato" else chave_de(nome)]
        endereco = reverse(f"admin:{nome}", args=chaves)
        for metodo in (exigente.post, exigente.put, exigente.patch, exigente.delete):
            assert metodo(endereco).status_code in (403, 405), (nome, metodo.__name__)


def sem_chave(nome: str) -> bool:
    return nome.endswith(("_changelist", "_add", "_panorama"))


@pytest.mark.parametrize("papel", list(PAPEIS))
def test_nenhum_link_de_uma_tela_que_o_papel_abre_e_recusado(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    vistos: set[str] = set()
    for nome in CONFERIDAS:
        if nome.endswith(SO_POST) or SIGLAS[papel] not in (quem_abre(nome) or ""):
            continue
        resposta = pedir(cliente, nome)
        if resposta.headers["Content-Type"] == "image/jpeg":
            continue
        for endereco in links_de(resposta.text) - vistos:
            vistos.add(endereco)
            assert cliente.get(endereco).status_code not in (403, 404), (nome, endereco)
    assert len(vistos) > 5


@pytest.mark.parametrize("chave", [" ", "x", "9" * 30, "-1", "%00", "00000000-0000-4000-8000-000000000000"])
def test_chave_que_nao_existe_ou_nem_chave_e_nunca_quebra_a_tela(um_de_cada: None, chave: str) -> None:
    cliente = entrar_como(*PAPEIS)
    for nome in CONFERIDAS:
        try:
            endereco = reverse(f"admin:{nome}", args=["CHAVE"]).replace("CHAVE", chave)
        except NoReverseMatch:
            continue  # não leva chave, ou só aceita a de forma certa, e a rota nem existe para as outras
        resposta = cliente.post(endereco) if nome.endswith(SO_POST) else cliente.get(endereco)
        assert resposta.status_code in (302, 400, 403, 404), (endereco, resposta.status_code)


def links_de(html: str) -> set[str]:
    achados = {unescape(endereco) for endereco in re.findall(r'href="(/admin/[^"#]*)"', html)}
    return {endereco for endereco in achados if "logout" not in endereco}


@pytest.mark.parametrize("papel", list(PAPEIS))
def test_menu_tem_tudo_o_que_o_papel_abre_e_mais_nada(db: None, papel: str) -> None:
    menu = links_de(entrar_como(papel).get("/admin/segundo-fator/").text)
    for modelo, siglas in VE.items():
        esperado = SIGLAS[papel] in siglas and modelo not in CONTAGENS
        entrada = ENTRADAS.get(modelo.partition("_")[2], "changelist")
        assert (reverse(f"admin:{modelo}_{entrada}") in menu) == esperado, modelo


def test_quem_nao_tem_papel_ve_o_que_fazer(db: None) -> None:
    resposta = entrar_como().get("/admin/")
    assert resposta.status_code == 200
    assert "Sua conta ainda não tem um papel" in resposta.text


def test_papeis_somam_quando_a_pessoa_tem_dois(um_de_cada: None) -> None:
    cliente = entrar_como(SUPORTE, OPERACAO)
    for modelo in ("ingestao_erro", "dlr_excecao"):
        assert cliente.get(reverse(f"admin:{modelo}_changelist")).status_code == 200
