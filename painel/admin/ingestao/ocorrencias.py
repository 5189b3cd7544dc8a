"""As ocorrências de um erro: quantas por dia, e em que sessões."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from ingestao.models import Evento, Sessao

DIAS = 30  # a retenção: antes disto não há ocorrências
POR_DIA = 10_000  # um erro pode ter milhões: trinta dias destes são ~60 ms pelo índice
OLHADAS = 1_000  # ocorrências recentes de que se contam as sessões
SESSOES_MOSTRADAS = 10

# Índice evento_do_erro, um trecho por dia; cada trecho para em `teto`.
SQL_POR_DIA = """
    SELECT d.dia, (
        SELECT count(*) FROM (
            SELECT 1 FROM ingestao_evento
            WHERE erro_id = %(erro)s AND criado_em >= d.comeca AND criado_em < d.acaba LIMIT %(teto)s
        ) AS do_dia
    )
    FROM unnest(%(dias)s::date[], %(comecos)s::timestamptz[], %(fins)s::timestamptz[]) AS d(dia, comeca, acaba)
    ORDER BY d.dia
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessaoAfetada:
    """Uma sessão em que o erro apareceu, quantas vezes entre as olhadas, e quem estava nela."""

    id: int
    quem: str
    vezes: int
    ultima_em: datetime


def contar_por_dia(erro_id: UUID, hoje: date) -> list[tuple[date, int]]:
    """(dia, ocorrências) dos últimos `DIAS`, por hora de chegada, no fuso do servidor; até `POR_DIA` + 1."""
    dias = [hoje - timedelta(days=n) for n in range(DIAS - 1, -1, -1)]
    parametros: dict[str, Any] = {
        "erro": erro_id,
        "teto": POR_DIA + 1,
        "dias": dias,
        "comecos": [_meia_noite(dia) for dia in dias],
        "fins": [_meia_noite(dia + timedelta(days=1)) for dia in dias],
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL_POR_DIA, parametros)
        return list(cursor.fetchall())


def listar_sessoes(erro_id: UUID) -> tuple[list[SessaoAfetada], int, int]:
    """As sessões das `OLHADAS` ocorrências mais recentes: as primeiras, quantas são, e quantas se olharam."""
    recentes = (
        Evento.objects.filter(erro_id=erro_id)  # índice evento_do_erro, de trás para a frente
        .order_by("-criado_em", "-id")
        .values_list("sessao_id", "criado_em")[:OLHADAS]
    )
    vezes: dict[int, int] = {}
    ultima: dict[int, datetime] = {}
    for sessao_id, criado_em in recentes:
        vezes[sessao_id] = vezes.get(sessao_id, 0) + 1
        ultima.setdefault(sessao_id, criado_em)
    mostradas = list(vezes)[:SESSOES_MOSTRADAS]
    sessoes = Sessao.objects.only("usuario_id", "anonimo_id").in_bulk(mostradas)
    afetadas = [
        SessaoAfetada(id=id_, quem=_quem(sessoes.get(id_)), vezes=vezes[id_], ultima_em=ultima[id_])
        for id_ in mostradas
    ]
    return afetadas, len(vezes), sum(vezes.values())


def _quem(sessao: Sessao | None) -> str:
    if sessao is None:
        return "já passou da retenção"
    return sessao.usuario_id or sessao.anonimo_id or "sem identificação"


def _meia_noite(dia: date) -> datetime:
    return timezone.make_aware(datetime.combine(dia, time.min))
