"""O COPY dos eventos: o que se escreve é o que se lê, e a corrida com outro worker termina igual."""

import threading
import uuid
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestao.eventos import gravacao
from ingestao.eventos.copia import montar_copia
from ingestao.models import Evento

AGORA = "2026-11-30T12:00:00.123456+00:00"
TORTOS = [
    "\\N",
    "\\.",
    "\\",
    "\\\\t",
    "a\tb\nc\r\n\\.\n",
    "",
    " ",
    "\x01\x1f\x7f",
    "ação 🙂",
    "N",
    "\\x41",
    '"',
    "{}",
]

# O que a borda deixa passar: qualquer texto sem NUL e sem metade de par UTF-16.
texto = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30
) | st.sampled_from(TORTOS)
json_qualquer = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texto,
    lambda filhos: st.lists(filhos, max_size=3) | st.dictionaries(texto, filhos, max_size=3),
    max_leaves=6,
)
campos = st.fixed_dictionaries(
    {},
    optional={
        "nome": texto,
        "mensagem": texto,
        "pilha": texto,
        "usuario_id": texto,
        "linha": st.integers(0, 2**31 - 1),
        "valor": st.floats(allow_nan=False, allow_infinity=False),
        "duracao_ms": st.floats(0, 2**31),
        "payload": json_qualquer,
    },
)


def linha(id_: str, **mais: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "aplicativo_id": str(uuid.UUID(int=1)),
        "sessao_id": 7,
        "evento_id": f"e-{id_}",
        "tipo": "CLIQUE",
        "ocorrido_em": AGORA,
        "criado_em": AGORA,
        **mais,
    }


def ids(quantos: int) -> list[str]:
    return [str(uuid.uuid4()) for _ in range(quantos)]


@pytest.fixture(autouse=True)
def copiar_sempre(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gravacao, "COPIA_A_PARTIR_DE", 1)


# Cada exemplo usa ids novos; e o banco, numa máquina ocupada, não tem prazo.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lote=st.lists(campos, min_size=1, max_size=4))
def test_copiar_grava_o_mesmo_que_inserir(db: None, lote: list[dict[str, Any]]) -> None:
    colunas = [coluna for coluna in gravacao.COLUNAS_DO_EVENTO if coluna != "id"]
    copiadas = [linha(id_, **mais) for id_, mais in zip(ids(len(lote)), lote, strict=True)]
    inseridas = [{**copiada, "id": id_} for id_, copiada in zip(ids(len(lote)), copiadas, strict=True)]
    with transaction.atomic():
        assert gravacao.gravar_eventos(copiadas) == {c["id"] for c in copiadas}
        assert gravacao._inserir_eventos(inseridas) == {i["id"] for i in inseridas}
    for copiada, inserida in zip(copiadas, inseridas, strict=True):
        vistas = [Evento.objects.values_list(*colunas).get(pk=e["id"]) for e in (copiada, inserida)]
        assert vistas[0] == vistas[1]


@pytest.mark.parametrize("torto", TORTOS)
def test_texto_torto_volta_igual(db: None, torto: str) -> None:
    (id_,) = ids(1)
    gravacao.gravar_eventos([linha(id_, mensagem=torto, payload={torto: [torto]})])
    gravado = Evento.objects.get(pk=id_)
    assert (gravado.mensagem, gravado.payload, gravado.nome) == (torto, {torto: [torto]}, None)


def test_texto_que_nao_e_utf8_nao_se_passa_por_nulo() -> None:
    with pytest.raises(UnicodeEncodeError):
        montar_copia([{"a": "x\ud800"}], textos=["a"], numeros=[], objetos=[])


def test_os_que_ja_existem_ficam_como_estao_e_nao_contam(db: None) -> None:
    antigo, novo = ids(2)
    gravacao.gravar_eventos([linha(antigo, nome="primeiro")])
    assert gravacao.gravar_eventos([linha(antigo, nome="segundo"), linha(novo)]) == {novo}
    assert Evento.objects.get(pk=antigo).nome == "primeiro"


def test_lote_em_que_todos_ja_existem_nao_grava_nada_nem_falha(db: None) -> None:
    """Um reenvio puro, grande: sobra uma cópia de zero linhas, que o PostgreSQL leria como uma linha vazia."""
    lote = [linha(id_) for id_ in ids(3)]
    assert len(gravacao.gravar_eventos(lote)) == 3
    assert gravacao.gravar_eventos(lote) == set()
    assert Evento.objects.count() == 3
    assert montar_copia([], textos=["a"], numeros=[], objetos=[]) == b""


@pytest.mark.parametrize("confirma", [True, False], ids=["o_outro_confirma", "o_outro_desfaz"])
def test_outro_worker_grava_um_deles_durante_a_copia(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, confirma: bool
) -> None:
    """O outro já inseriu e ainda não confirmou: a pergunta não o vê, e a cópia espera por ele."""
    do_meio, *vizinhos = ids(5)
    resultado: list[set[str]] = []

    def copiar() -> None:
        try:
            with transaction.atomic():
                resultado.append(gravacao.gravar_eventos([linha(id_) for id_ in (do_meio, *vizinhos)]))
        finally:
            connection.close()

    thread = threading.Thread(target=copiar)
    with psycopg.connect(**connection.get_connection_params()) as outra:
        outra.execute(
            "INSERT INTO ingestao_evento (id, aplicativo_id, sessao_id, evento_id, tipo, nome, ocorrido_em, criado_em)"
            " VALUES (%s, %s, 7, 'e', 'CLIQUE', 'do outro', now(), now())",
            (do_meio, uuid.UUID(int=1)),
        )
        thread.start()
        thread.join(0.3)
        assert thread.is_alive(), "a cópia espera pelo outro"
        if not confirma:
            outra.rollback()
    thread.join(20)
    assert resultado == [set(vizinhos) if confirma else {do_meio, *vizinhos}]
    assert Evento.objects.count() == 5
    assert Evento.objects.get(pk=do_meio).nome == ("do outro" if confirma else None)
