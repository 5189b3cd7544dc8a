"""O uso somado: o mês de um aplicativo diante da franquia, os doze meses dele, e os dias de todos."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce, TruncMonth
from django.utils import formats, timezone

from ingestao.eventos.cota import periodo_de
from ingestao.models import Uso
from painel.graficos import (
    Grafico,
    Parte,
    Proporcao,
    Rotulo,
    Serie,
    Tom,
    montar_barras,
    montar_proporcao,
    rotular_dias,
)

MESES = 12  # um ano basta para ver a estação e a tendência
DIAS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class UsoDoMes:
    """O uso de um mês civil. `percentual` da franquia atual (None sem franquia)."""

    mes: date
    eventos: int
    recusados: int
    percentual: int | None


def somar_mes_atual() -> Coalesce:
    """Anotação: eventos gravados no mês, por aplicativo. Índice: uso_unico_no_dia."""
    do_mes = Uso.objects.filter(aplicativo=OuterRef("pk"), dia__gte=periodo_de(timezone.localdate()))
    total = do_mes.order_by().values("aplicativo").annotate(total=Sum("quantidade_eventos")).values("total")
    return Coalesce(Subquery(total), 0)


def listar_meses(aplicativo_id: UUID, franquia: int | None, hoje: date) -> list[UsoDoMes]:
    """Os últimos `MESES` meses, do mais antigo ao atual, os vazios também."""
    meses = [_recuar(periodo_de(hoje), quantos) for quantos in range(MESES - 1, -1, -1)]
    somas: dict[date, Mapping[str, Any]] = {
        linha["mes"]: linha
        for linha in Uso.objects.filter(aplicativo=aplicativo_id, dia__gte=meses[0])
        .order_by()
        .annotate(mes=TruncMonth("dia"))
        .values("mes")
        .annotate(eventos=Sum("quantidade_eventos"), recusados=Sum("quantidade_recusados"))
    }
    return [_montar_mes(mes, somas.get(mes, {}), franquia) for mes in meses]


def percentual_de(uso: int, franquia: int | None) -> int | None:
    """O uso em % inteiros da franquia, para baixo (100 só quando acabou); None sem franquia."""
    return uso * 100 // franquia if franquia else None


def _montar_mes(mes: date, soma: Mapping[str, Any], franquia: int | None) -> UsoDoMes:
    eventos = soma.get("eventos", 0)
    return UsoDoMes(
        mes=mes,
        eventos=eventos,
        recusados=soma.get("recusados", 0),
        percentual=percentual_de(eventos, franquia),
    )


def _recuar(mes: date, quantos: int) -> date:
    ordinal = mes.year * 12 + mes.month - 1 - quantos
    return date(ordinal // 12, ordinal % 12 + 1, 1)


def desenhar_meses(meses: list[UsoDoMes]) -> Grafico:
    """Os doze meses em barras: o que se gravou e o que se recusou."""
    return montar_barras(
        id="meses",
        titulo="Uso nos últimos doze meses",
        rotulos=[
            Rotulo(curto=f"{uso.mes:%m/%y}", longo=str(formats.date_format(uso.mes, r"F \d\e Y")))
            for uso in meses
        ],
        series=_series([uso.eventos for uso in meses], [uso.recusados for uso in meses]),
        vazio="Nenhum evento em doze meses.",
    )


def desenhar_franquia(mes: UsoDoMes, franquia: int) -> Proporcao:
    """O mês diante da franquia; o que passa dela aparece à parte."""
    dentro = min(mes.eventos, franquia)
    partes = [
        Parte(nome="dentro da franquia", tom=Tom.PETROLEO, valor=dentro),
        Parte(nome="além da franquia", tom=Tom.VERMELHO, valor=mes.eventos - dentro),
    ]
    return montar_proporcao(id="franquia", partes=partes, de=franquia)


def desenhar_dias(aplicativo_id: UUID | None, hoje: date) -> Grafico:
    """Os últimos `DIAS`, de um aplicativo ou de todos. Índices uso_unico_no_dia e uso_por_dia."""
    dias = [hoje - timedelta(days=n) for n in range(DIAS - 1, -1, -1)]
    usos = Uso.objects.filter(dia__gte=dias[0]).order_by()
    if aplicativo_id is not None:
        usos = usos.filter(aplicativo=aplicativo_id)
    somas = {
        dia: (eventos, recusados)
        for dia, eventos, recusados in usos.values("dia")
        .annotate(eventos=Sum("quantidade_eventos"), recusados=Sum("quantidade_recusados"))
        .values_list("dia", "eventos", "recusados")
    }
    gravados, recusados = ([somas.get(dia, (0, 0))[qual] for dia in dias] for qual in (0, 1))
    return montar_barras(
        id="dias",
        titulo="Uso por dia",
        rotulos=rotular_dias(dias),
        series=_series(gravados, recusados),
        vazio="Nenhum evento em trinta dias.",
    )


def _series(gravados: list[int], recusados: list[int]) -> list[Serie]:
    return [
        Serie(nome="gravados", tom=Tom.PETROLEO, valores=gravados),
        Serie(nome="recusados", tom=Tom.VERMELHO, valores=recusados),
    ]
