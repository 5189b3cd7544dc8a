"""Segredos em repouso: o que só se compara é resumido; o que se usa (assinaturas) é cifrado."""

import base64
import hashlib
import re
import secrets

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

PREFIXO_DO_TOKEN = "dlr_"


MASCARA = "***"
_SEGREDO_NA_CONSULTA = re.compile(r"(?i)(^|[?&])((?:token|senha|password|key|secret)=)[^&]*")


def mascarar_segredos(consulta: str) -> str:
    """A consulta (ou URL) sem os valores dos parâmetros que costumam ser segredo."""
    return _SEGREDO_NA_CONSULTA.sub(rf"\1\2{MASCARA}", consulta)


class SegredoIlegivel(Exception):
    """O segredo foi cifrado com outra `LASTRO_SEGREDO`; é preciso cadastrá-lo de novo."""


def gerar_token() -> str:
    """Um token novo, para ser mostrado uma vez."""
    return PREFIXO_DO_TOKEN + secrets.token_hex(24)


def resumir_token(token: str) -> str:
    """O que se guarda de um token: SHA-256. Basta, porque o token tem 192 bits de acaso."""
    return hashlib.sha256(token.encode()).hexdigest()


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
