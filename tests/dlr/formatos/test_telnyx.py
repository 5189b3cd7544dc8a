"""A assinatura da Telnyx: Ed25519 sobre carimbo e corpo, com prazo."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dlr.dominio.chave import decidir_chave
from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.contrato import Contexto, Credencial
from dlr.formatos.telnyx import FORMATO, TOLERANCIA_S, conferir_assinatura, ler

AGORA = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
PRIVADA = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLICA = base64.b64encode(PRIVADA.public_key().public_bytes_raw()).decode()
CORPO = b'{"data": {}}'


def chamar(
    *, corpo: bytes = CORPO, assinado: bytes = CORPO, idade_s: float = 0, **cabecalhos: str | None
) -> Chamada:
    carimbo = str(int((AGORA - timedelta(seconds=idade_s)).timestamp()))
    postos = {
        "telnyx-timestamp": carimbo,
        "telnyx-signature-ed25519": base64.b64encode(
            PRIVADA.sign(carimbo.encode() + b"|" + assinado)
        ).decode(),
    } | {nome.replace("_", "-"): valor for nome, valor in cabecalhos.items()}
    return Chamada(
        metodo="POST",
        url="https://lastro.exemplo.com.br/dlr/callback/x",
        consulta=b"",
        cabecalhos={nome: valor for nome, valor in postos.items() if valor is not None},
        corpo=corpo,
    )


@pytest.mark.parametrize("idade_s", [0, TOLERANCIA_S, -TOLERANCIA_S])
def test_assinatura_da_conta_dentro_do_prazo_confere(idade_s: float) -> None:
    assert conferir_assinatura(chamar(idade_s=idade_s), Credencial(token="t", segredo=PUBLICA), AGORA) is True


@pytest.mark.parametrize(
    "chamada",
    [
        pytest.param(chamar(idade_s=TOLERANCIA_S + 1), id="velha"),
        pytest.param(chamar(idade_s=-TOLERANCIA_S - 1), id="do futuro"),
        pytest.param(chamar(corpo=CORPO + b" "), id="corpo trocado"),
        pytest.param(chamar(telnyx_timestamp=str(int(AGORA.timestamp()) + 1)), id="carimbo trocado"),
        pytest.param(chamar(telnyx_timestamp="1e9"), id="carimbo torto"),
        pytest.param(chamar(telnyx_timestamp="9" * 40), id="carimbo enorme"),
        pytest.param(chamar(telnyx_timestamp=None), id="sem carimbo"),
        pytest.param(chamar(telnyx_signature_ed25519=None), id="sem assinatura"),
        pytest.param(chamar(telnyx_signature_ed25519="não é base64"), id="assinatura torta"),
        pytest.param(chamar(telnyx_signature_ed25519="AAAA"), id="assinatura curta"),
    ],
)
def test_assinatura_falsa_velha_ou_pela_metade_nao_confere(chamada: Chamada) -> None:
    assert conferir_assinatura(chamada, Credencial(token="t", segredo=PUBLICA), AGORA) is False


@pytest.mark.parametrize("segredo", ["x", "AAAA", base64.b64encode(bytes(32)).decode(), "é"])
def test_chave_publica_errada_nao_confere_nem_levanta(segredo: str) -> None:
    assert conferir_assinatura(chamar(), Credencial(token="t", segredo=segredo), AGORA) is False


def test_sem_a_prova_ou_sem_a_chave_outra_prova_decide() -> None:
    sem_prova = chamar(telnyx_timestamp=None, telnyx_signature_ed25519=None)
    assert conferir_assinatura(sem_prova, Credencial(token="t", segredo=PUBLICA), AGORA) is None
    assert conferir_assinatura(chamar(), Credencial(token="t"), AGORA) is None


def ler_evento(tentativa: int, *destinos: tuple[str, str]) -> list[Recibo]:
    evento = {
        "data": {
            "id": "ev-1",
            "event_type": "message.finalized",
            "payload": {"id": "m-1", "to": [{"phone_number": numero, "status": s} for numero, s in destinos]},
        },
        "meta": {"attempt": tentativa},
    }
    itens = ler(chamar(corpo=json.dumps(evento).encode()), Contexto())
    assert all(isinstance(item, Recibo) for item in itens)
    return itens  # type: ignore[return-value]


def test_destinatarios_do_mesmo_evento_nao_colidem_e_a_nova_tentativa_e_repeticao() -> None:
    destinos = (("+5511999990000", "delivered"), ("+5511999990001", "delivered"))
    primeira, segunda = ler_evento(1, *destinos), ler_evento(2, *destinos)
    assert len({decidir_chave(recibo).chave for recibo in primeira}) == 2
    assert primeira == segunda


def test_sem_confirmacao_encerra_por_padrao_e_nao_e_entrega() -> None:
    (recibo,) = ler_evento(1, ("+5511999990000", "delivery_unconfirmed"))
    assert recibo.estado is Estado.UNKNOWN
    assert recibo.estado in FORMATO.finais
