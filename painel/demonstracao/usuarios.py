"""Um usuário por papel, para se ver o painel como cada um o vê."""

from pathlib import Path

from django.contrib.auth.models import Group, User
from django.db import transaction

from painel.acesso.senhas import sortear_senha
from painel.permissoes import ADMINISTRACAO, OPERACAO, SUPORTE

NOMES = {"suporte": SUPORTE, "operacao": OPERACAO, "administracao": ADMINISTRACAO}


def garantir_usuarios(pasta: Path) -> dict[str, str]:
    """Cria os que faltam e devolve nome → senha, só dos criados agora; ficam também em `pasta/senha-<nome>.txt`."""
    criados = {}
    for nome, papel in NOMES.items():
        with transaction.atomic():
            usuario, novo = User.objects.get_or_create(username=nome, defaults={"is_staff": True})
            if not novo:
                continue
            criados[nome] = sortear_senha(pasta / f"senha-{nome}.txt")
            usuario.set_password(criados[nome])
            usuario.save(update_fields=["password"])
            usuario.groups.add(Group.objects.get(name=papel))
    return criados
