"""Um callback cru, como o da transportadora, e o que fica quando a porta o recusa."""

from typing import Any

from django.test import Client

from dlr.models import Recepcao, RecepcaoPendente, RecusaDeCallback

CORPO = b'{"id_externo": "x1", "estado": "DELIVERED"}'


def recusas() -> dict[str, int]:
    return dict(RecusaDeCallback.objects.values_list("motivo", "quantidade"))


def recusada(resposta: Any, status: int, codigo: str) -> None:
    """Recusada, contada e sem deixar evidência."""
    assert (resposta.status_code, resposta.json()["codigo"]) == (status, codigo)
    assert not Recepcao.objects.exists() and not RecepcaoPendente.objects.exists()
    assert recusas()[codigo] == 1


def postar(client: Client, url: str, corpo: bytes = CORPO, **cabecalhos: str) -> Any:
    headers = {nome.replace("_", "-"): valor for nome, valor in cabecalhos.items()}
    return client.post(url, corpo, content_type="application/json", headers=headers)
