"""A chave da conta que a SMS Dev manda em cada chamada: confere, e não aparece em lugar nenhum do que se lê."""

from datetime import UTC, datetime

import pytest

from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Contexto, Credencial
from dlr.formatos.smsdev import conferir_assinatura, ler

AGORA = datetime(2026, 11, 30, 12, tzinfo=UTC)
CHAVE = "CHAVE-DE-TESTE"


def chamar(metodo: str, texto: str) -> Chamada:
    return Chamada(
        metodo=metodo,
        url="https://x/y",
        consulta=texto.encode() if metodo == "GET" else b"",
        cabecalhos={},
        corpo=texto.encode() if metodo == "POST" else b"",
    )


def conferir(chamada: Chamada, segredo: str = CHAVE) -> bool | None:
    return conferir_assinatura(chamada, Credencial(token="t", segredo=segredo), AGORA)


FORMAS = [
    ("GET", "key={}&id=1&situacao=FILA"),
    ("POST", "key={}&id=1&situacao=FILA"),
    ("POST", '{{"key": "{}", "id": "1", "situacao": "FILA"}}'),
    ("POST", '[{{"key": "{}", "id": "1", "situacao": "FILA"}}]'),
]


@pytest.mark.parametrize(("metodo", "forma"), FORMAS)
def test_chave_da_conta_confere_nas_quatro_formas(metodo: str, forma: str) -> None:
    assert conferir(chamar(metodo, forma.format(CHAVE))) is True
    assert conferir(chamar(metodo, forma.format("outra"))) is False
    assert conferir(chamar(metodo, forma.format("\\ud800"))) is False
    assert conferir(chamar(metodo, forma.format(CHAVE)), segredo="") is None


def test_lista_em_que_um_item_nao_prova_nao_confere() -> None:
    assert conferir(chamar("POST", f'[{{"key": "{CHAVE}"}}, {{"id": "1"}}]')) is False


@pytest.mark.parametrize("texto", ["id=1&situacao=FILA", "{", "[]", "[1]", "key=", ""])
def test_sem_a_chave_outra_prova_decide(texto: str) -> None:
    assert conferir(chamar("POST", texto)) is None


@pytest.mark.parametrize(
    ("metodo", "texto"),
    [
        *((metodo, forma.format(CHAVE)) for metodo, forma in FORMAS),
        ("GET", f"key={CHAVE}"),
        ("POST", f"key={CHAVE}&x=1"),
        ("POST", f'{{"key": "{CHAVE}"'),
        ("POST", f"{{'KEY' : '{CHAVE}'}}"),
        ("POST", f'[{{"key":"{CHAVE}"}}, 1]'),
    ],
)
def test_a_chave_nunca_aparece_no_que_se_le(metodo: str, texto: str) -> None:
    assert CHAVE not in repr(ler(chamar(metodo, texto), Contexto()))
