"""Retenção: o que sai, o que fica, e quem não é atropelado."""

import threading
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.settings import CELERY_BEAT_SCHEDULE
from ingestao.eventos import retencao
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Erro, Evento, Recusa, Sessao, Uso
from tests.ingestao.conftest import evento

AGORA = datetime.fromisoformat("2026-11-30T12:00:00+00:00")


def dias(n: float) -> datetime:
    return AGORA - timedelta(days=n)


@pytest.fixture(autouse=True)
def sem_pausa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retencao, "PAUSA_S", 0)


def criar_sessao(aplicativo: Aplicativo, nome: str, ativa_em: datetime) -> Sessao:
    return Sessao.objects.create(
        aplicativo=aplicativo,
        sessao_externa=nome,
        primeira_atividade_em=ativa_em,
        ultima_atividade_em=ativa_em,
        criado_em=ativa_em,
    )


def criar_eventos(sessao: Sessao, quantos: int, criado_em: datetime) -> None:
    Evento.objects.bulk_create(
        Evento(
            id=uuid.uuid4(),
            aplicativo_id=sessao.aplicativo_id,
            sessao=sessao,
            evento_id=str(n),
            tipo="CLIQUE",
            ocorrido_em=criado_em,
            criado_em=criado_em,
        )
        for n in range(quantos)
    )


def test_apaga_o_que_passou_de_trinta_dias_e_so_isso(aplicativo: Aplicativo) -> None:
    velha = criar_sessao(aplicativo, "velha", dias(30.1))
    criar_eventos(velha, 3, dias(2))  # caem com a sessão, ainda que novos
    viva = criar_sessao(aplicativo, "viva", dias(1))
    criar_eventos(viva, 2, dias(31))  # caem pela própria idade
    criar_eventos(viva, 4, dias(29.9))
    for nome, quando in (("velho", dias(30.1)), ("novo", dias(29.9))):
        Erro.objects.create(
            id=uuid.uuid4(), aplicativo=aplicativo, impressao=nome, versao=1, tipo="ERRO_JS", titulo=nome,
            primeira_ocorrencia_em=dias(90), ultima_ocorrencia_em=quando,
        )  # fmt: skip
    Uso.objects.create(aplicativo=aplicativo, dia=dias(400).date(), quantidade_eventos=7)
    Recusa.objects.create(aplicativo=aplicativo, dia=dias(400).date(), motivo="x", quantidade_eventos=7)

    expurgo = retencao.expurgar(AGORA)

    assert (expurgo.sessoes, expurgo.eventos, expurgo.erros, expurgo.completo) == (1, 5, 1, True)
    assert list(Sessao.objects.values_list("sessao_externa", flat=True)) == ["viva"]
    assert Evento.objects.count() == 4
    assert list(Erro.objects.values_list("titulo", flat=True)) == ["novo"]
    assert Uso.objects.count() == Recusa.objects.count() == 1
    assert retencao.expurgar(AGORA) == retencao.Expurgo()


def test_trabalha_em_pedacos_limitados_e_mostra_progresso(
    aplicativo: Aplicativo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retencao, "LINHAS_POR_PEDACO", 10)
    enorme = criar_sessao(aplicativo, "enorme", dias(40))
    criar_eventos(enorme, 35, dias(40))
    for n in range(3):
        criar_sessao(aplicativo, f"vazia {n}", dias(40))
    progresso: list[tuple[str, int]] = []
    expurgo = retencao.expurgar(AGORA, progresso=lambda *passo: progresso.append(passo))
    assert (expurgo.sessoes, expurgo.eventos) == (4, 35)
    assert progresso == [("sessões vencidas", n) for n in (10, 20, 30, 39)]


@pytest.mark.django_db(transaction=True)
def test_nunca_duas_ao_mesmo_tempo() -> None:
    aplicativo = Aplicativo.objects.create(nome="x", dominios=["x.com"])
    criar_sessao(aplicativo, "velha", dias(40))
    resultado: list[retencao.Expurgo] = []

    def outra() -> None:
        try:
            resultado.append(retencao.expurgar(AGORA))
        finally:
            connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(retencao.SQL_TRAVAR, {"trava": retencao.TRAVA})
        assert cursor.fetchone() == (True,)
        thread = threading.Thread(target=outra)
        thread.start()
        thread.join(10)
    assert [(e.completo, e.sessoes) for e in resultado] == [(False, 0)]
    assert retencao.expurgar(AGORA).sessoes == 1


@pytest.mark.django_db(transaction=True)
def test_sessao_que_volta_a_ter_atividade_durante_a_retencao_fica_inteira(client: Any) -> None:
    """O worker e a retenção disputam a mesma sessão vencida, dezenas de vezes: contadores iguais às linhas."""
    aplicativo = Aplicativo.objects.create(nome="x", dominios=["exemplo.com.br"])
    corpo = {"chave": aplicativo.chave, "sessao": {"sessao_externa": "s"}}
    parar = threading.Event()

    def expurgar_sempre() -> None:
        try:
            while not parar.is_set():
                retencao.expurgar()
        finally:
            connection.close()

    thread = threading.Thread(target=expurgar_sempre)
    thread.start()
    try:
        for _ in range(40):
            Sessao.objects.update(ultima_atividade_em=timezone.now() - timedelta(days=40))
            resposta = client.post(
                "/evento/ingestao",
                {**corpo, "eventos": [evento()]},
                content_type="application/json",
                headers={"origin": "https://exemplo.com.br"},
            )
            assert resposta.status_code == 202
            balanco = CAIXA_DE_LOTES.esvaziar()
            assert (balanco.adiados, balanco.estacionados) == (0, 0)
    finally:
        parar.set()
        thread.join(20)
    assert Sessao.objects.get().quantidade_eventos == Evento.objects.count() >= 1
    assert Uso.objects.get().quantidade_eventos == 40


def test_beat_expurga_de_hora_em_hora_e_nao_guarda_agenda_em_disco() -> None:
    # O agendador em memória conta do início do beat: a primeira vez é uma hora depois do boot.
    agenda = CELERY_BEAT_SCHEDULE["expurgar"]
    assert (agenda["task"], agenda["schedule"]) == ("ingestao.tasks.expurgar", 3600.0)


def test_cada_passo_usa_o_indice_que_diz(aplicativo: Aplicativo) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        for (_, sql), indice in zip(
            retencao.PASSOS,
            ("sessao_por_atividade", "evento_por_chegada", "erro_por_ocorrencia"),
            strict=True,
        ):
            cursor.execute("EXPLAIN " + sql, {"corte": AGORA, "limite": 10})
            assert indice in "\n".join(linha[0] for linha in cursor.fetchall())
