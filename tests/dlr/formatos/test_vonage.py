"""Vonage: `sig` sobre os campos em ordem, em qualquer dos algoritmos da conta e em qualquer forma de chamada."""

import hashlib
import hmac
import json
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest

from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Credencial
from dlr.formatos.vonage import conferir_assinatura

AGORA = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SEGREDO = "segredo-de-assinatura"
CAMPOS = {
    "status": "delivered",
    "messageId": "0B01",
    "timestamp": "1796040000",
    "nonce": "n-1",
    "to": "Loja & Cia=1",
    "err-code": "0",
}
LINHA = b"&err-code=0&messageId=0B01&nonce=n-1&status=delivered&timestamp=1796040000&to=Loja _ Cia_1"
ASSINATURAS = {
    "md5 com segredo no fim": hashlib.md5(LINHA + SEGREDO.encode()).hexdigest(),
    **{
        f"hmac {nome}": hmac.digest(SEGREDO.encode(), LINHA, nome).hex()
        for nome in ("md5", "sha1", "sha256", "sha512")
    },
}


def chamar(campos: dict[str, str], forma: str) -> Chamada:
    corpo = json.dumps(campos) if forma == "json" else urlencode(campos)
    return Chamada(
        metodo="GET" if forma == "GET" else "POST",
        url="https://x/y",
        consulta=corpo.encode() if forma == "GET" else b"",
        cabecalhos={},
        corpo=b"" if forma == "GET" else corpo.encode(),
    )


def conferir(campos: dict[str, str], forma: str = "GET", segredo: str = SEGREDO) -> bool | None:
    return conferir_assinatura(chamar(campos, forma), Credencial(token="t", segredo=segredo), AGORA)


@pytest.mark.parametrize("forma", ["GET", "formulario", "json"])
@pytest.mark.parametrize("algoritmo", ASSINATURAS)
def test_cada_algoritmo_confere_em_cada_forma(algoritmo: str, forma: str) -> None:
    assinatura = ASSINATURAS[algoritmo]
    assert conferir({**CAMPOS, "sig": assinatura}, forma) is True
    assert conferir({**CAMPOS, "sig": assinatura.upper()}, forma) is True
    assert conferir({**CAMPOS, "sig": assinatura, "status": "failed"}, forma) is False
    assert conferir({**CAMPOS, "sig": assinatura, "extra": "1"}, forma) is False
    assert conferir({**CAMPOS, "sig": assinatura}, forma, segredo="outro") is False


def test_sem_sig_ou_sem_segredo_nao_ha_prova() -> None:
    assert conferir(CAMPOS) is None
    assert conferir({**CAMPOS, "sig": ""}) is None
    assert conferir({**CAMPOS, "sig": ASSINATURAS["hmac sha256"]}, segredo="") is None


@pytest.mark.parametrize("sig", ["x", "0" * 32, "0" * 33, "é" * 40, "\ud800" * 32])
def test_sig_que_nao_e_resumo_e_falsa(sig: str) -> None:
    assert conferir({**CAMPOS, "sig": sig}, "json") is False


def test_corpo_ilegivel_nao_traz_prova() -> None:
    chamada = Chamada(metodo="POST", url="https://x/y", consulta=b"", cabecalhos={}, corpo=b"{")
    assert conferir_assinatura(chamada, Credencial(token="t", segredo=SEGREDO), AGORA) is None
