"""Erros que apareceram hoje e erros resolvidos que voltaram: o que o suporte olha primeiro."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from ingestao.models import Erro, EstadoDoErro
from painel.admin.ficha import mostrar_espera
from painel.admin.recentes import JANELA_RECENTE
from painel.admin.tabela_grande import CONTAGEM_MAXIMA
from painel.admin.texto_alheio import resumir
from painel.inicio.visao import Visao

LISTADOS = 6  # de cada: a altura das filas e da franquia, ao lado

# Um erro novo também ocorreu há pouco: está entre os últimos do índice erro_por_ocorrencia, na janela do filtro da
# lista. O outro índice é erro_que_regrediu.
SQL_CONTAR = """
    SELECT
        (SELECT count(*) FROM (
            SELECT primeira_ocorrencia_em, estado FROM ingestao_erro
            ORDER BY ultima_ocorrencia_em DESC LIMIT %(janela)s + 1
        ) AS n WHERE primeira_ocorrencia_em >= %(desde)s AND estado = 'aberto'),
        (SELECT count(*) FROM (SELECT 1 FROM ingestao_erro
            WHERE regrediu_em IS NOT NULL AND estado = 'aberto' LIMIT %(teto)s) AS r)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erros:
    """Abertos novos (24 h) e regredidos: quantos (até `CONTAGEM_MAXIMA` + 1) e os mais recentes."""

    qtd_novos: int
    qtd_regredidos: int
    novos: list[Erro]
    regredidos: list[Erro]


def buscar_erros(agora: datetime) -> Erros:
    """Três idas ao banco."""
    desde = agora - timedelta(hours=24)
    with connection.cursor() as cursor:
        cursor.execute(SQL_CONTAR, {"desde": desde, "janela": JANELA_RECENTE, "teto": CONTAGEM_MAXIMA + 1})
        qtd_novos, qtd_regredidos = cursor.fetchone()
    abertos = Erro.objects.filter(estado=EstadoDoErro.ABERTO).select_related("aplicativo")
    novos = abertos.filter(ultima_ocorrencia_em__gte=desde, primeira_ocorrencia_em__gte=desde)
    return Erros(
        qtd_novos=qtd_novos,
        qtd_regredidos=qtd_regredidos,
        novos=_primeiros(novos.order_by("-ultima_ocorrencia_em", "-id")),
        regredidos=_primeiros(abertos.filter(regrediu_em__isnull=False).order_by("-regrediu_em")),
    )


def _primeiros(erros: QuerySet[Erro]) -> list[Erro]:
    return list(erros[:LISTADOS])


def montar_erros(erros: Erros, visao: Visao, agora: datetime) -> dict[str, Any]:
    """Os dois grupos, com o título de cada erro inerte e o link da sua página."""
    grupos = (
        (
            "Voltaram depois de resolvidos",
            "replay",
            erros.qtd_regredidos,
            erros.regredidos,
            {"estado": "regrediu"},
        ),
        ("Novos em 24 h", "fiber_new", erros.qtd_novos, erros.novos, {"novidade": "24h", "estado": "aberto"}),
    )
    return {
        "grupos": [
            {
                "nome": nome,
                "icone": icone,
                "quantos": quantos,
                "url": visao.lista(Erro, **filtros),
                "erros": [
                    {
                        "titulo": resumir(erro.titulo, 80),
                        "url": visao.pagina(Erro, erro.pk),
                        "aplicativo": resumir(erro.aplicativo.nome, 40),
                        "quando": mostrar_espera(erro.regrediu_em or erro.primeira_ocorrencia_em, agora),
                        "ocorrencias": erro.quantidade,
                    }
                    for erro in lista
                ],
            }
            for nome, icone, quantos, lista, filtros in grupos
        ]
    }
