"""As assinaturas da Plivo, conferidas contra valores calculados passo a passo como ela os descreve."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest

from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Credencial
from dlr.formatos.plivo import conferir_assinatura

AGORA = datetime(2026, 11, 30, 12, tzinfo=UTC)
TOKEN = "auth-token"
NONCE = "05429567804466091622"
BASE = "https://lastro.exemplo.com.br/dlr/callback/x"


def assinar(mensagem: str, token: str = TOKEN) -> str:
    return base64.b64encode(hmac.new(token.encode(), mensagem.encode(), hashlib.sha256).digest()).decode()


def chamar(*, metodo: str = "POST", consulta: str = "", corpo: str = "", **cabecalhos: str) -> Chamada:
    return Chamada(
        metodo=metodo,
        url=BASE + (f"?{consulta}" if consulta else ""),
        consulta=consulta.encode(),
        cabecalhos={
            f"x-plivo-signature-{nome.replace('_', '-')}": valor for nome, valor in cabecalhos.items()
        },
        corpo=corpo.encode(),
    )


def conferir(chamada: Chamada, segredo: str = TOKEN) -> bool | None:
    return conferir_assinatura(chamada, Credencial(token="t", segredo=segredo), AGORA)


@pytest.mark.parametrize("nome", ["v2", "ma_v2"])
def test_v2_e_sobre_a_url_sem_consulta_e_o_nonce(nome: str) -> None:
    chamada = chamar(
        consulta="cliente=7", corpo="Status=sent", **{nome: assinar(BASE + NONCE), "v2_nonce": NONCE}
    )
    assert conferir(chamada) is True


@pytest.mark.parametrize(
    ("metodo", "consulta", "corpo", "assinada"),
    [
        ("POST", "", "To=55&Status=sent", f"{BASE}?Statussent" + "To55"),
        ("POST", "b=2&a=1", "To=55&From=P%C3%A3o", f"{BASE}?a=1&b=2.FromPãoTo55"),
        ("POST", "a=1", "x=2&x=1&y=", f"{BASE}?a=1.x1x2y"),
        ("POST", "a=1", "", f"{BASE}?a=1"),
        ("POST", "", "", BASE),
        ("GET", "To=55&Status=sent", "", f"{BASE}?Status=sent&To=55"),
    ],
)
def test_v3_e_sobre_a_url_os_parametros_em_ordem_e_o_nonce(
    metodo: str, consulta: str, corpo: str, assinada: str
) -> None:
    assinatura = assinar(f"{assinada}.{NONCE}")
    chamada = chamar(metodo=metodo, consulta=consulta, corpo=corpo, v3=assinatura, v3_nonce=NONCE)
    assert conferir(chamada) is True
    trocada = chamar(metodo=metodo, consulta=consulta + "&z=1", corpo=corpo, v3=assinatura, v3_nonce=NONCE)
    assert conferir(trocada) is False


def test_v3_aceita_qualquer_das_assinaturas_durante_a_troca_de_token() -> None:
    duas = f"{assinar(f'{BASE}.{NONCE}', 'token-velho')}, {assinar(f'{BASE}.{NONCE}')}"
    assert conferir(chamar(v3=duas, v3_nonce=NONCE)) is True


def test_basta_uma_das_provas_presentes() -> None:
    assert conferir(chamar(v3="outra", v3_nonce=NONCE, v2=assinar(BASE + NONCE), v2_nonce=NONCE)) is True


@pytest.mark.parametrize(
    "chamada",
    [
        pytest.param(chamar(v2=assinar(BASE + NONCE, "outro"), v2_nonce=NONCE), id="outro token"),
        pytest.param(chamar(v2=assinar(BASE + NONCE)), id="sem nonce"),
        pytest.param(chamar(v2=assinar(BASE + NONCE), v2_nonce="1"), id="outro nonce"),
        pytest.param(chamar(v3=assinar(BASE + NONCE), v3_nonce=NONCE), id="V2 no lugar da V3"),
        pytest.param(chamar(corpo="a=%ff", v3="x", v3_nonce=NONCE), id="corpo fora do UTF-8"),
        pytest.param(chamar(corpo="a&" * 1_001, v3="x", v3_nonce=NONCE), id="parâmetros demais"),
        pytest.param(chamar(v2="ção", v2_nonce=NONCE), id="assinatura fora do ASCII"),
    ],
)
def test_assinatura_falsa_nao_confere_nem_levanta(chamada: Chamada) -> None:
    assert conferir(chamada) is False


def test_sem_a_prova_ou_sem_o_token_outra_prova_decide() -> None:
    assert conferir(chamar(v2_nonce=NONCE)) is None
    assert conferir(chamar(v2=assinar(BASE + NONCE), v2_nonce=NONCE), segredo="") is None
