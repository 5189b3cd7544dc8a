"""Twilio: a assinatura cobre a URL e os parâmetros, ou a URL e o resumo do corpo."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime
from urllib.parse import urlencode

import pytest

from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Credencial
from dlr.formatos.twilio import conferir_assinatura

AGORA = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# Vetor público das bibliotecas do fornecedor.
URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
PARAMETROS = {
    "CallSid": "CA1234567890ABCDE",
    "Caller": "+14158675309",
    "Digits": "1234",
    "From": "+14158675309",
    "To": "+18005551212",
}
SEGREDO = "12345"
ASSINATURA = "RSOYDt4T1cUTdK1PDd93/VVr8B8="


def conferir(
    url: str = URL,
    corpo: bytes | None = None,
    segredo: str = SEGREDO,
    assinatura: str = ASSINATURA,
    **cabecalhos: str,
) -> bool | None:
    chamada = Chamada(
        metodo="POST",
        url=url,
        consulta=url.partition("?")[2].encode(),
        cabecalhos={
            "content-type": "application/x-www-form-urlencoded",
            "x-twilio-signature": assinatura,
            **{nome.replace("_", "-"): valor for nome, valor in cabecalhos.items()},
        },
        corpo=urlencode(PARAMETROS).encode() if corpo is None else corpo,
    )
    return conferir_assinatura(chamada, Credencial(token="t", segredo=segredo), AGORA)


def assinar(conteudo: str, algoritmo: str = "sha1") -> str:
    return base64.b64encode(hmac.digest(SEGREDO.encode(), conteudo.encode(), algoritmo)).decode()


def test_vetor_publico_do_fornecedor_confere() -> None:
    assert conferir() is True


@pytest.mark.parametrize(
    ("assinada", "recebida"),
    [
        ("https://a.example/x", "https://a.example:443/x"),
        ("https://a.example:443/x?b=1", "https://a.example/x?b=1"),
        ("https://a.example:8443/x", "https://a.example:8443/x"),
        ("https://a.example/x", "https://a.example:8443/x"),
        ("http://a.example:80/", "http://a.example/"),
    ],
)
def test_porta_na_url_nao_atrapalha(assinada: str, recebida: str) -> None:
    assert conferir(url=recebida, corpo=b"A=1", assinatura=assinar(assinada + "A1")) is True


@pytest.mark.parametrize(
    "mudanca",
    [
        {"url": URL + "&x=1"},
        {"url": URL.replace("mycompany", "mycompany.evil")},
        {"corpo": urlencode({**PARAMETROS, "Digits": "9"}).encode()},
        {"corpo": b""},
        {"corpo": b"\xff"},
        {"segredo": "outro"},
        {"assinatura": "é não é base64"},
    ],
    ids=lambda mudanca: repr(mudanca)[:40],
)
def test_qualquer_mudanca_derruba_a_assinatura(mudanca: dict[str, object]) -> None:
    assert conferir(**mudanca) is False  # type: ignore[arg-type]


def test_sem_cabecalho_ou_sem_segredo_nao_ha_prova() -> None:
    assert conferir(assinatura="") is None
    assert conferir(segredo="") is None


def test_nome_repetido_entra_uma_vez_por_valor_em_ordem() -> None:
    assert (
        conferir(url="https://a/x", corpo=b"B=2&A=2&A=1&A=2", assinatura=assinar("https://a/xA1A2B2")) is True
    )


def test_json_vale_pelo_resumo_do_corpo_que_a_url_traz() -> None:
    corpo = b'{"MessageSid": "SM1"}'
    url = "https://a/x?bodySHA256=" + hashlib.sha256(corpo).hexdigest()
    assert conferir(url=url, corpo=corpo, assinatura=assinar(url), content_type="application/json") is True
    assert (
        conferir(url=url, corpo=corpo + b" ", assinatura=assinar(url), content_type="application/json")
        is False
    )


def test_json_sem_resumo_nao_esta_coberto_pela_assinatura() -> None:
    url = "https://a/x"
    assert conferir(url=url, corpo=b"{}", assinatura=assinar(url), content_type="application/json") is False


def test_chave_compartilhada_usa_o_algoritmo_que_o_cabecalho_diz() -> None:
    conteudo = "https://a/xA1"
    sha256 = {"x_twilio_webhooks_signature_settings": "key=KY1,algorithm=HMAC_SHA256"}
    assert conferir(url="https://a/x", corpo=b"A=1", assinatura=assinar(conteudo, "sha256"), **sha256) is True
    assert conferir(url="https://a/x", corpo=b"A=1", assinatura=assinar(conteudo), **sha256) is False
    desconhecido = {"x_twilio_webhooks_signature_settings": "key=KY1,algorithm=NENHUM"}
    assert conferir(url="https://a/x", corpo=b"A=1", assinatura=assinar(conteudo), **desconhecido) is False
