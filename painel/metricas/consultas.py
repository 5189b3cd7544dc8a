"""Os números de `/metricas` que estão no banco. Cada consulta anda por um índice ou para num teto."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Min, Sum

from dlr.models import Mensagem, Projecao, RecusaDeCallback, Verificacao
from ingestao.eventos.cota import periodo_de
from ingestao.models import Erro, EstadoDoErro, Recusa, RecusaDeCaptura, Uso
from painel.models import Aviso, EntregaDeAviso

LINHAS_CONTADAS = 20_000  # até aqui a distribuição de uma coluna é contada; daí em diante, estimada
APLICATIVOS_COM_FRANQUIA = 500

# A estimativa do planejador: quantas linhas há, e que fração tem cada valor. O ANALYZE (autovacuum) as renova.
SQL_TAMANHO = "SELECT reltuples::bigint FROM pg_class WHERE oid = %(tabela)s::regclass"
SQL_FRACOES = """
    SELECT valor, fracao
    FROM pg_stats, unnest(most_common_vals::text::text[], most_common_freqs) AS comum(valor, fracao)
    WHERE schemaname = current_schema() AND tablename = %(tabela)s AND attname = %(coluna)s
    UNION ALL
    SELECT NULL, null_frac FROM pg_stats
    WHERE schemaname = current_schema() AND tablename = %(tabela)s AND attname = %(coluna)s
"""
SQL_CONTAR = """
    SELECT {coluna}::text, count(*) FROM (SELECT {coluna} FROM {tabela} LIMIT %(teto)s) AS t GROUP BY 1
"""
# Índice: uso_unico_no_dia.
SQL_FRANQUIAS = """
    SELECT a.id, a.nome, a.franquia, COALESCE(sum(u.quantidade_eventos), 0)
    FROM ingestao_aplicativo a
    LEFT JOIN ingestao_uso u ON u.aplicativo_id = a.id AND u.dia >= %(periodo)s
    WHERE a.franquia IS NOT NULL AND NOT a.deletado
    GROUP BY a.id ORDER BY a.nome, a.id LIMIT %(teto)s
"""


def somar_uso(hoje: date) -> tuple[int, int]:
    """Eventos gravados e recusados hoje, de todos os aplicativos. Índice: uso_por_dia."""
    soma = Uso.objects.filter(dia=hoje).aggregate(
        gravados=Sum("quantidade_eventos"), recusados=Sum("quantidade_recusados")
    )
    return soma["gravados"] or 0, soma["recusados"] or 0


def somar_recusas(hoje: date) -> dict[str, dict[str, int]]:
    """Fluxo → motivo → quantas chamadas recusadas hoje. Índices: recusa_por_dia e as únicas dos outros dois."""
    somas = {
        "evento": Recusa.objects.filter(dia=hoje)
        .values_list("motivo")
        .annotate(Sum("quantidade_requisicoes")),
        "dlr": RecusaDeCallback.objects.filter(dia=hoje).values_list("motivo").annotate(Sum("quantidade")),
        "captura": RecusaDeCaptura.objects.filter(dia=hoje).values_list("motivo").annotate(Sum("quantidade")),
    }
    return {fluxo: dict(soma.order_by("motivo")) for fluxo, soma in somas.items()}


def contar_mensagens() -> dict[tuple[str, str], int]:
    """(dimensão, estado) → mensagens: `aceite`, `relatado` (o estado do DLR) e `verificado`, que não se misturam.

    Contadas até `LINHAS_CONTADAS`; numa tabela maior, estimadas pelas estatísticas do planejador.
    """
    aceites = _distribuir(Mensagem._meta.db_table, "aceita")
    relatados = _distribuir(Projecao._meta.db_table, "estado")
    nomes = {"true": "sim", "false": "nao", "t": "sim", "f": "nao", None: "desconhecido"}
    return {
        **{("aceite", nomes[valor]): quantas for valor, quantas in aceites.items()},
        **{("relatado", valor or "sem_recibo"): quantas for valor, quantas in relatados.items()},
        ("verificado", "provas"): _contar_linhas(Verificacao._meta.db_table),
    }


def _distribuir(tabela: str, coluna: str) -> dict[str | None, int]:
    """Valor → quantas linhas, contadas ou estimadas."""
    with connection.cursor() as cursor:
        total = _tamanho(cursor, tabela)
        if total <= LINHAS_CONTADAS:
            cursor.execute(SQL_CONTAR.format(tabela=tabela, coluna=coluna), {"teto": LINHAS_CONTADAS})
            return dict(cursor.fetchall())
        cursor.execute(SQL_FRACOES, {"tabela": tabela, "coluna": coluna})
        return {valor: round(total * fracao) for valor, fracao in cursor.fetchall() if fracao}


def _contar_linhas(tabela: str) -> int:
    with connection.cursor() as cursor:
        total = _tamanho(cursor, tabela)
        if total > LINHAS_CONTADAS:
            return total
        cursor.execute(f"SELECT count(*) FROM (SELECT 1 FROM {tabela} LIMIT %s) AS t", [LINHAS_CONTADAS])
        return int(cursor.fetchone()[0])


def _tamanho(cursor: Any, tabela: str) -> int:
    cursor.execute(SQL_TAMANHO, {"tabela": tabela})
    return int(cursor.fetchone()[0])


def contar_regressoes() -> int:
    """Erros que regrediram e ninguém triou. Índice: erro_que_regrediu."""
    return Erro.objects.filter(regrediu_em__isnull=False, estado=EstadoDoErro.ABERTO).count()


def listar_franquias(hoje: date) -> Sequence[tuple[Any, str, int, int]]:
    """(id, nome, franquia, uso do mês) dos aplicativos com franquia."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_FRANQUIAS, {"periodo": periodo_de(hoje), "teto": APLICATIVOS_COM_FRANQUIA})
        return cursor.fetchall()


def contar_avisos() -> dict[str, int]:
    """Avisos abertos por tipo. Índice: aviso_aberto_unico."""
    abertos = Aviso.objects.filter(resolvido_em=None).order_by()
    return dict(abertos.values_list("tipo").annotate(Count("pk")))


def medir_entregas(agora: datetime) -> tuple[int, float, int]:
    """Entregas pendentes, há quantos segundos espera a que já devia ter saído, e as desistidas em 24 h."""
    pendentes = EntregaDeAviso.objects.filter(situacao=EntregaDeAviso.Situacao.PENDENTE)
    vencida_em = pendentes.filter(disponivel_em__lte=agora).aggregate(desde=Min("disponivel_em"))["desde"]
    atraso_s = (agora - vencida_em).total_seconds() if vencida_em else 0.0
    recentes = EntregaDeAviso.objects.filter(criada_em__gte=agora - timedelta(days=1))
    desistidas = recentes.filter(situacao=EntregaDeAviso.Situacao.DESISTIDA).count()
    return pendentes.count(), atraso_s, desistidas
