"""Quem chama um callback prova quem é: token, Basic, assinatura do fornecedor e rede; senão, só se conta."""

import base64
import hashlib
import hmac
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from django.utils import timezone

from dlr import autenticacao
from dlr.models import Integracao, Recepcao, RecepcaoPendente, RecusaDeCallback
from tests.dlr.conftest import Ligada, criar, esquecer
from tests.dlr.porta import CORPO, postar, recusada, recusas

# ---- o token


def test_token_no_caminho_entra(client: Client, integracao: Ligada) -> None:
    resposta = postar(client, integracao.url)
    assert (resposta.status_code, resposta.content) == (202, b"")
    assert RecepcaoPendente.objects.get().recepcao_id == Recepcao.objects.get().pk


@pytest.mark.parametrize("esquema", ["Bearer", "bearer"])
def test_bearer_entra(client: Client, integracao: Ligada, esquema: str) -> None:
    resposta = postar(client, "/dlr/callback/op", authorization=f"{esquema} {integracao.token}")
    assert resposta.status_code == 202


@pytest.mark.parametrize(
    ("caminho", "autorizacao", "status", "codigo"),
    [
        ("", None, 401, "sem_prova"),
        ("", "Bearer ", 401, "sem_prova"),
        ("", "Digest x", 401, "sem_prova"),
        ("/errado", None, 403, "token_invalido"),
        ("", "Bearer errado", 403, "token_invalido"),
        ("", "Basic !!!", 401, "sem_prova"),  # não há senha configurada: o Basic não é prova aqui
        ("/errado", "Basic eDp5", 403, "token_invalido"),
    ],
)
def test_sem_prova_ou_com_prova_errada_nao_entra(
    client: Client, integracao: Ligada, caminho: str, autorizacao: str | None, status: int, codigo: str
) -> None:
    cabecalhos = {} if autorizacao is None else {"authorization": autorizacao}
    recusada(postar(client, f"/dlr/callback/op{caminho}", **cabecalhos), status, codigo)


def test_token_de_outra_integracao_nao_entra(client: Client, integracao: Ligada) -> None:
    outra = criar("outra")
    recusada(postar(client, f"/dlr/callback/op/{outra.token}"), 403, "token_invalido")


def test_integracao_excluida_ou_inexistente_e_404_e_conta(client: Client, integracao: Ligada) -> None:
    recusada(postar(client, "/dlr/callback/ninguem/x"), 404, "integracao_inexistente")
    Integracao.objects.update(deletado=True)
    esquecer()
    assert postar(client, integracao.url).status_code == 404
    assert recusas() == {"integracao_inexistente": 2}
    assert RecusaDeCallback.objects.get().integracao_id is None


def test_mudanca_na_integracao_vale_em_segundos(
    client: Client, integracao: Ligada, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert postar(client, integracao.url).status_code == 202
    Integracao.objects.update(token_resumo="0" * 64)
    agora = autenticacao.time.monotonic()
    monkeypatch.setattr(autenticacao.time, "monotonic", lambda: agora + autenticacao.VALIDADE_S + 0.1)
    assert postar(client, integracao.url).status_code == 403


# ---- Basic


def basico(usuario: str, senha: str) -> str:
    return "Basic " + base64.b64encode(f"{usuario}:{senha}".encode()).decode()


@pytest.mark.parametrize(
    ("autorizacao", "status"),
    [
        (basico("loja", "s3nha:é"), 202),
        (basico("loja", "errada"), 403),
        (basico("outra", "s3nha:é"), 403),
        (basico("", ""), 403),
        ("Basic ***", 403),
        ("Basic bm9jb2xvbg==", 403),
    ],
)
def test_basic(client: Client, db: None, autorizacao: str, status: int) -> None:
    criar("b", "padrao", "usuario=loja", "senha=s3nha:é")
    resposta = postar(client, "/dlr/callback/b", authorization=autorizacao)
    assert resposta.status_code == status
    assert Recepcao.objects.count() == (status == 202)
    assert recusas() == ({} if status == 202 else {"basic_invalido": 1})


# ---- assinatura


def assinar_twilio(url: str, campos: dict[str, str], segredo: str) -> str:
    texto = url + "".join(nome + campos[nome] for nome in sorted(campos))
    return base64.b64encode(hmac.digest(segredo.encode(), texto.encode(), hashlib.sha1)).decode()


@pytest.mark.parametrize(
    ("assinatura", "status", "codigo"),
    [
        ("certa", 200, None),
        ("errada", 403, "assinatura_invalida"),
        (None, 401, "assinatura_ausente"),
    ],
)
def test_com_segredo_a_assinatura_do_twilio_e_exigida_mesmo_com_o_token_certo(
    client: Client, db: None, assinatura: str | None, status: int, codigo: str | None
) -> None:
    twilio = criar("tw", "twilio", "segredo=auth-token")
    campos = {"MessageSid": "SM1", "MessageStatus": "delivered"}
    certa = assinar_twilio(f"http://testserver{twilio.url}", campos, "auth-token")
    headers = {} if assinatura is None else {"x-twilio-signature": certa if assinatura == "certa" else "AAAA"}
    resposta = client.post(
        twilio.url,
        "&".join(f"{k}={v}" for k, v in campos.items()),
        content_type="application/x-www-form-urlencoded",
        headers=headers,
    )
    assert resposta.status_code == status
    assert Recepcao.objects.count() == (codigo is None)
    assert recusas() == ({} if codigo is None else {codigo: 1})


@pytest.mark.parametrize(("atraso_s", "status"), [(0, 200), (3_600, 403)])
def test_assinatura_do_telnyx_com_relogio(client: Client, db: None, atraso_s: int, status: int) -> None:
    chave = Ed25519PrivateKey.generate()
    publica = base64.b64encode(chave.public_key().public_bytes_raw()).decode()
    criar("tx", "telnyx", f"segredo={publica}")
    carimbo = str(int((timezone.now() - timedelta(seconds=atraso_s)).timestamp()))
    corpo = b'{"data": {"payload": {"id": "t1", "to": [{"status": "delivered"}]}}}'
    assinatura = base64.b64encode(chave.sign(carimbo.encode() + b"|" + corpo)).decode()
    resposta = postar(
        client,
        "/dlr/callback/tx",
        corpo,
        telnyx_timestamp=carimbo,
        telnyx_signature_ed25519=assinatura,
    )
    assert resposta.status_code == status
    assert Recepcao.objects.count() == (status == 200)


def test_segredo_cifrado_com_outra_chave_do_servidor_recusa_e_conta(
    client: Client, db: None, settings: Any
) -> None:
    criar("tw", "twilio", "segredo=auth-token")
    settings.SECRET_KEY = "outra-chave-do-servidor-" + "1" * 32
    recusada(postar(client, "/dlr/callback/tw"), 403, "segredo_ilegivel")


# ---- redes


@pytest.mark.parametrize(
    ("ip", "entra"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("2001:db8::1", True),
        ("", False),
        ("unix:", False),
    ],
)
def test_rede_e_exigida_alem_do_token(client: Client, db: None, ip: str, entra: bool) -> None:
    ligada = criar("r", "padrao", "rede=10.0.0.0/8", "rede=192.0.2.7", "rede=2001:db8::/32")
    resposta = client.post(ligada.url, CORPO, content_type="application/json", REMOTE_ADDR=ip)
    assert resposta.status_code == (202 if entra else 403)
    assert recusas() == ({} if entra else {"origem_nao_permitida": 1})
    sem_token = client.post("/dlr/callback/r", CORPO, content_type="application/json", REMOTE_ADDR="10.1.2.3")
    assert sem_token.status_code == 401
