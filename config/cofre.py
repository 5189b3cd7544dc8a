"""Segredos que o servidor precisa ler de volta (assinaturas, senhas de fora): cifrados em repouso.

O que só se compara não passa por aqui: guarda-se o resumo.
"""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class SegredoIlegivel(Exception):
    """O segredo foi cifrado com outra `LASTRO_SEGREDO`; é preciso cadastrá-lo de novo."""


def cifrar(segredo: str) -> str:
    """Cifra com a chave do servidor; vazio fica vazio."""
    return _fernet().encrypt(segredo.encode()).decode() if segredo else ""


def decifrar(cifrado: str) -> str:
    """Desfaz `cifrar`. Levanta `SegredoIlegivel`."""
    if not cifrado:
        return ""
    try:
        return _fernet().decrypt(cifrado.encode()).decode()
    except InvalidToken as erro:
        raise SegredoIlegivel("segredo cifrado com outra LASTRO_SEGREDO: cadastre-o de novo") from erro


def _fernet() -> Fernet:
    chave = hashlib.sha256(b"lastro.cofre.v1|" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(chave))
