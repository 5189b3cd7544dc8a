"""Sinch: o id é lote e destinatário juntos, Unknown encerra, e a assinatura cobre os bytes do corpo."""

import base64
import hmac
from datetime import UTC, datetime

import pytest

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Credencial
from dlr.formatos.sinch import FORMATO, compor_id, conferir_assinatura

AGORA = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
CORPO = '{"batch_id": "B1", "status": "Delivered", "operator": "São"}'.encode()
SEGREDO = "segredo"
ASSINATURA = base64.b64encode(hmac.digest(SEGREDO.encode(), CORPO + b".n-1.1796040000", "sha256")).decode()
CABECALHOS = {
    "x-sinch-webhook-signature": ASSINATURA,
    "x-sinch-webhook-signature-nonce": "n-1",
    "x-sinch-webhook-signature-timestamp": "1796040000",
    "x-sinch-webhook-signature-algorithm": "HmacSHA256",
}


@pytest.mark.parametrize(
    ("batch_id", "recipient", "id_externo"),
    [
        ("B1", "5511999990000", "B1/5511999990000"),
        ("B1", "+5511999990000", "B1/5511999990000"),
        ("B1", None, None),
        ("B1", "+", None),
        (None, "5511999990000", None),
    ],
)
def test_id_externo_e_lote_e_destinatario(
    batch_id: str | None, recipient: str | None, id_externo: str | None
) -> None:
    assert compor_id(batch_id, recipient) == id_externo


def test_unknown_encerra_neste_formato() -> None:
    assert Estado.UNKNOWN in FORMATO.finais


def conferir(corpo: bytes = CORPO, segredo: str = SEGREDO, **mudancas: str | None) -> bool | None:
    trocas = {nome.replace("_", "-"): valor for nome, valor in mudancas.items()}
    cabecalhos = {nome: valor for nome, valor in {**CABECALHOS, **trocas}.items() if valor is not None}
    chamada = Chamada(metodo="POST", url="https://x/y", consulta=b"", cabecalhos=cabecalhos, corpo=corpo)
    return conferir_assinatura(chamada, Credencial(token="t", segredo=segredo), AGORA)


def test_assinatura_certa_confere_com_ou_sem_o_nome_do_algoritmo() -> None:
    assert conferir() is True
    assert conferir(x_sinch_webhook_signature_algorithm=None) is True


def test_qualquer_mudanca_derruba_a_assinatura() -> None:
    assert conferir(corpo=CORPO + b" ") is False
    assert conferir(segredo="outro") is False
    assert conferir(x_sinch_webhook_signature_nonce="n-2") is False
    assert conferir(x_sinch_webhook_signature_nonce=None) is False
    assert conferir(x_sinch_webhook_signature_timestamp="1796040001") is False
    assert conferir(x_sinch_webhook_signature_algorithm="HmacMD5") is False


def test_sem_cabecalho_ou_sem_segredo_nao_ha_prova() -> None:
    assert conferir(x_sinch_webhook_signature=None) is None
    assert conferir(segredo="") is None
