"""O uso por minuto: somado pelo worker na transação do uso do dia, e apagado dois dias depois.

É só para as telas. Uma linha por (minuto, aplicativo, motivo) e uma ida ao banco por transação, que aplica até
milhares de eventos; a trava de cada linha vem depois da do uso do dia, que já põe os workers em fila.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import orjson

from config.banco.cursor import cursor_direto
from config.banco.expurgo import apagar_em_pedacos

RETENCAO = timedelta(hours=48)  # a última hora, e a mesma hora de ontem para quem chega de manhã
LINHAS_POR_PEDACO = 5_000

# Ordem das travas: depois das recusas (ingestao/eventos/gravacao.py). Índice: uso_unico_no_minuto.
SQL_SOMAR_MINUTOS = """
    INSERT INTO ingestao_usoporminuto AS m (
        minuto, aplicativo_id, motivo, quantidade_requisicoes, quantidade_eventos
    )
    SELECT r.minuto, r.aplicativo_id, r.motivo, r.requisicoes, r.eventos
    FROM json_to_recordset(%(linhas)s::json) AS r(
        minuto timestamptz, aplicativo_id uuid, motivo text, requisicoes bigint, eventos bigint
    )
    ORDER BY r.minuto, r.aplicativo_id, r.motivo COLLATE "C"
    ON CONFLICT (minuto, aplicativo_id, motivo) DO UPDATE SET
        quantidade_requisicoes = m.quantidade_requisicoes + excluded.quantidade_requisicoes,
        quantidade_eventos = m.quantidade_eventos + excluded.quantidade_eventos
"""

# SKIP LOCKED: um lote velho, reexecutado, pode estar somando num minuto vencido. Índice: uso_unico_no_minuto.
SQL_EXPURGAR = """
    DELETE FROM ingestao_usoporminuto WHERE id IN (
        SELECT id FROM ingestao_usoporminuto WHERE minuto < %(corte)s
        ORDER BY minuto LIMIT %(limite)s FOR UPDATE SKIP LOCKED
    )
"""


def somar_minutos(
    gravados: Mapping[tuple[datetime, str], int],
    recusas: Iterable[tuple[datetime, str | None, Mapping[str, list[int]]]],
) -> None:
    """Soma os minutos de uma transação.

    `gravados` é {(recebido_em, aplicativo): eventos que entraram agora}; `recusas`, por lote, {motivo:
    [requisições, eventos]}. Chame na transação que gravou os eventos e apaga os lotes: é o que faz contar uma vez.
    """
    somas: dict[tuple[datetime, str | None, str], list[int]] = {}
    for (recebido_em, aplicativo), quantos in gravados.items():
        somas.setdefault((truncar(recebido_em), aplicativo, ""), [0, 0])[1] += quantos
    for recebido_em, dono, por_motivo in recusas:
        for motivo, (requisicoes, eventos) in por_motivo.items():
            soma = somas.setdefault((truncar(recebido_em), dono, motivo), [0, 0])
            soma[0] += requisicoes
            soma[1] += eventos
    if somas:
        linhas = [
            {"minuto": m, "aplicativo_id": a, "motivo": motivo, "requisicoes": q, "eventos": e}
            for (m, a, motivo), (q, e) in somas.items()
        ]
        with cursor_direto() as cursor:
            cursor.execute(SQL_SOMAR_MINUTOS, {"linhas": orjson.dumps(linhas).decode()}, prepare=True)


def expurgar(agora: datetime) -> int:
    """Apaga os minutos vencidos, em pedaços; devolve quantas linhas saíram."""
    return apagar_em_pedacos(SQL_EXPURGAR, {"corte": agora - RETENCAO}, por_vez=LINHAS_POR_PEDACO)


def truncar(instante: datetime) -> datetime:
    """O minuto a que um instante pertence."""
    return instante.replace(second=0, microsecond=0)
