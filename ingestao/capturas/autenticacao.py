"""De que aparelho é o `Authorization: Bearer …`."""

import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from config.banco.cursor import cursor_direto
from config.erros import ErroDaApi

PREFIXO_DO_TOKEN = "cap_"

# Índices: o único de token_resumo e o de token_anterior_resumo. Sem cache: revogar vale na chamada seguinte, e a
# consulta preparada custa 0,1 ms numa chamada de vários.
SQL_BUSCAR_DISPOSITIVO = """
    SELECT id, revogado_em IS NULL AND NOT deletado
    FROM ingestao_dispositivo
    WHERE token_resumo = %(resumo)s OR (token_anterior_resumo = %(resumo)s AND token_anterior_ate > %(agora)s)
"""


def gerar_token() -> str:
    """Um token novo (192 bits), para ser mostrado uma vez."""
    return PREFIXO_DO_TOKEN + secrets.token_hex(24)


def resumir_token(token: str) -> str:
    """O que se guarda de um token: SHA-256. Basta, porque o token tem 192 bits de acaso."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def autenticar(cabecalhos: Mapping[str, Any], agora: datetime) -> UUID:
    """O id do aparelho dono do token; `cabecalhos` na forma WSGI.

    Levanta `ErroDaApi`: 401 `token_ausente` ou `token_desconhecido`; 403 `dispositivo_revogado` se o token é de um
    aparelho desligado (a fila dele espera; nada se perde).
    """
    esquema, _, token = str(cabecalhos.get("HTTP_AUTHORIZATION", "")).partition(" ")
    token = token.strip()
    if esquema.lower() != "bearer" or not token:
        raise ErroDaApi(401, "token_ausente", "Mande Authorization: Bearer com o token do dispositivo.")
    with cursor_direto() as cursor:
        cursor.execute(SQL_BUSCAR_DISPOSITIVO, {"resumo": resumir_token(token), "agora": agora}, prepare=True)
        achado = cursor.fetchone()
    if achado is None:
        raise ErroDaApi(
            401, "token_desconhecido", "O token não é de nenhum dispositivo; confira se não foi trocado."
        )
    dispositivo_id, ativo = achado
    if not ativo:
        raise ErroDaApi(
            403, "dispositivo_revogado", "Este dispositivo foi desligado; peça um token novo ao operador."
        )
    return dispositivo_id
