"""Os tokens das integrações, que só se comparam, e as URLs sem os segredos que trazem."""

import hashlib
import re
import secrets

PREFIXO_DO_TOKEN = "dlr_"


MASCARA = "***"
_SEGREDO_NA_CONSULTA = re.compile(r"(?i)(^|[?&])((?:token|senha|password|key|secret)=)[^&]*")


def mascarar_segredos(consulta: str) -> str:
    """A consulta (ou URL) sem os valores dos parâmetros que costumam ser segredo."""
    return _SEGREDO_NA_CONSULTA.sub(rf"\1\2{MASCARA}", consulta)


def gerar_token() -> str:
    """Um token novo, para ser mostrado uma vez."""
    return PREFIXO_DO_TOKEN + secrets.token_hex(24)


def resumir_token(token: str) -> str:
    """O que se guarda de um token: SHA-256. Basta, porque o token tem 192 bits de acaso."""
    return hashlib.sha256(token.encode()).hexdigest()
