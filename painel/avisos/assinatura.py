"""A assinatura dos webhooks: HMAC-SHA256 na forma do Standard Webhooks, que já tem verificadores prontos.

Fonte: especificação Standard Webhooks (standardwebhooks.com), "Symmetric": assina-se `id.instante.corpo`.
Módulo puro.
"""

import base64
import binascii
import hashlib
import hmac
import secrets

PREFIXO_DO_SEGREDO = "whsec_"
SEGREDO_BYTES = 32  # a especificação pede de 24 a 64


def gerar_segredo() -> str:
    """Um segredo novo, para ser mostrado uma vez: `whsec_` e a chave em base64."""
    return PREFIXO_DO_SEGREDO + base64.b64encode(secrets.token_bytes(SEGREDO_BYTES)).decode()


def montar_cabecalhos(segredo: str, *, id_da_entrega: str, instante_s: int, corpo: bytes) -> dict[str, str]:
    """Os três cabeçalhos de uma tentativa. `id_da_entrega` repete no reenvio; `instante_s` é o de agora."""
    return {
        "webhook-id": id_da_entrega,
        "webhook-timestamp": str(instante_s),
        "webhook-signature": assinar(segredo, id_da_entrega, instante_s, corpo),
    }


def assinar(segredo: str, id_da_entrega: str, instante_s: int, corpo: bytes) -> str:
    """`v1,<base64>` sobre `id.instante.corpo`. Levanta `ValueError` com um segredo que não é nosso."""
    try:
        chave = base64.b64decode(segredo.removeprefix(PREFIXO_DO_SEGREDO), validate=True)
    except binascii.Error as erro:
        raise ValueError("o segredo do webhook não é base64") from erro
    assinado = b".".join((id_da_entrega.encode(), str(instante_s).encode(), corpo))
    return "v1," + base64.b64encode(hmac.new(chave, assinado, hashlib.sha256).digest()).decode()
