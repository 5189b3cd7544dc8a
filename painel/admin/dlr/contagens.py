"""Números por integração que param num teto: contar tudo custaria a tabela inteira."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from dlr.models import Excecao, SituacaoDaExcecao
from painel.admin.ficha import mostrar_quantidade

RECEPCOES_CONTADAS = 1_000  # por integração: mil linhas pelo índice são ~1 ms
EXCECOES_CONTADAS = 10_000

# Índice: recepcao_da_integracao, de trás para a frente. O id cresce com a hora.
SQL_RECEPCOES_RECENTES = """
    SELECT i.id, (
        SELECT count(*) FROM (
            SELECT recebida_em FROM dlr_recepcao r WHERE r.integracao_id = i.id ORDER BY r.id DESC LIMIT %(teto)s
        ) AS recente WHERE recente.recebida_em >= %(desde)s
    )
    FROM unnest(%(ids)s::bigint[]) AS i(id)
"""


def contar_recepcoes_do_dia(ids: Sequence[int], agora: datetime) -> dict[int, str]:
    """Recepções das últimas 24 horas por integração, como se mostram: `12`, ou `1.000+` no teto."""
    if not ids:
        return {}
    parametros: dict[str, Any] = {
        "ids": list(ids),
        "desde": agora - timedelta(days=1),
        "teto": RECEPCOES_CONTADAS + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL_RECEPCOES_RECENTES, parametros)
        return {id_: _com_teto(quantas, RECEPCOES_CONTADAS) for id_, quantas in cursor.fetchall()}


def contar_excecoes_abertas() -> tuple[dict[int, int], bool]:
    """Exceções abertas por integração, e se havia mais que `EXCECOES_CONTADAS`. Índice: excecao_por_situacao."""
    abertas = Excecao.objects.filter(situacao=SituacaoDaExcecao.ABERTA).order_by("-aberta_em")
    contagem: dict[int, int] = {}
    lidas = 0
    for integracao_id in abertas.values_list("integracao_id", flat=True)[: EXCECOES_CONTADAS + 1].iterator():
        contagem[integracao_id] = contagem.get(integracao_id, 0) + 1
        lidas += 1
    return contagem, lidas > EXCECOES_CONTADAS


def _com_teto(quantas: int, teto: int) -> str:
    return mostrar_quantidade(min(quantas, teto)) + ("+" if quantas > teto else "")
