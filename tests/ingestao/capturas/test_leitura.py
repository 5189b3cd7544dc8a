"""Cada campo do protocolo: o que serve, o que não serve, e com que código."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ingestao.capturas.leitura import (
    EventoInvalido,
    EventoLido,
    LoteInvalido,
    ler_evento,
    ler_eventos,
    resumir_conteudo,
    suspeitar_da_hora,
)
from ingestao.capturas.relatos import ler_pulso, ler_relato
from tests.ingestao.capturas.aparelho import AUSENTE, com_caixa, evento, quadro

CAIXA = {"x": 0, "y": 0, "largura": 10, "altura": 10, "margem": 0}


def fundo(niveis: int) -> Any:
    valor: Any = 1
    for _ in range(niveis):
        valor = [valor]
    return valor


def ler(**mudancas: Any) -> EventoLido:
    lido = ler_evento(evento(**mudancas), 0)
    assert isinstance(lido, EventoLido), lido
    return lido


def test_evento_completo_e_lido() -> None:
    mandado = com_caixa(tentativa=3, idade_ms=830)
    lido = ler_evento(mandado, 4)
    assert isinstance(lido, EventoLido)
    assert (str(lido.id_evento), lido.indice, lido.tentativa) == (mandado["id_evento"], 4, 3)
    assert lido.capturado_em == datetime(2026, 11, 30, 18, tzinfo=UTC)
    assert lido.payload == b'{"confianca":0.93,"placa":"ABC1D23"}'
    assert lido.quadro is not None and lido.quadro.sha256 == "ab" * 32
    assert lido.caixa is not None and lido.caixa.margem == 16


@pytest.mark.parametrize(
    ("mudancas", "codigo", "palavra"),
    [
        ({"id_evento": "nao-e-uuid"}, "id_evento_invalido", "UUID"),
        ({"id_evento": None}, "id_evento_invalido", "UUID"),
        ({"id_evento": "{00000000-0000-0000-0000-000000000000}"}, "id_evento_invalido", "UUID"),
        ({"capturado_em": AUSENTE}, "campo_ausente", "capturado_em"),
        ({"seq": AUSENTE}, "campo_ausente", "seq"),
        ({"payload": AUSENTE}, "campo_ausente", "payload"),
        ({"capturado_em": "2026-11-30T18:00:00"}, "campo_invalido", "fuso"),
        ({"capturado_em": "ontem"}, "campo_invalido", "capturado_em"),
        ({"capturado_em": 1764525600}, "campo_invalido", "capturado_em"),
        ({"capturado_em": "0001-01-01T00:00:00+23:59"}, "campo_invalido", "capturado_em"),
        ({"idade_ms": -1}, "campo_invalido", "idade_ms"),
        ({"idade_ms": True}, "campo_invalido", "idade_ms"),
        ({"idade_ms": math.inf}, "campo_invalido", "idade_ms"),
        ({"seq": "17"}, "campo_invalido", "seq"),
        ({"seq": 2**63}, "campo_invalido", "seq"),
        ({"tentativa": 0}, "campo_invalido", "tentativa"),
        ({"tentativa": 2**31}, "campo_invalido", "tentativa"),
        ({"payload": {"x": "a" * 70_000}}, "payload_grande", "teto"),
        ({"payload": {"x": math.inf}}, "campo_invalido", "finitos"),
        ({"payload": [{"x": math.nan}]}, "campo_invalido", "finitos"),
        ({"payload": {"x": 10**30}}, "campo_invalido", "64 bits"),
        ({"payload": fundo(33)}, "campo_invalido", "níveis"),
        ({"payload": fundo(400)}, "campo_invalido", "níveis"),
        ({"quadro": []}, "campo_invalido", "quadro"),
        ({"quadro": quadro(largura=0)}, "campo_invalido", "largura"),
        ({"quadro": quadro(bytes=2**40)}, "campo_invalido", "bytes"),
        ({"quadro": quadro(sha256="ab")}, "campo_invalido", "sha256"),
        ({"quadro": quadro(expira_em="nunca")}, "campo_invalido", "expira_em"),
        ({"quadro": {"largura": 1}}, "campo_ausente", "altura"),
        ({"caixa": {**CAIXA, "largura": 0}}, "campo_invalido", "largura"),
        ({"caixa": {**CAIXA, "x": -1}}, "campo_invalido", "x"),
        ({"caixa": {**CAIXA, "x": 1.5}}, "campo_invalido", "x"),
        ({"caixa": {**CAIXA, "x": 1915}, "quadro": quadro()}, "campo_invalido", "dentro do quadro"),
        ({"sem_recorte": "Frase Livre"}, "campo_invalido", "sem_recorte"),
        ({"sem_recorte": 3}, "campo_invalido", "sem_recorte"),
    ],
)
def test_evento_ruim_diz_o_codigo_e_o_campo(mudancas: dict[str, Any], codigo: str, palavra: str) -> None:
    lido = ler_evento(evento(**mudancas), 7)
    assert isinstance(lido, EventoInvalido), lido
    assert (lido.codigo, lido.indice) == (codigo, 7)
    assert palavra in lido.detalhe
    assert (lido.id_evento is None) == (codigo == "id_evento_invalido")


@pytest.mark.parametrize("cru", [None, 3, "x", [], {}])
def test_o_que_nao_e_evento_e_invalido_sem_id(cru: Any) -> None:
    lido = ler_evento(cru, 0)
    assert isinstance(lido, EventoInvalido)
    assert (lido.codigo, lido.id_evento) == ("id_evento_invalido", None)


@pytest.mark.parametrize("payload", [{}, [], "", 0, None, {"nulo": None}, fundo(32), {"x": 2**63}])
def test_payload_e_qualquer_json(payload: Any) -> None:
    assert ler(payload=payload).payload is not None


@pytest.mark.parametrize(
    ("lote", "codigo"),
    [
        (None, "lote_invalido"),
        ([], "lote_invalido"),
        ({}, "lote_invalido"),
        ({"eventos": {}}, "lote_invalido"),
        ({"eventos": [{}] * 101}, "eventos_demais"),
    ],
)
def test_lote_que_nao_e_lote(lote: Any, codigo: str) -> None:
    with pytest.raises(LoteInvalido) as erro:
        ler_eventos(lote)
    assert erro.value.codigo == codigo


def test_identidade_ignora_o_que_muda_no_reenvio_e_ve_o_que_e_conteudo() -> None:
    base = com_caixa()

    def resumo(recorte: str | None = "c1", **mudancas: Any) -> str:
        lido = ler_evento({**base, **mudancas}, 0)
        assert isinstance(lido, EventoLido)
        return resumir_conteudo(lido, recorte)

    iguais = [
        resumo(idade_ms=5, tentativa=9),
        resumo(quadro={**base["quadro"], "expira_em": None}),
        resumo(quadro={**base["quadro"], "sha256": "AB" * 32}),
        resumo(capturado_em="2026-11-30T15:00:00.000-03:00"),
        resumo(payload=dict(reversed(base["payload"].items()))),
        resumo(sem_recorte="caixa_invalida"),
    ]
    diferentes = [
        resumo(seq=base["seq"] + 1),
        resumo(payload={}),
        resumo(capturado_em="2026-11-30T18:00:00.001Z"),
        resumo(quadro={**base["quadro"], "bytes": 1}),
        resumo(caixa={**base["caixa"], "x": 101}),
        resumo("c2"),
        resumo(None),
    ]
    assert set(iguais) == {resumo()}
    assert len({resumo(), *diferentes}) == 1 + len(diferentes)


AGORA = datetime(2026, 11, 30, 18, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("capturado_em", "idade_ms", "suspeita"),
    [
        (AGORA - timedelta(seconds=1), 1_000, ""),
        (AGORA - timedelta(days=3), 3 * 86_400_000, ""),
        (AGORA - timedelta(days=3), None, ""),
        (AGORA - timedelta(hours=1), 1_000, "diverge_da_idade"),
        (AGORA + timedelta(hours=1), 1_000, "no_futuro"),
        (AGORA + timedelta(hours=1), None, "no_futuro"),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 1_000, "anterior_a_2020"),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None, "anterior_a_2020"),
    ],
)
def test_relogio_que_nao_merece_confianca(
    capturado_em: datetime, idade_ms: int | None, suspeita: str
) -> None:
    lido = ler(capturado_em=capturado_em.isoformat(), idade_ms=idade_ms)
    assert suspeitar_da_hora(lido, AGORA) == suspeita


def test_relato_ruim_nao_custa_o_que_se_le() -> None:
    um = evento()["id_evento"]
    relato = ler_relato(
        {
            "descartados": {
                "teto_de_tentativas": 2,
                "Disco cheio!": 1,
                "negativo": -1,
                "texto": "3",
                "zero": 0,
                "muitos": 2**62,
            },
            "latencias": [{"id_evento": um, "ms": 812.4}, {"id_evento": um, "ms": 9}, {"id_evento": "x"}, 3],
            "relato_id": "r1",
        }
    )
    assert relato.descartados == {"teto_de_tentativas": 2, "disco_cheio": 1}
    assert relato.latencias_ms == {um: 812}
    assert (relato.chave, relato.ilegiveis) == ("r1", 5)


def test_sem_relato_id_a_chave_e_a_mesma_no_reenvio_do_mesmo_lote() -> None:
    cru = {"boot_id": "b", "descartados": {"x": 1}, "enviado_em": "1"}
    chave = ler_relato(cru, ["i1", "i2"]).chave
    assert ler_relato({**cru, "enviado_em": "2"}, ["i2", "i1"]).chave == chave
    assert ler_relato({**cru, "boot_id": "c"}, ["i1", "i2"]).chave != chave
    assert ler_relato({**cru, "descartados": {"x": 2}}, ["i1", "i2"]).chave != chave
    assert ler_relato({**cru, "enviado_em": "2"}).chave != ler_relato(cru).chave


def test_pulso_aproveita_o_que_se_le() -> None:
    pulso = ler_pulso(
        {
            "versao": "1.2",
            "fila": {"qtd": 3, "mais_antigo_s": 1.5},
            "quadros": "?",
            "disco_livre_bytes": -1,
            "quarentena": 0,
            "relogio_suspeito": True,
        }
    )
    assert (pulso.fila_qtd, pulso.fila_mais_antigo_s, pulso.quarentena) == (3, 1.5, 0)
    assert (pulso.quadros_qtd, pulso.disco_livre_bytes, pulso.relogio_suspeito) == (None, None, True)
