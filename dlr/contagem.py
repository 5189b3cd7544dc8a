"""As contagens das telas: recepções por minuto e por dia, na transação que aplica, e o expurgo dos minutos."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta

import orjson
from django.utils import timezone

from config.banco.cursor import cursor_direto
from config.banco.expurgo import apagar_em_pedacos

RETENCAO = timedelta(hours=48)
LINHAS_POR_PEDACO = 5_000

# A última coisa da transação que aplica: a linha do minuto é de todos os workers da integração, e só fica travada
# até o COMMIT logo a seguir. Índices: recepcao_unica_no_minuto, recepcao_unica_no_dia.
SQL_SOMAR_MINUTOS = """
    INSERT INTO dlr_recepcaoporminuto AS m (minuto, integracao_id, motivo, quantidade)
    SELECT minuto, integracao_id, '', quantidade
    FROM json_to_recordset(%(linhas)s::json) AS r(minuto timestamptz, integracao_id bigint, quantidade bigint)
    ORDER BY minuto, integracao_id
    ON CONFLICT (minuto, integracao_id, motivo) DO UPDATE SET quantidade = m.quantidade + excluded.quantidade
"""
SQL_SOMAR_DIAS = """
    INSERT INTO dlr_recepcaopordia AS d (dia, integracao_id, quantidade)
    SELECT dia, integracao_id, quantidade
    FROM json_to_recordset(%(linhas)s::json) AS r(dia date, integracao_id bigint, quantidade bigint)
    ORDER BY dia, integracao_id
    ON CONFLICT (dia, integracao_id) DO UPDATE SET quantidade = d.quantidade + excluded.quantidade
"""
# SKIP LOCKED: uma recepção velha, reexecutada, pode estar somando num minuto vencido.
SQL_EXPURGAR = """
    DELETE FROM dlr_recepcaoporminuto WHERE id IN (
        SELECT id FROM dlr_recepcaoporminuto WHERE minuto < %(corte)s
        ORDER BY minuto LIMIT %(limite)s FOR UPDATE SKIP LOCKED
    )
"""


def somar_recepcoes(recepcoes: Iterable[tuple[int, datetime]]) -> None:
    """Soma `(integracao_id, recebida_em)` de recepções aplicadas. Chame na transação que apaga os pendentes."""
    por_minuto = Counter((em.replace(second=0, microsecond=0), integracao) for integracao, em in recepcoes)
    por_dia: Counter[tuple[date, int]] = Counter()
    for (minuto, integracao), quantas in por_minuto.items():
        por_dia[timezone.localtime(minuto).date(), integracao] += quantas
    minutos = [{"minuto": m, "integracao_id": i, "quantidade": n} for (m, i), n in por_minuto.items()]
    dias = [{"dia": d, "integracao_id": i, "quantidade": n} for (d, i), n in por_dia.items()]
    with cursor_direto() as cursor:
        cursor.execute(SQL_SOMAR_MINUTOS, {"linhas": orjson.dumps(minutos).decode()}, prepare=True)
        cursor.execute(SQL_SOMAR_DIAS, {"linhas": orjson.dumps(dias).decode()}, prepare=True)


def expurgar_minutos(agora: datetime) -> int:
    """Apaga os minutos vencidos, em pedaços; devolve quantas linhas saíram."""
    return apagar_em_pedacos(SQL_EXPURGAR, {"corte": agora - RETENCAO}, por_vez=LINHAS_POR_PEDACO)
