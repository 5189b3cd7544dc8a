"""Só o ACK certo apaga da fila: uma resposta ilegível ou de outro evento não confirma nada."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.ingestao.cliente.conftest import Bancada
from tests.ingestao.cliente.servidor import Responder, Trocar


@pytest.mark.parametrize(
    "corpo",
    [
        b"", b"<html>Bem-vindo ao hotel</html>", b"[]", b"null", b'{"resultados": []}', b'{"resultados": {}}',
        b'{"resultados": [{"situacao": "gravado"}]}', b'{"resultados": [7]}', b'{"resultados": [null]}',
        b'{"resultados": [{"id_evento": "00000000-0000-4000-8000-000000000000", "situacao": "gravado",'
        b' "gravado_em": "2026-11-30T18:00:00Z"}]}',
        b"\xff\xfe{}", b"[" * 100_000,
    ],
)  # fmt: skip
def test_resposta_ilegivel_nao_confirma_nada(bancada: Bancada, corpo: bytes) -> None:
    (id_evento,) = bancada.capturar()
    bancada.servidor.mundo.roteiro.append(Responder(status=200, corpo=corpo))
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)
    assert bancada.por_enviar == 1

    assert bancada.esvaziar()
    assert list(bancada.servidor.mundo.gravados) == [id_evento]


def trocar_resultados(troca: Callable[[list[dict[str, Any]]], Any]) -> Trocar:
    return Trocar(troca=lambda r: json.dumps({**r, "resultados": troca(r["resultados"])}).encode())


@pytest.mark.parametrize(
    ("troca", "confirmados"),
    [
        (lambda rs: rs[:-1], 0),
        (lambda rs: [*rs, rs[0]], 0),
        (lambda rs: [rs[1], rs[0], rs[2]], 1),  # fora de ordem: só quem está no seu lugar
        (lambda rs: [{**rs[0], "situacao": "gravada"}, *rs[1:]], 2),
        (lambda rs: [{**rs[0], "gravado_em": None}, *rs[1:]], 2),
        (lambda rs: [{**rs[0], "id_evento": None}, *rs[1:]], 2),
        (lambda rs: [rs[0], {"id_evento": rs[1]["id_evento"], "situacao": "talvez"}, rs[2]], 2),
    ],
)
def test_so_o_ack_do_proprio_id_apaga(
    bancada: Bancada, troca: Callable[[list[dict[str, Any]]], Any], confirmados: int
) -> None:
    bancada.capturar(3)
    bancada.servidor.mundo.roteiro.append(trocar_resultados(troca))
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)

    assert bancada.por_enviar == 3 - confirmados
    assert bancada.esvaziar()
    assert len(bancada.servidor.mundo.gravados) == 3
    assert bancada.quarentena == {}
