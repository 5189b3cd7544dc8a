"""A tabela de papéis (`painel/permissoes.py`) e o que o `migrate` deixa dela no banco."""

from django.contrib.auth.models import Group, Permission
from django.core.management import call_command

from ingestao.models import Sessao
from painel.permissoes import ADMINISTRACAO, OPERACAO, PAPEIS, SUPORTE, aplicar_papeis


def test_migrate_deixa_os_papeis_exatamente_como_a_tabela(db: None) -> None:
    suporte = Group.objects.get(name=SUPORTE)
    antes = set(suporte.permissions.values_list("content_type__app_label", "codename"))
    suporte.permissions.add(Permission.objects.get(codename="change_aplicativo"))
    suporte.permissions.remove(Permission.objects.get(codename="change_erro"))
    Group.objects.filter(name=OPERACAO).delete()
    for _ in range(2):
        call_command("migrate", verbosity=0)
    assert set(suporte.permissions.values_list("content_type__app_label", "codename")) == antes
    assert ("ingestao", "change_erro") in antes
    assert Group.objects.get(name=OPERACAO).permissions.filter(codename="change_excecao").exists()
    assert Group.objects.filter(name__in=PAPEIS).count() == 3


def test_modelo_novo_entra_na_administracao_sem_linha_nova(db: None) -> None:
    tipo = Permission.objects.get(codename="view_sessao").content_type
    Permission.objects.create(codename="view_modelonovo", name="x", content_type=tipo)
    aplicar_papeis()
    tem = {papel: Group.objects.get(name=papel).permissions for papel in PAPEIS}
    assert tem[ADMINISTRACAO].filter(codename="view_modelonovo").exists()
    assert not tem[SUPORTE].filter(codename="view_modelonovo").exists()


def test_papeis_nao_dao_permissao_por_engano(db: None) -> None:
    da_operacao = Group.objects.get(name=OPERACAO).permissions.values_list("codename", flat=True)
    assert not {"revelar", "change_integracao", "delete_integracao", "change_user"} & set(da_operacao)
    do_suporte = set(Group.objects.get(name=SUPORTE).permissions.values_list("codename", flat=True))
    assert do_suporte == {
        "view_sessao",
        "view_evento",
        "view_erro",
        "change_erro",
        "view_captura",
        "view_pedido",
        "add_pedido",
        "view_capturarecusada",
        "view_relatodedescarte",
        "view_recusadecaptura",
        "view_medidadecaptura",
    }
    assert Sessao._meta.label_lower in PAPEIS[SUPORTE]
