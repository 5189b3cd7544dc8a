"""Um usuário por papel, para se ver o painel como cada um o vê."""

import os
import secrets
from pathlib import Path

from django.contrib.auth.models import Group, User
from django.db import transaction

from painel.permissoes import ADMINISTRACAO, OPERACAO, SUPORTE

NOMES = {"suporte": SUPORTE, "operacao": OPERACAO, "administracao": ADMINISTRACAO}


def garantir_usuarios(pasta: Path) -> dict[str, str]:
    """Cria os que faltam e devolve nome → senha, só dos criados agora; as senhas ficam em `pasta/senha-<nome>.txt`."""
    criados = {}
    for nome, papel in NOMES.items():
        with transaction.atomic():
            usuario, novo = User.objects.get_or_create(username=nome, defaults={"is_staff": True})
            if not novo:
                continue
            criados[nome] = secrets.token_urlsafe(15)
            usuario.set_password(criados[nome])
            usuario.save(update_fields=["password"])
            usuario.groups.add(Group.objects.get(name=papel))
            guardar_senha(pasta / f"senha-{nome}.txt", criados[nome])
    return criados


def guardar_senha(arquivo: Path, senha: str) -> None:
    """Grava a senha num arquivo só do dono."""
    arquivo.parent.mkdir(parents=True, exist_ok=True)
    descritor = os.open(arquivo, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descritor, "w", encoding="utf-8") as aberto:
        aberto.write(senha + "\n")
