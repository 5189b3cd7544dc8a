"""Números por integração que param num teto: contar tudo custaria a tabela inteira."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

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

# Índice: excecao_por_situacao, das mais novas; o teto limita o que se lê, não os grupos.
SQL_EXCECOES_ABERTAS = """
    SELECT integracao_id, tipo, count(*) AS quantas, min(aberta_em) FROM (
        SELECT integracao_id, tipo, aberta_em FROM dlr_excecao
        WHERE situacao = 'aberta' ORDER BY aberta_em DESC LIMIT %(teto)s
    ) AS aberta GROUP BY integracao_id, tipo ORDER BY quantas DESC, tipo, integracao_id
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Iguais:
    """As exceções abertas de um tipo numa integração: quantas, e desde quando a mais antiga espera."""

    integracao_id: int
    tipo: str
    quantas: int
    mais_antiga_em: datetime


def agrupar_excecoes_abertas() -> tuple[list[Iguais], bool]:
    """As abertas por tipo e integração, das mais numerosas, e se havia mais que `EXCECOES_CONTADAS`."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_EXCECOES_ABERTAS, {"teto": EXCECOES_CONTADAS + 1})
        grupos = [
            Iguais(integracao_id=integracao_id, tipo=tipo, quantas=quantas, mais_antiga_em=desde)
            for integracao_id, tipo, quantas, desde in cursor.fetchall()
        ]
    return grupos, sum(grupo.quantas for grupo in grupos) > EXCECOES_CONTADAS


def contar_excecoes_abertas() -> tuple[dict[int, int], bool]:
    """Exceções abertas por integração, e se havia mais que `EXCECOES_CONTADAS`."""
    grupos, ha_mais = agrupar_excecoes_abertas()
    contagem: dict[int, int] = {}
    for grupo in grupos:
        contagem[grupo.integracao_id] = contagem.get(grupo.integracao_id, 0) + grupo.quantas
    return contagem, ha_mais


def _com_teto(quantas: int, teto: int) -> str:
    return mostrar_quantidade(min(quantas, teto)) + ("+" if quantas > teto else "")
