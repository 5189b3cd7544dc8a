"""O fuzz de `make fuzz`, em versão curta: cada alvo ao menos uma vez, e as contas fecham."""

import random

import pytest

from tests.caos.envio import Resposta
from tests.caos.servidor import ServidorLocal
from tests.fuzz.execucao import rodar
from tests.fuzz.visitante import Defeito, conferir

DURACAO_S = 5


def test_nenhum_pedido_sorteado_quebra_o_servidor_e_todos_estao_em_alguma_conta(
    servidor: ServidorLocal,
) -> None:
    semente = random.randrange(10**6)  # outra a cada vez; a mensagem de falha diz qual
    dito: list[str] = []

    corrida = rodar(servidor, semente=semente, duracao_s=DURACAO_S, dizer=dito.append, por_vez=0.2)

    conte = "\n".join([f"repita com: make fuzz SEMENTE={semente}", *corrida.defeitos, "", *dito])
    assert corrida.defeitos == [], conte
    assert corrida.pedidos > 60 and corrida.crus > 0, conte


BOA = {"x-content-type-options": "nosniff"}
DE_TELA = {
    **BOA, "x-frame-options": "DENY", "content-security-policy": "frame-ancestors 'none'",
    "cache-control": "no-store, private", "permissions-policy": "camera=()",
}  # fmt: skip


@pytest.mark.parametrize(
    ("caminho", "status", "cabecalhos", "corpo"),
    [
        ("/saude", 500, BOA, b'{"detail": "x", "codigo": "erro_interno"}'),
        ("/saude", 200, {}, b"{}"),
        ("/saude", 404, BOA, b"<h1>Not Found</h1>"),
        ("/saude", 200, BOA, b"Traceback (most recent call last)"),
        ("/admin/", 200, BOA, b""),
        ("/admin/", 200, {**DE_TELA, "cache-control": "max-age=600"}, b""),
        ("/admin/", 200, {**DE_TELA, "x-frame-options": "ALLOWALL"}, b""),
    ],
)
def test_o_fuzz_percebe_a_resposta_que_nao_devia_vir(
    caminho: str, status: int, cabecalhos: dict[str, str], corpo: bytes
) -> None:
    with pytest.raises(Defeito):
        conferir("GET", caminho, Resposta(status=status, cabecalhos=cabecalhos, corpo=corpo))


def test_o_fuzz_nao_acusa_quem_responde_direito() -> None:
    conferir("GET", "/admin/", Resposta(status=200, cabecalhos=DE_TELA, corpo=b"<html>"))
    conferir(
        "GET",
        "/x",
        Resposta(status=404, cabecalhos=BOA, corpo=b'{"detail": "x", "codigo": "rota_inexistente"}'),
    )
