"""Os três papéis do painel e o que cada um pode: a tabela é esta, e o banco a segue.

Os grupos são refeitos ao fim de todo `migrate` (`post_migrate`), e não numa migração: as permissões de um
modelo só existem depois que o Django as cria, ali também, e um modelo novo entra no papel sem que ninguém
se lembre de escrever outra migração. Refazer é exato: o que alguém acrescentar à mão a um papel sai no
próximo `migrate`. Quem precisa de mais do que o papel dá recebe outro grupo, ou outro papel.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.apps import apps as aplicativos
from django.apps.registry import Apps
from django.db import transaction

SUPORTE, OPERACAO, ADMINISTRACAO = "Suporte", "Operação", "Administração"

# `aplicativo.modelo`: ações. Uma ação que não é view, add, change ou delete é o codinome inteiro.
PAPEIS: Final[Mapping[str, Mapping[str, str]]] = {
    SUPORTE: {
        "ingestao.sessao": "view",
        "ingestao.evento": "view",
        "ingestao.erro": "view change",  # change é a triagem: resolver, ignorar, reabrir, atribuir, anotar
        "ingestao.captura": "view",
        "ingestao.pedido": "view add",  # add é contestar uma captura, e desistir; view, também ver o quadro
        "ingestao.capturarecusada": "view",
        "ingestao.relatodedescarte": "view",
        "ingestao.recusadecaptura": "view",
        "ingestao.medidadecaptura": "view",
    },
    OPERACAO: {
        "dlr.excecao": "view change",  # change são os atos, cada um com motivo
        "dlr.mensagem": "view",
        "dlr.recepcao": "view",
        "dlr.eventologico": "view",
        "dlr.integracao": "view",
        "dlr.recusadecallback": "view",
        "dlr.projecao": "change",  # reprojetar: recalcular os estados com as regras de hoje
        "dlr.recepcaopendente": "view change",  # change é devolver à fila o que estacionou
        "ingestao.lote": "view change",
        "painel.aviso": "view change",  # change é reconhecer e silenciar
        "painel.entregadeaviso": "view",
    },
    ADMINISTRACAO: {
        "auth.user": "view add change",  # ninguém se apaga: a história aponta para a pessoa
        "auth.group": "view add change delete",
        "admin.logentry": "view",
        "axes.accessattempt": "view delete",  # delete é destravar
        "axes.accesslog": "view",
    },
}
# A Administração pode tudo nestes, modelos futuros inclusive.
TUDO_DA_ADMINISTRACAO: Final = ("ingestao", "dlr", "painel")


def aplicar_papeis(apps: Apps = aplicativos, using: str = "default", **_: Any) -> None:
    """Receptor de `post_migrate`: deixa os grupos dos papéis com exatamente as permissões da tabela.

    Repetível. Uma linha cujo modelo (ainda) não tem tabela é pulada: vale quando ele existir.
    """
    grupos = apps.get_model("auth", "Group")._default_manager.using(using)
    with transaction.atomic(using=using):
        for papel in PAPEIS:
            grupo, _criado = grupos.get_or_create(name=papel)
            grupo.permissions.set(_permissoes_de(papel, apps, using))


def _permissoes_de(papel: str, apps: Apps, using: str) -> list[Any]:
    """As permissões do papel que já existem no banco."""
    pedidas = {
        (*modelo.split("."), acao if "_" in acao else f"{acao}_{modelo.split('.')[1]}")
        for modelo, acoes in PAPEIS[papel].items()
        for acao in acoes.split()
    }
    todas = apps.get_model("auth", "Permission")._default_manager.using(using).select_related("content_type")
    tudo = TUDO_DA_ADMINISTRACAO if papel == ADMINISTRACAO else ()
    return [
        permissao
        for permissao in todas
        if permissao.content_type.app_label in tudo
        or (permissao.content_type.app_label, permissao.content_type.model, permissao.codename) in pedidas
    ]
