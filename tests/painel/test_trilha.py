"""O que cada um fez no painel aparece na trilha, com filtros, e só para quem cuida dela."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.utils import timezone

from dlr.models import Excecao
from ingestao.models import Aplicativo, Erro
from painel.admin import trilha
from tests.painel.conftest import HOSTIL, entrar_com, erro_js
from tests.painel.recibos import criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

TRILHA = "/admin/admin/logentry/"


@pytest.fixture
def feitos(painel: Client, aplicativo: Aplicativo, mandar: Callable[..., int]) -> None:
    """Ana tria um erro e troca uma chave; Rui só deixou uma linha antiga."""
    mandar(erro_js())
    painel.post(f"/admin/ingestao/erro/{Erro.objects.get().pk}/triagem/", {"verbo": "RESOLVER"})
    painel.post(f"/admin/ingestao/aplicativo/{aplicativo.pk}/trocar-chave/")
    rui = User.objects.create_user("rui")
    LogEntry.objects.create(
        user=rui,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(rui.pk),
        object_repr="rui",
        action_flag=2,
        change_message="antiga",
        action_time=timezone.now() - timedelta(days=20),
    )


def linhas(cliente: Client, consulta: str = "") -> list[str]:
    return [passo.change_message for passo in cliente.get(f"{TRILHA}{consulta}").context["cl"].result_list]


def test_cada_acao_aparece_da_mais_nova_a_mais_antiga(painel: Client, feitos: None) -> None:
    assert linhas(painel) == ["antiga", "Trocou a chave.", "Resolveu o erro."]
    texto = painel.get(TRILHA).text
    assert "Erro TypeError" in texto
    assert f'href="/admin/ingestao/erro/{Erro.objects.get().pk}/change/"' in texto


def test_filtros_por_pessoa_tabela_periodo_e_registro(painel: Client, feitos: None) -> None:
    rui = User.objects.get(username="rui")
    assert linhas(painel, f"?quem={rui.pk}") == ["antiga"]
    assert linhas(painel, "?quem=x") == []
    assert linhas(painel, f"?tabela={ContentType.objects.get_for_model(Erro).pk}") == ["Resolveu o erro."]
    assert linhas(painel, "?periodo=7d") == ["Trocou a chave.", "Resolveu o erro."]
    assert linhas(painel, f"?q={Erro.objects.get().pk}") == ["Resolveu o erro."]


def test_ato_sobre_excecoes_tambem_entra_na_trilha_so_das_que_mudaram(painel: Client) -> None:
    ligada = criar()
    for id_ in ("a", "b"):
        ligada.receber(recibo(id_))
    passar_a_janela()
    ids = list(Excecao.objects.order_by("pk").values_list("pk", flat=True))
    ato = {"excecao": ids[:1], "motivo": "sem dono", "de_muitas": "1"}
    painel.post("/admin/dlr/excecao/atos/descartar/", ato)
    painel.post("/admin/dlr/excecao/atos/descartar/", {**ato, "excecao": ids, "motivo": "o resto"})
    feitos = LogEntry.objects.order_by("id").values_list("object_id", "change_message")
    assert list(feitos) == [(str(ids[0]), "Descartar: sem dono"), (str(ids[1]), "Descartar: o resto")]


def test_nota_e_dono_de_um_erro_entram_na_trilha_e_so_quando_algo_muda(painel: Client, feitos: None) -> None:
    triagem = f"/admin/ingestao/erro/{Erro.objects.get().pk}/triagem/"
    ana = User.objects.get(username="ana").pk
    for campos in (
        {"verbo": "REABRIR", "nota": "voltou"},
        {"verbo": "REABRIR", "nota": "de novo"},
        {"verbo": "ATRIBUIR", "responsavel": ana},
        {"verbo": "ATRIBUIR", "responsavel": ana},
        {"verbo": "ANOTAR", "nota": "é o checkout"},
        {"verbo": "ANOTAR"},
    ):
        painel.post(triagem, campos)
    do_erro = ContentType.objects.get_for_model(Erro).pk
    assert linhas(painel, f"?tabela={do_erro}") == [
        "Anotou o erro: é o checkout",
        "Atribuiu o erro a ana",
        "Reabriu o erro: voltou",
        "Resolveu o erro.",
    ]


def test_trilha_e_so_de_quem_cuida_dela_e_so_se_le(painel: Client, feitos: None) -> None:
    assert entrar_com("view_erro").get(TRILHA).status_code == 403
    passo = LogEntry.objects.first()
    assert passo is not None
    for acao in ("change", "delete"):
        assert painel.get(f"{TRILHA}{passo.pk}/{acao}/").status_code == 403
    assert painel.get(f"{TRILHA}add/").status_code == 403
    apagar = {"action": "delete_selected", "_selected_action": [passo.pk], "post": "yes"}
    painel.post(TRILHA, apagar)
    assert LogEntry.objects.filter(pk=passo.pk).exists()


def test_registro_que_quem_ve_nao_pode_abrir_e_texto(feitos: None) -> None:
    texto = entrar_com("view_logentry").get(TRILHA).text
    assert "Erro TypeError" in texto
    assert "/admin/ingestao/erro/" not in texto


def test_nome_hostil_na_trilha_e_inerte(painel: Client) -> None:
    LogEntry.objects.create(
        user=User.objects.get(), object_repr=HOSTIL[:200], action_flag=2, change_message=HOSTIL
    )
    texto = painel.get(TRILHA).text
    assert "&lt;script&gt;alert(1)" in texto
    assert "<script>alert(1)" not in texto


def test_lista_custa_o_mesmo_com_muitas_linhas(
    painel: Client, feitos: None, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = User.objects.get(username="ana")
    for tipo in ContentType.objects.all():
        LogEntry.objects.create(user=ana, content_type=tipo, object_id="1", object_repr="x", action_flag=1)
    with django_assert_max_num_queries(10):
        painel.get(TRILHA)
    assert trilha.ACOES[1] == "criou"


# ---- As páginas dizem ao navegador o que ele pode


@pytest.mark.parametrize("endereco", ["/admin/", TRILHA, "/admin/nao-existe/", "/admin/login/"])
def test_tela_nao_se_guarda_nem_se_emoldura_nem_abre_aparelhos(painel: Client, endereco: str) -> None:
    resposta = painel.get(endereco, headers={"accept": "text/html"})
    politica = resposta.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in politica
    assert "object-src 'none'" in politica
    assert "'unsafe-inline'" not in politica.replace("style-src-attr 'unsafe-inline'", "")
    assert resposta.headers["Cache-Control"] == "no-store, private"
    assert "camera=()" in resposta.headers["Permissions-Policy"]
    assert resposta.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert resposta.headers["X-Frame-Options"] == "DENY"


def test_nonce_muda_a_cada_resposta(painel: Client) -> None:
    politicas = {painel.get("/admin/").headers["Content-Security-Policy"] for _ in range(2)}
    assert len(politicas) == 2


@pytest.mark.parametrize("rota", ["/saude", "/api/esquema", "/evento/ingestao"])
def test_fora_das_paginas_nada_disso_custa(client: Client, db: None, rota: str) -> None:
    resposta = client.get(rota)
    for nome in ("Content-Security-Policy", "Permissions-Policy"):
        assert nome not in resposta.headers


def test_pagina_que_nao_existe_e_html_no_navegador_e_json_para_programas(painel: Client) -> None:
    no_navegador = painel.get("/admin/nao-existe/", headers={"accept": "text/html,*/*"})
    assert no_navegador.status_code == 404
    assert "Não há nada aqui" in no_navegador.text
    assert painel.get("/admin/nao-existe/", headers={"accept": "*/*"}).json()["codigo"] == "rota_inexistente"
    fora = painel.get("/nao-existe", headers={"accept": "text/html"})
    assert (fora.status_code, fora.json()["codigo"]) == (404, "rota_inexistente")


def test_sem_permissao_e_formulario_vencido_sao_paginas_no_navegador(painel: Client) -> None:
    cliente = entrar_com("view_erro")
    recusa = cliente.get(TRILHA, headers={"accept": "text/html"})
    assert (recusa.status_code, "Fora do seu papel" in recusa.text) == (403, True)
    assert cliente.get(TRILHA, headers={"accept": "application/json"}).json()["codigo"] == "proibido"
    exigente = Client(enforce_csrf_checks=True, headers={"accept": "text/html"})
    vencido = exigente.post("/admin/login/", {"username": "ana", "password": "x"})
    assert (vencido.status_code, "O formulário venceu" in vencido.text) == (403, True)
