"""A senha que o servidor sorteia para alguém: aparece uma vez e fica num arquivo só do dono."""

import os
import secrets
from pathlib import Path


def sortear_senha(arquivo: Path) -> str:
    """Sorteia uma senha, grava-a em `arquivo` (0600) e a devolve."""
    senha = secrets.token_urlsafe(15)
    arquivo.parent.mkdir(parents=True, exist_ok=True)
    descritor = os.open(arquivo, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descritor, "w", encoding="utf-8") as aberto:
        aberto.write(senha + "\n")
    return senha
