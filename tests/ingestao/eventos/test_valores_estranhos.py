"""Cada campo com cada valor estranho atravessa da porta ao banco sem 500, sem veneno e sem perder o vizinho."""

import uuid
from typing import Any

import pytest

from ingestao.models import Aplicativo, Evento
from tests.ingestao.conftest import Postar, Processar, evento


@pytest.mark.parametrize("valor", [None, 0, True, "", [], {}, "\u0000", "\ud83d", 1e308, -1], ids=ascii)
def test_valor_estranho_em_qualquer_campo_atravessa_ate_o_worker(
    postar: Postar, processar: Processar, valor: Any
) -> None:
    campos = (
        "evento_id tipo nome mensagem ocorrido_em pilha arquivo linha coluna url metodo status duracao_ms nivel "
        "seletor texto metrica valor usuario_id payload"
    ).split()
    lote = [{**evento(tipo="ERRO_JS"), campo: valor} for campo in campos]
    resposta = postar(*lote, evento(evento_id="vizinho"), sessao={"sessao_externa": "s", "navegador": valor})
    assert resposta.status_code == 202
    processar()
    assert Evento.objects.filter(evento_id="vizinho").exists()
    assert Evento.objects.count() == resposta.json()["aceitos"]


def test_nul_na_sessao_no_id_e_no_payload_vira_substituto_e_os_vizinhos_ficam(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    postar(
        evento(evento_id="a\u0000b", mensagem="m\u0000", url="u\u0000", payload={"k\u0000": ["\ud83d"]}),
        evento(evento_id="outro"),
        sessao={"sessao_externa": "s\u0000", "navegador": "n\u0000"},
    )
    processar()
    gravado = Evento.objects.get(evento_id="a\ufffdb")
    assert gravado.id == uuid.uuid5(uuid.NAMESPACE_OID, f"{aplicativo.id}:a\ufffdb")
    assert (gravado.mensagem, gravado.url, gravado.payload) == ("m\ufffd", "u\ufffd", {"k\ufffd": ["\ufffd"]})
    assert (gravado.sessao.sessao_externa, gravado.sessao.navegador) == ("s\ufffd", "n\ufffd")
    assert Evento.objects.count() == 2


@pytest.mark.parametrize(
    "texto",
    [
        "<script>alert(1)</script>",
        "javascript:alert(1)",
        "\x1b[31mvermelho",
        "\u202egnp.exe",
        "=1+1",
        "'; DROP TABLE evento; --",
    ],
    ids=ascii,
)
def test_texto_hostil_e_guardado_como_texto(postar: Postar, processar: Processar, texto: str) -> None:
    postar(evento(mensagem=texto, url=texto))
    processar()
    assert Evento.objects.values_list("mensagem", "url").get() == (texto, texto)
