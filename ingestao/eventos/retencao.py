"""Retenção: apaga de verdade o que passou de trinta dias, em pedaços, sem atrapalhar a ingestão.

Uma execução por vez: cada pedaço pega uma trava consultiva da transação; quem não a consegue sai de
cena (a trava de transação funciona também atrás do PgBouncer, a de sessão não).
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

registro = logging.getLogger("lastro.retencao")

RETENCAO = timedelta(days=30)  # contrato da ingestão, retenção
LINHAS_POR_PEDACO = 2_000  # ~30 ms de travas e de WAL por transação
PAUSA_S = 0.02  # entre pedaços: a ingestão tem a vez
TRAVA = 0x1A57_0001  # identificador da trava consultiva

SQL_TRAVAR = "SELECT pg_try_advisory_xact_lock(%(trava)s)"

# As sessões vencidas primeiro, e os eventos delas junto. Uma sessão pode ter um milhão de eventos: o
# pedaço apaga até `limite` deles, e as sessões só quando não sobrou nenhum. FOR UPDATE reavalia a
# condição: a sessão que acabou de receber atividade fica. Índices: sessao_por_atividade, evento_da_sessao.
SQL_SESSOES = """
    WITH vencida AS MATERIALIZED (
        SELECT id FROM ingestao_sessao WHERE ultima_atividade_em < %(corte)s
        ORDER BY ultima_atividade_em, id LIMIT 200 FOR UPDATE SKIP LOCKED
    ), alvo AS MATERIALIZED (
        SELECT e.id FROM ingestao_evento e JOIN vencida v ON e.sessao_id = v.id LIMIT %(limite)s
    ), evento_apagado AS (
        DELETE FROM ingestao_evento e USING alvo WHERE e.id = alvo.id RETURNING e.id
    ), sessao_apagada AS (
        DELETE FROM ingestao_sessao s USING vencida
        WHERE s.id = vencida.id AND (SELECT count(*) FROM alvo) < %(limite)s RETURNING s.id
    )
    SELECT (SELECT count(*) FROM sessao_apagada), (SELECT count(*) FROM evento_apagado), 0
"""
# Índice: evento_por_chegada.
SQL_EVENTOS = """
    WITH alvo AS MATERIALIZED (
        SELECT id FROM ingestao_evento WHERE criado_em < %(corte)s
        ORDER BY criado_em, id LIMIT %(limite)s FOR UPDATE SKIP LOCKED
    ), apagado AS (
        DELETE FROM ingestao_evento e USING alvo WHERE e.id = alvo.id RETURNING e.id
    )
    SELECT 0, count(*), 0 FROM apagado
"""
# Índice: erro_por_ocorrencia.
SQL_ERROS = """
    WITH alvo AS MATERIALIZED (
        SELECT id FROM ingestao_erro WHERE ultima_ocorrencia_em < %(corte)s
        ORDER BY ultima_ocorrencia_em, id LIMIT %(limite)s FOR UPDATE SKIP LOCKED
    ), apagado AS (
        DELETE FROM ingestao_erro e USING alvo WHERE e.id = alvo.id RETURNING e.id
    ), trilha_apagada AS (
        DELETE FROM ingestao_acaodeerro a USING alvo WHERE a.erro_id = alvo.id
    )
    SELECT 0, 0, count(*) FROM apagado
"""
PASSOS = (("sessões vencidas", SQL_SESSOES), ("eventos", SQL_EVENTOS), ("erros", SQL_ERROS))


class OutraExecucao(Exception):
    """Já há uma retenção em curso."""


@dataclass(slots=True)
class Expurgo:
    """Quantas linhas saíram. `completo` é falso quando outra execução tinha a vez."""

    sessoes: int = 0
    eventos: int = 0
    erros: int = 0
    completo: bool = True


def expurgar(
    agora: datetime | None = None, *, progresso: Callable[[str, int], None] = lambda passo, total: None
) -> Expurgo:
    """Apaga o que passou de `RETENCAO` contada de `agora`; devolve quantas linhas saíram.

    `progresso(passo, total)` é chamado a cada pedaço. `uso` e `recusa` não passam por retenção.
    """
    corte = (agora or timezone.now()) - RETENCAO
    expurgo = Expurgo()
    try:
        for passo, sql in PASSOS:
            feito = 0
            while quantas := _apagar_pedaco(sql, corte, expurgo):
                feito += quantas
                progresso(passo, feito)
                time.sleep(PAUSA_S)
    except OutraExecucao:
        expurgo.completo = False
    registro.info(
        "retencao: sessoes=%d eventos=%d erros=%d completo=%s",
        expurgo.sessoes,
        expurgo.eventos,
        expurgo.erros,
        expurgo.completo,
    )
    return expurgo


def _apagar_pedaco(sql: str, corte: datetime, expurgo: Expurgo) -> int:
    """Um pedaço, numa transação; soma ao expurgo e devolve quantas linhas saíram."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(SQL_TRAVAR, {"trava": TRAVA})
        if not cursor.fetchone()[0]:
            raise OutraExecucao
        cursor.execute(sql, {"corte": corte, "limite": LINHAS_POR_PEDACO})
        sessoes, eventos, erros = cursor.fetchone()
    expurgo.sessoes += sessoes
    expurgo.eventos += eventos
    expurgo.erros += erros
    return sessoes + eventos + erros
