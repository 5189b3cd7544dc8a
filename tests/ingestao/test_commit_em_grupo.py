"""Muitos num COMMIT só: cada um tem a sua resposta, e o que dá errado com um não chega aos outros."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import psycopg
import pytest
from django.db import DataError, OperationalError, connection

from config.chegada import Chegada, Pedido, Resposta
from ingestao.caixa import ItemDoGrupo, em_cada, gravar_juntos, responder
from ingestao.eventos import gravacao, recepcao
from ingestao.eventos.atendimento import atender
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Evento, Lote, Recusa
from tests.ingestao.conftest import ORIGEM, evento


def pedido(corpo: Any, *, origem: str = ORIGEM, desistiu: bool = False) -> Pedido:
    """Um POST como a porta o entrega; `desistiu`: o remetente já ouviu um 503 por prazo."""
    cru = corpo if isinstance(corpo, bytes) else orjson.dumps(corpo)
    cabecalhos = {"origin": origem, "content-type": "text/plain"}
    chegada = Chegada(
        metodo="POST", caminho="/evento/ingestao", consulta=b"", cabecalhos=cabecalhos, corpo=cru
    )
    if not desistiu:
        return Pedido(chegada)
    laco = asyncio.new_event_loop()
    espera = laco.create_future()
    espera.cancel()
    laco.close()
    return Pedido(chegada, espera)


def lote(aplicativo: Aplicativo, *eventos: dict[str, Any], sessao: str = "s-1") -> dict[str, Any]:
    return {"chave": aplicativo.chave, "sessao": {"sessao_externa": sessao}, "eventos": list(eventos)}


def status(respostas: Sequence[Resposta]) -> list[tuple[int, str | None]]:
    return [(r.status, orjson.loads(r.corpo).get("codigo")) for r in respostas]


@pytest.fixture
def contar_insercoes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Os INSERT na caixa que foram ao banco."""
    vistos: list[str] = []
    original = psycopg.Cursor.execute

    def contar(cursor: Any, sql: Any, *args: Any, **kwargs: Any) -> Any:
        if "INSERT INTO ingestao_lote" in str(sql):
            vistos.append(str(sql))
        return original(cursor, sql, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", contar)
    return vistos


def test_aceitos_e_recusados_do_mesmo_grupo_vao_num_insert_so_e_cada_um_ouve_o_seu(
    aplicativo: Aplicativo, contar_insercoes: list[str]
) -> None:
    respostas = atender(
        [
            pedido(lote(aplicativo, evento(), evento(tipo="NADA"))),
            pedido(b"{torto"),
            pedido(lote(aplicativo, evento()), origem="https://alheia.com"),
            pedido({"chave": "pk_live_ninguem", "sessao": {}, "eventos": [evento()]}),
            pedido(lote(aplicativo, evento(), evento(), sessao="s-2")),
            pedido(lote(aplicativo)),
        ]
    )
    assert status(respostas) == [
        (202, None),
        (400, "json_invalido"),
        (403, "origem_nao_autorizada"),
        (401, "chave_desconhecida"),
        (202, None),
        (202, None),
    ]
    assert [orjson.loads(r.corpo).get("aceitos") for r in respostas] == [1, None, None, None, 2, 0]
    assert len(contar_insercoes) == 1
    assert Lote.objects.count() == 5  # a lista vazia não tem o que gravar
    CAIXA_DE_LOTES.esvaziar()
    assert Evento.objects.count() == 3
    assert sorted(Recusa.objects.values_list("motivo", "quantidade_requisicoes", "quantidade_eventos")) == [
        ("chave_desconhecida", 1, 1),
        ("json_invalido", 1, 0),
        ("origem_nao_autorizada", 1, 1),
        ("tipo_invalido", 0, 1),
    ]


def test_a_ordem_da_caixa_e_a_de_chegada(aplicativo: Aplicativo) -> None:
    atender([pedido(lote(aplicativo, evento(), sessao=f"s-{n:02}")) for n in range(40)])
    conteudos = Lote.objects.order_by("id").values_list("conteudo", flat=True)
    assert [orjson.loads(bytes(c))["sessao"]["sessao_externa"] for c in conteudos] == [
        f"s-{n:02}" for n in range(40)
    ]


def test_o_limite_por_minuto_conta_o_grupo_na_ordem(aplicativo: Aplicativo, settings: Any) -> None:
    settings.LIMITE_POR_MINUTO = 5
    respostas = atender([pedido(lote(aplicativo, *[evento() for _ in range(n)])) for n in (3, 3, 2, 1)])
    assert status(respostas) == [
        (202, None),
        (429, "limite_por_minuto"),
        (202, None),
        (429, "limite_por_minuto"),
    ]
    assert respostas[1].espera_s is not None and 1 <= respostas[1].espera_s <= 60


@pytest.mark.django_db(transaction=True)
def test_o_lote_que_o_banco_recusa_nao_afunda_os_vizinhos(
    aplicativo: Aplicativo, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LIMITE_POR_MINUTO = 12
    with connection.cursor() as cursor:  # um defeito que só o banco vê
        cursor.execute("ALTER TABLE ingestao_lote ADD CONSTRAINT veneno CHECK (peso <> 3)")
    try:
        pesos = (1, 1, 3, 2, 1, 3, 1)
        pedidos = [
            pedido(lote(aplicativo, *[evento() for _ in range(peso)], sessao=f"s-{n}"))
            for n, peso in enumerate(pesos)
        ]
        respostas = atender(pedidos)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE ingestao_lote DROP CONSTRAINT veneno")
    defeito = (500, "erro_interno")
    assert status(respostas) == [(202, None) if peso != 3 else defeito for peso in pesos]
    assert list(Lote.objects.order_by("id").values_list("peso", flat=True)) == [1, 1, 2, 1, 1]
    assert b"veneno" not in respostas[2].corpo and "Failing row" not in caplog.text
    assert status(atender([pedido(lote(aplicativo, *[evento() for _ in range(6)]))])) == [(202, None)], (
        "os recusados devolveram a janela"
    )


def test_banco_fora_e_503_para_o_grupo_inteiro_e_nada_foi_contado(
    aplicativo: Aplicativo, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.LIMITE_POR_MINUTO = 10
    grupo = [
        pedido(lote(aplicativo, *[evento() for _ in range(9)])),
        pedido(b"{torto"),
        pedido(lote(aplicativo, *[evento() for _ in range(9)])),
    ]
    with monkeypatch.context() as remendo:

        def cair(lotes: Any) -> None:
            raise OperationalError("servidor fechou a conexão")

        remendo.setattr(gravacao, "gravar_lotes", cair)
        for _ in range(3):
            respostas = atender(grupo)
            assert status(respostas) == [(503, "armazenamento_indisponivel")] * 3
            assert [r.espera_s for r in respostas] == [5] * 3
    assert not Lote.objects.exists()
    assert [r.status for r in atender(grupo)] == [202, 400, 429]


def test_quem_desistiu_antes_do_commit_nao_e_gravado_nem_contado(
    aplicativo: Aplicativo, settings: Any
) -> None:
    settings.LIMITE_POR_MINUTO = 3
    respostas = atender(
        [
            pedido(lote(aplicativo, evento(), evento()), desistiu=True),
            pedido(b"{torto", desistiu=True),
            pedido(lote(aplicativo, evento())),
        ]
    )
    assert respostas[2].status == 202
    assert Lote.objects.count() == 1
    assert status(atender([pedido(lote(aplicativo, evento(), evento()))])) == [(202, None)], "a vaga voltou"


def test_um_defeito_ao_conferir_e_500_so_para_ele(
    aplicativo: Aplicativo, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = recepcao.ler_eventos

    def ler(crus: list[Any], *resto: Any) -> Any:
        return 1 / 0 if crus[0].get("nome") == "quebra" else original(crus, *resto)

    monkeypatch.setattr(recepcao, "ler_eventos", ler)
    respostas = atender(
        [
            pedido(lote(aplicativo, evento())),
            pedido(lote(aplicativo, evento(nome="quebra"))),
            pedido(lote(aplicativo, evento())),
        ]
    )
    assert status(respostas) == [(202, None), (500, "erro_interno"), (202, None)]
    assert Lote.objects.count() == 2
    assert "ZeroDivisionError" in caplog.text and "ZeroDivisionError" not in respostas[1].corpo.decode()


@pytest.mark.django_db(transaction=True)
def test_nenhum_202_sai_antes_do_commit_do_seu_grupo(aplicativo: Aplicativo) -> None:
    respostas: list[Resposta] = []
    pedidos = [pedido(lote(aplicativo, evento(), sessao=f"s-{n}")) for n in range(5)]

    def atender_noutra_thread() -> None:
        try:
            respostas.extend(atender(pedidos))
        finally:
            connection.close()

    thread = threading.Thread(target=atender_noutra_thread)
    with psycopg.connect(**connection.get_connection_params()) as outra:
        outra.execute("LOCK TABLE ingestao_lote IN SHARE MODE")  # lê-se a caixa; gravar nela espera
        thread.start()
        thread.join(0.3)
        assert (respostas, thread.is_alive()) == ([], True)
        assert outra.execute("SELECT count(*) FROM ingestao_lote").fetchone() == (0,)
    thread.join(20)
    assert [r.status for r in respostas] == [202] * 5
    assert Lote.objects.count() == 5


def gravador(recusa: Callable[[Any], bool], gravadas: list[Any]) -> Callable[[list[Any]], None]:
    """Um banco de mentira que aceita o conjunto inteiro ou o recusa inteiro."""

    def gravar(linhas: list[Any]) -> None:
        if any(recusa(linha) for linha in linhas):
            raise DataError("não aceito")
        gravadas.extend(linhas)

    return gravar


@pytest.mark.parametrize("venenos", [set(), {0}, {6}, {2, 3}, {0, 3, 6}, set(range(7))])
def test_isolar_o_veneno_grava_todos_os_outros_uma_vez_e_na_ordem(venenos: set[int]) -> None:
    itens: list[ItemDoGrupo[int]] = []
    for n in range(7):
        item: ItemDoGrupo[int] = ItemDoGrupo(pedido(b""))
        item.linha, item.resposta = n, Resposta(status=202)
        itens.append(item)
    gravadas: list[int] = []
    assert gravar_juntos(itens, gravador(venenos.__contains__, gravadas)) == 7 - len(venenos)
    assert gravadas == [n for n in range(7) if n not in venenos]
    assert [r.status for r in responder(itens)] == [500 if n in venenos else 202 for n in range(7)]


def test_uma_etapa_que_falha_num_item_nao_o_leva_a_seguinte() -> None:
    itens: list[ItemDoGrupo[int]] = [ItemDoGrupo(pedido(b"%d" % n)) for n in range(3)]
    passaram: list[bytes] = []

    def falhar_no_meio(item: ItemDoGrupo[int]) -> None:
        if item.pedido.chegada.corpo == b"1":
            raise ValueError(item)

    em_cada(itens, falhar_no_meio)
    em_cada(itens, lambda item: passaram.append(item.pedido.chegada.corpo))
    assert passaram == [b"0", b"2"]
    assert isinstance(itens[1].falha, ValueError)
