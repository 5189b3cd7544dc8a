"""O que o papel não deixa fazer não se faz: nem por ação em massa, nem por um POST feito à mão."""

from axes.models import AccessAttempt
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from dlr.models import Excecao, Integracao
from ingestao.models import Lote
from painel.permissoes import ADMINISTRACAO, OPERACAO, SUPORTE
from tests.painel.papeis.conftest import chave_de, entrar_como


def test_acao_em_massa_que_o_papel_nao_tem_nao_aparece_nem_funciona(um_de_cada: None) -> None:
    cliente = entrar_como()
    User.objects.get(username="bia").user_permissions.set(
        Permission.objects.filter(
            codename__in=["view_erro", "view_excecao", "view_lote", "view_accessattempt"]
        )
    )
    for endereco, acao in (
        ("/admin/ingestao/erro/", "resolver"),
        ("/admin/dlr/excecao/", "descartar"),
        ("/admin/ingestao/lote/", "reexecutar"),
        ("/admin/axes/accessattempt/", "destravar"),
    ):
        assert f'value="{acao}"' not in cliente.get(endereco).text
        nome = "_".join(endereco.split("/")[2:4]) + "_changelist"
        cliente.post(endereco, {"action": acao, "_selected_action": [chave_de(nome)]})
    assert Lote.objects.filter(estacionado_em__isnull=False).count() == 1
    assert AccessAttempt.objects.count() == 1
    assert set(Excecao.objects.values_list("situacao", flat=True)) == {"aberta"}


def test_operacao_nao_muda_a_integracao(um_de_cada: None) -> None:
    integracao = Integracao.objects.get()
    antes = integracao.token_resumo
    cliente = entrar_como(OPERACAO)
    base = f"/admin/dlr/integracao/{integracao.pk}/"
    assert cliente.post(f"{base}change/", {"slug": "outra", "nome": "x"}).status_code == 403
    assert cliente.post(f"{base}trocar-token/").status_code == 403
    assert cliente.post(f"{base}excluir/").status_code == 403
    depois = Integracao.objects.get()
    assert (depois.token_resumo, depois.deletado, depois.nome) == (antes, False, integracao.nome)


def test_administracao_nao_vira_superusuario_nem_mexe_em_um(um_de_cada: None) -> None:
    chefe = User.objects.create_superuser("chefe")
    cliente = entrar_como(ADMINISTRACAO)
    eu = User.objects.get(username="bia")
    for alvo in (eu, chefe):
        cliente.post(
            f"/admin/auth/user/{alvo.pk}/change/",
            {"username": alvo.username, "is_superuser": "on", "is_staff": "on", "is_active": "on"},
        )
    eu.refresh_from_db()
    assert not eu.is_superuser
    assert cliente.post(f"/admin/auth/user/{chefe.pk}/password/", {}).status_code == 403
    assert cliente.post(f"/admin/auth/user/{chefe.pk}/remover-segundo-fator/").status_code == 403


def test_quem_edita_usuarios_sem_cuidar_dos_grupos_nao_se_da_um_papel(db: None) -> None:
    cliente = entrar_como()
    eu = User.objects.get(username="bia")
    eu.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    cliente.post(
        f"/admin/auth/user/{eu.pk}/change/",
        {
            "username": "bia",
            "is_staff": "on",
            "is_active": "on",
            "groups": [Group.objects.get(name=ADMINISTRACAO).pk],
        },
    )
    assert not eu.groups.exists()


def test_papel_nao_se_edita_nem_se_apaga_pela_tela(painel: Client) -> None:
    papel = Group.objects.get(name=SUPORTE)
    antes = set(papel.permissions.values_list("codename", flat=True))
    base = f"/admin/auth/group/{papel.pk}/"
    assert painel.post(f"{base}change/", {"name": "X"}).status_code == 403
    assert painel.post(f"{base}delete/", {"post": "yes"}).status_code == 403
    apagar = {"action": "delete_selected", "_selected_action": [papel.pk], "post": "yes"}
    painel.post("/admin/auth/group/", apagar)
    assert set(Group.objects.get(pk=papel.pk).permissions.values_list("codename", flat=True)) == antes
