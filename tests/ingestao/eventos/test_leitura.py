"""JSON → eventos: cada campo com cada valor impossível, e o que acontece com os vizinhos."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from ingestao.eventos.esquema import RECIBO
from ingestao.eventos.leitura import (
    CORTES,
    PAYLOAD_NIVEIS,
    PAYLOAD_NOS,
    EnvelopeInvalido,
    ler_envelope,
    ler_eventos,
    ler_sessao,
)
from ingestao.models import TipoDeEvento

AGORA = datetime(2026, 11, 30, 12, tzinfo=UTC)


def ler_um(**campos: Any) -> dict[str, Any]:
    lidos = ler_eventos([{"evento_id": "1", "tipo": "CLIQUE", **campos}], AGORA)
    assert lidos.recusas == []
    return lidos.aceitos[0]


def recusa_de(cru: Any) -> str:
    lidos = ler_eventos(
        [{"evento_id": "antes", "tipo": "PULSO"}, cru, {"evento_id": "depois", "tipo": "PULSO"}], AGORA
    )
    assert [aceito["evento_id"] for aceito in lidos.aceitos] == ["antes", "depois"]
    assert [recusa.indice for recusa in lidos.recusas] == [1]
    return lidos.recusas[0].codigo


def fundo(niveis: int) -> Any:
    valor: Any = 1
    for _ in range(niveis):
        valor = [valor]
    return valor


@pytest.mark.parametrize("evento_id", [None, "", 7, True, [], {}, "a" * 10_000], ids=lambda v: repr(v)[:12])
def test_evento_id_que_nao_identifica_e_recusado_sozinho(evento_id: Any) -> None:
    assert recusa_de({"evento_id": evento_id, "tipo": "CLIQUE"}) == "evento_id_invalido"


def test_evento_sem_id_e_recusado_sozinho() -> None:
    assert recusa_de({"tipo": "CLIQUE"}) == "evento_id_invalido"


@pytest.mark.parametrize("tipo", [None, "", "clique", "OUTRO", 0, True, [], {}], ids=repr)
def test_tipo_fora_do_contrato_e_recusado_sozinho(tipo: Any) -> None:
    assert recusa_de({"evento_id": "1", "tipo": tipo}) == "tipo_invalido"


@pytest.mark.parametrize("cru", [None, 0, True, "x", []], ids=repr)
def test_evento_que_nao_e_objeto_e_recusado_sozinho(cru: Any) -> None:
    assert recusa_de(cru) == "evento_invalido"


@pytest.mark.parametrize(
    "campos",
    [
        {"linha": 2147483648},
        {"coluna": -1},
        {"status": -1},
        {"duracao_ms": 1e18},
        {"duracao_ms": -1},
        {"linha": float("inf")},
        {"valor": float("inf")},
        {"valor": float("-inf")},
        {"valor": 10**400},
        {"payload": {"a": [{"b": float("inf")}]}},
        {"payload": 2**63},
        {"payload": 10**30},
        {"mensagem": [float("inf")]},
    ],
    ids=lambda campos: repr(campos)[:40],
)
def test_numero_que_nao_se_guarda_custa_o_evento_e_nao_o_lote(campos: dict[str, Any]) -> None:
    assert recusa_de({"evento_id": "1", "tipo": "CLIQUE", **campos}) == "numero_fora_do_intervalo"


def test_payload_fundo_demais_e_recusado_sozinho() -> None:
    assert ler_um(payload=fundo(PAYLOAD_NIVEIS))["payload"] == fundo(PAYLOAD_NIVEIS)
    assert (
        recusa_de({"evento_id": "1", "tipo": "CLIQUE", "payload": fundo(PAYLOAD_NIVEIS + 1)})
        == "payload_profundo"
    )


def test_payload_com_nos_demais_e_recusado_sozinho() -> None:
    assert (
        recusa_de({"evento_id": "1", "tipo": "CLIQUE", "payload": [0] * (PAYLOAD_NOS + 1)})
        == "payload_grande"
    )


@pytest.mark.parametrize("campo", ["linha", "coluna", "status", "duracao_ms", "valor"])
@pytest.mark.parametrize("valor", ["12", True, "", [], {}], ids=repr)
def test_campo_numerico_de_outro_tipo_e_descartado_e_fica_anotado(campo: str, valor: Any) -> None:
    lido = ler_um(**{campo: valor})
    assert campo not in lido
    assert lido["campos_descartados"] == campo


@pytest.mark.parametrize("campo", ["linha", "coluna", "status"])
def test_inteiro_escrito_como_real_e_lido(campo: str) -> None:
    assert ler_um(**{campo: 12.0})[campo] == 12
    assert ler_um(**{campo: 12.5})["campos_descartados"] == campo


@pytest.mark.parametrize("campo", sorted(CORTES))
@pytest.mark.parametrize(
    ("valor", "lido"),
    [(0, "0"), (True, "true"), ("", ""), ([], "[]"), ({}, "{}"), ({"a": [1]}, '{"a":[1]}')],
    ids=repr,
)
def test_campo_de_texto_de_outro_tipo_vira_o_seu_json(campo: str, valor: Any, lido: str) -> None:
    assert ler_um(**{campo: valor})[campo] == lido


@pytest.mark.parametrize(
    "campo", [*CORTES, "linha", "coluna", "status", "duracao_ms", "valor", "payload", "ocorrido_em"]
)
@pytest.mark.parametrize("valor", [None, 0, True, "", [], {}], ids=repr)
def test_nenhum_campo_com_valor_estranho_estraga_o_que_sera_gravado(campo: str, valor: Any) -> None:
    lidos = ler_eventos([{"evento_id": "1", "tipo": "CLIQUE", campo: valor}], AGORA)
    assert len(lidos.aceitos) == 1
    orjson.dumps(lidos.aceitos)  # o que a porta grava na caixa


@pytest.mark.parametrize(("campo", "limite"), CORTES.items())
def test_texto_longo_e_cortado_em_caracteres_inteiros(campo: str, limite: int) -> None:
    assert ler_um(**{campo: "😀" * (limite + 1)})[campo] == "😀" * limite
    assert ler_um(**{campo: "a" * 100_000})[campo] == "a" * limite
    assert ler_um(**{campo: "a" * limite})[campo] == "a" * limite


def test_cortes_sao_os_do_contrato() -> None:
    assert {
        campo: CORTES[campo] for campo in ("mensagem", "pilha", "url", "arquivo", "seletor", "texto", "nome")
    } == {
        "mensagem": 2_000,
        "pilha": 8_000,
        "url": 2_000,
        "arquivo": 2_000,
        "seletor": 500,
        "texto": 200,
        "nome": 120,
    }


def test_campo_desconhecido_e_ignorado_e_nao_recusado() -> None:
    lido = ler_um(novidade=[1], id="x", aplicativo_id="y", sessao_id=3, erro_id="z", criado_em="w")
    assert lido.keys() == {"evento_id", "tipo", "ocorrido_em"}


@pytest.mark.parametrize(
    ("enviado", "lido"),
    [
        ("2026-11-30T11:59:59Z", AGORA - timedelta(seconds=1)),
        ("2026-11-30T11:59:59", AGORA - timedelta(seconds=1)),
        ("2026-11-30T14:59:59+03:00", AGORA - timedelta(seconds=1)),
        ("2026-11-30 11:59:59.5", AGORA - timedelta(milliseconds=500)),
        ((AGORA - timedelta(minutes=5)).timestamp() * 1000, AGORA - timedelta(minutes=5)),
        (int(AGORA.timestamp() * 1000), AGORA),
        (None, AGORA),
    ],
    ids=repr,
)
def test_instante_legivel_e_guardado_em_utc(enviado: Any, lido: datetime) -> None:
    evento = ler_um(ocorrido_em=enviado)
    assert evento["ocorrido_em"] == lido
    assert "ocorrido_em_original" not in evento


@pytest.mark.parametrize(
    ("enviado", "original"),
    [
        ("2026-12-05T12:00:00Z", "2026-12-05T12:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00+23:59"),
        ("ontem", "ontem"),
        ("", ""),
        (0, "0"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (True, "True"),
        ([], "?"),
        ("x" * 1000, "x" * 64),
    ],
    ids=lambda v: repr(v)[:20],
)
def test_relogio_quebrado_vira_a_hora_de_recepcao_e_o_original_fica(enviado: Any, original: str) -> None:
    evento = ler_um(ocorrido_em=enviado)
    assert evento["ocorrido_em"] == AGORA
    assert evento["ocorrido_em_original"] == original


def test_do_501_em_diante_e_recusado_com_o_seu_indice() -> None:
    lidos = ler_eventos([{"evento_id": str(n), "tipo": "CLIQUE"} for n in range(503)], AGORA)
    assert len(lidos.aceitos) == 500
    assert [(recusa.indice, recusa.codigo) for recusa in lidos.recusas] == [
        (500, "lote_cheio"),
        (501, "lote_cheio"),
        (502, "lote_cheio"),
    ]


@pytest.mark.parametrize(
    ("corpo", "codigo"),
    [
        ([], "lote_invalido"),
        ("x", "lote_invalido"),
        (None, "lote_invalido"),
        ({}, "chave_ausente"),
        ({"chave": 1, "eventos": []}, "chave_ausente"),
        ({"chave": "pk_x"}, "eventos_ausentes"),
        ({"chave": "pk_x", "eventos": {}}, "eventos_ausentes"),
        ({"eventos": {}}, "chave_ausente"),
    ],
    ids=repr,
)
def test_envelope_torto_tem_codigo_estavel(corpo: Any, codigo: str) -> None:
    with pytest.raises(EnvelopeInvalido) as recusa:
        ler_envelope(corpo)
    assert recusa.value.codigo == codigo


@pytest.mark.parametrize(
    "sessao",
    [None, 0, True, "", [], {}, {"sessao_externa": ""}, {"sessao_externa": 3}, {"sessao_externa": "s" * 201}],
    ids=lambda v: repr(v)[:24],
)
def test_sessao_sem_identificador_utilizavel_e_recusada(sessao: Any) -> None:
    with pytest.raises(EnvelopeInvalido) as recusa:
        ler_sessao(sessao)
    assert recusa.value.codigo == "sessao_invalida"


@pytest.mark.parametrize("valor", [None, 0, True, "", [], {}, float("inf")], ids=repr)
def test_campo_descritivo_da_sessao_nunca_custa_o_lote(valor: Any) -> None:
    campos = (
        "anonimo_id",
        "usuario_id",
        "navegador",
        "sistema_operacional",
        "dispositivo",
        "resolucao",
        "pagina_inicial",
    )
    lida = ler_sessao({"sessao_externa": "s", **dict.fromkeys(campos, valor)})
    assert lida["sessao_externa"] == "s"
    assert {lida[campo] for campo in campos} <= {None, "0", "true", "", "[]", "{}"}


def test_sessao_longa_e_cortada_mas_o_identificador_nunca() -> None:
    lida = ler_sessao({"sessao_externa": "s" * 200, "navegador": "n" * 900, "pagina_inicial": "p" * 9000})
    assert (
        len(lida["sessao_externa"] or ""),
        len(lida["navegador"] or ""),
        len(lida["pagina_inicial"] or ""),
    ) == (
        200,
        200,
        2000,
    )


def test_tipos_da_leitura_sao_os_do_modelo() -> None:
    from ingestao.eventos.leitura import TIPOS

    assert set(TipoDeEvento.values) == TIPOS


def test_o_esquema_lista_todos_os_motivos_de_recusa() -> None:
    crus = itertools.chain(
        [None, {"tipo": "CLIQUE"}, {"evento_id": "1", "tipo": "X"}],
        [{"evento_id": "1", "tipo": "CLIQUE", "payload": p} for p in (fundo(40), [0] * 30_000, 2**63)],
        [{"evento_id": str(n), "tipo": "CLIQUE"} for n in range(500)],
    )
    motivos = {recusa.codigo for recusa in ler_eventos(list(crus), AGORA).recusas}
    assert motivos == set(RECIBO["properties"]["recusas"]["items"]["properties"]["codigo"]["enum"])
