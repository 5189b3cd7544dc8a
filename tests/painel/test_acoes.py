"""Cada ação faz o seu efeito pela tela, diz o número verdadeiro e deixa história."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from ingestao import tasks
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.eventos.retencao import expurgar
from ingestao.models import AcaoDeErro, Erro, EstadoDoErro, Evento, Lote
from painel.admin.ingestao import triagem_na_tela
from tests.painel.conftest import entrar_com, erro_js, mensagens

pytestmark = pytest.mark.django_db

ERROS, LOTES = "/admin/ingestao/erro/", "/admin/ingestao/lote/"


# ---- Erro


@pytest.fixture
def erros(mandar: Callable[..., int]) -> list[Erro]:
    for letra in "abc":
        mandar(erro_js(letra, mensagem=letra * 9))
    return list(Erro.objects.order_by("titulo"))


def triar_na_lista(cliente: Client, acao: str, erros: list[Erro]) -> Any:
    return cliente.post(ERROS, {"action": acao, "_selected_action": [e.pk for e in erros]}, follow=True)


def test_resolver_na_lista_muda_so_os_escolhidos_e_diz_quantos(painel: Client, erros: list[Erro]) -> None:
    resposta = triar_na_lista(painel, "resolver", erros[:2])
    assert mensagens(resposta) == ["2 erros resolvidos."]
    depois = list(Erro.objects.order_by("titulo"))
    assert [erro.estado for erro in depois] == ["resolvido", "resolvido", "aberto"]
    assert depois[0].resolvido_por == User.objects.get()
    assert depois[0].resolvido_em is not None
    assert timezone.now() - depois[0].resolvido_em < timedelta(minutes=1)
    assert depois[2].resolvido_em is None
    assert {ato.erro_id for ato in AcaoDeErro.objects.all()} == {erro.pk for erro in erros[:2]}


def test_repetir_a_triagem_nao_muda_nada_e_diz_que_ja_estava(painel: Client, erros: list[Erro]) -> None:
    triar_na_lista(painel, "resolver", erros[:1])
    resolvido_em = Erro.objects.get(pk=erros[0].pk).resolvido_em
    assert mensagens(triar_na_lista(painel, "resolver", erros[:2])) == [
        "1 erro resolvido; 1 já estava assim."
    ]
    assert Erro.objects.get(pk=erros[0].pk).resolvido_em == resolvido_em
    assert AcaoDeErro.objects.count() == 2


@pytest.mark.parametrize(
    ("verbo", "estado", "frase"),
    [
        ("RESOLVER", EstadoDoErro.RESOLVIDO, "1 erro resolvido."),
        ("IGNORAR", EstadoDoErro.IGNORADO, "1 erro ignorado."),
    ],
)
def test_botao_da_pagina_tria_e_reabrir_limpa_a_resolucao(
    painel: Client, erros: list[Erro], verbo: str, estado: str, frase: str
) -> None:
    triagem = f"{ERROS}{erros[0].pk}/triagem/"
    assert mensagens(painel.post(triagem, {"verbo": verbo}, follow=True)) == [frase]
    assert Erro.objects.get(pk=erros[0].pk).estado == estado
    painel.post(triagem, {"verbo": "REABRIR"})
    depois = Erro.objects.get(pk=erros[0].pk)
    assert (depois.estado, depois.resolvido_em, depois.resolvido_por) == ("aberto", None, None)
    trilha = painel.get(f"{ERROS}{erros[0].pk}/change/").context["trilha"]
    assert trilha[0]["nome"] == "Reabriu"
    assert {str(passo["ato"].autor) for passo in trilha} == {"ana"}


def test_erro_resolvido_pela_tela_regride_quando_volta(
    painel: Client, erros: list[Erro], mandar: Callable[..., int]
) -> None:
    painel.post(f"{ERROS}{erros[0].pk}/triagem/", {"verbo": "RESOLVER"})
    mandar(erro_js("de novo", mensagem="a" * 9))
    assert painel.get(f"{ERROS}?estado=regrediu").context["cl"].result_count == 1


@pytest.mark.parametrize("verbo", ["", "APAGAR"])
def test_verbo_desconhecido_e_recusado(painel: Client, erros: list[Erro], verbo: str) -> None:
    assert painel.post(f"{ERROS}{erros[0].pk}/triagem/", {"verbo": verbo}).status_code == 400


def test_triagem_por_get_nao_existe(painel: Client, erros: list[Erro]) -> None:
    assert painel.get(f"{ERROS}{erros[0].pk}/triagem/").status_code == 405


def test_triagem_sem_permissao_e_recusada_e_nem_aparece(erros: list[Erro]) -> None:
    cliente = entrar_com("view_erro")
    assert "Resolver" not in cliente.get(f"{ERROS}{erros[0].pk}/change/").text
    assert cliente.post(f"{ERROS}{erros[0].pk}/triagem/", {"verbo": "RESOLVER"}).status_code == 403
    triar_na_lista(cliente, "resolver", erros)
    assert not Erro.objects.exclude(estado="aberto").exists()


def test_triagem_maior_que_o_teto_nao_muda_nada(
    painel: Client, erros: list[Erro], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triagem_na_tela, "TRIADOS_POR_VEZ", 2)
    assert mensagens(triar_na_lista(painel, "ignorar", erros)) == ["Nada mudou: escolha até 2 erros por vez."]
    assert Erro.objects.filter(estado="aberto").count() == 3


def agir(cliente: Client, erro: Erro, verbo: str, **campos: Any) -> list[str]:
    return mensagens(cliente.post(f"{ERROS}{erro.pk}/triagem/", {"verbo": verbo, **campos}, follow=True))


def test_nota_acompanha_a_decisao_e_fica_na_trilha(painel: Client, erros: list[Erro]) -> None:
    assert agir(painel, erros[0], "RESOLVER", nota="saiu na 2.4") == ["1 erro resolvido."]
    assert agir(painel, erros[0], "ANOTAR", nota="conferido") == ["Nota acrescentada à trilha."]
    atos = AcaoDeErro.objects.order_by("id").values_list("acao", "nota")
    assert list(atos) == [("resolver", "saiu na 2.4"), ("anotar", "conferido")]
    pagina = painel.get(f"{ERROS}{erros[0].pk}/change/").text
    assert "saiu na 2.4" in pagina
    assert "conferido" in pagina


@pytest.mark.parametrize("nota", ["", "   ", "x" * 1001, "nulo\x00"])
def test_nota_que_nao_serve_nao_muda_nada_e_diz(painel: Client, erros: list[Erro], nota: str) -> None:
    (frase,) = agir(painel, erros[0], "ANOTAR", nota=nota)
    assert frase.startswith("Nada mudou.")
    assert not AcaoDeErro.objects.exists()


def test_atribuir_diz_quem_cuida_e_a_lista_filtra_pelas_minhas(painel: Client, erros: list[Erro]) -> None:
    ana, bia = User.objects.get(), User.objects.create_user("bia", is_staff=True)
    User.objects.create_user("cliente")
    assert agir(painel, erros[0], "ATRIBUIR", responsavel=ana.pk, nota="é do checkout") == ["Cuida: ana."]
    assert agir(painel, erros[1], "ATRIBUIR", responsavel=bia.pk) == ["Cuida: bia."]
    assert agir(painel, erros[1], "ATRIBUIR", responsavel=bia.pk) == ["Nada mudou: já era bia."]
    assert [e.atribuido_a for e in Erro.objects.order_by("titulo")] == [ana, bia, None]
    assert [a.nota for a in AcaoDeErro.objects.order_by("id")] == ["a ana: é do checkout", "a bia"]
    for dono, quem in (("eu", [erros[0]]), ("ninguem", [erros[2]])):
        assert list(painel.get(f"{ERROS}?dono={dono}").context["cl"].result_list) == quem
    opcoes = painel.get(f"{ERROS}{erros[0].pk}/change/").context["formulario"].fields["responsavel"].queryset
    assert [str(u) for u in opcoes] == ["ana", "bia"]
    assert agir(painel, erros[0], "ATRIBUIR", responsavel="") == ["Cuida: ninguém."]
    assert agir(painel, erros[0], "ATRIBUIR", responsavel="999999")[0].startswith("Nada mudou.")


def test_retencao_leva_a_trilha_junto_do_erro(painel: Client, erros: list[Erro]) -> None:
    agir(painel, erros[0], "ANOTAR", nota="velho")
    agir(painel, erros[1], "ANOTAR", nota="novo")
    Erro.objects.filter(pk=erros[0].pk).update(ultima_ocorrencia_em=timezone.now() - timedelta(days=31))
    assert expurgar().erros == 1
    assert [ato.nota for ato in AcaoDeErro.objects.all()] == ["novo"]


# ---- Caixa de entrada


@pytest.fixture
def lotes(mandar: Callable[..., int]) -> list[Lote]:
    for n in range(3):
        mandar(erro_js(str(n)), aplicar=False)
    ids = list(Lote.objects.order_by("pk").values_list("pk", flat=True))
    Lote.objects.filter(pk__in=ids[:2]).update(
        estacionado_em=timezone.now(), tentativas=5, falha="DataError: x"
    )
    return list(Lote.objects.order_by("pk"))


@pytest.fixture
def acordadas(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    vezes: list[bool] = []
    monkeypatch.setattr(tasks.despertador_de_lotes, "acordar", lambda: vezes.append(True))
    return vezes


def test_reexecutar_devolve_so_os_estacionados_e_acorda_o_worker(
    painel: Client, lotes: list[Lote], acordadas: list[bool]
) -> None:
    escolhidos = {"action": "reexecutar", "_selected_action": [lote.pk for lote in lotes]}
    assert mensagens(painel.post(LOTES, escolhidos, follow=True)) == ["2 lotes voltaram à fila."]
    assert acordadas == [True]
    assert not Lote.objects.filter(estacionado_em__isnull=False).exists()
    assert list(Lote.objects.values_list("tentativas", flat=True)) == [0, 0, 0]
    CAIXA_DE_LOTES.esvaziar()
    assert Evento.objects.count() == 3
    assert LogEntry.objects.count() == 2


def test_reexecutar_na_pagina_do_lote(painel: Client, lotes: list[Lote], acordadas: list[bool]) -> None:
    resposta = painel.post(f"{LOTES}{lotes[0].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["1 lote voltou à fila."]
    assert Lote.objects.filter(estacionado_em__isnull=False).count() == 1


def test_reexecutar_o_que_nao_esta_estacionado_diz_que_nada_mudou(
    painel: Client, lotes: list[Lote], acordadas: list[bool]
) -> None:
    resposta = painel.post(f"{LOTES}{lotes[2].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["Nada a reexecutar: só lotes estacionados voltam à fila."]
    assert acordadas == []


def test_reexecutar_sem_permissao_e_recusado(lotes: list[Lote], acordadas: list[bool]) -> None:
    cliente = entrar_com("view_lote")
    assert cliente.post(f"{LOTES}{lotes[0].pk}/reexecucao/").status_code == 403
    assert Lote.objects.filter(estacionado_em__isnull=False).count() == 2


def test_pagina_do_lote_mostra_o_conteudo_e_o_erro_por_inteiro(painel: Client, lotes: list[Lote]) -> None:
    texto = painel.get(f"{LOTES}{lotes[0].pk}/change/").text
    assert "&quot;sessao_externa&quot;: &quot;s1&quot;" in texto
    assert "DataError: x" in texto


def test_conteudo_que_nao_e_json_ainda_aparece(painel: Client, db: None) -> None:
    lote = Lote.objects.create(conteudo=b"torto \xff")
    assert "torto \ufffd" in painel.get(f"{LOTES}{lote.pk}/change/").text


# ---- Usuários


def test_quem_nao_e_superusuario_nao_mexe_em_quem_e(painel: Client) -> None:
    chefe = User.objects.get(username="ana")
    cliente = entrar_com("change_user", "view_user")
    assert cliente.post(f"/admin/auth/user/{chefe.pk}/password/", {}).status_code == 403
    eu = User.objects.get(username="bia")
    cliente.post(
        f"/admin/auth/user/{eu.pk}/change/",
        {"username": "bia", "is_superuser": "on", "is_staff": "on", "is_active": "on"},
    )
    assert not User.objects.get(username="bia").is_superuser


def test_menu_mostra_so_o_que_se_pode_abrir(painel: Client) -> None:
    texto = entrar_com("view_erro").get("/admin/").text
    assert "/admin/ingestao/erro/" in texto
    assert "/admin/ingestao/lote/" not in texto
    assert "/admin/auth/user/" not in texto
