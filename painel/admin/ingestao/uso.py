"""Uso, recusas e avisos de franquia: quanto entrou, o que não entrou e por quê."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, TruncMonth
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from ingestao.eventos.cota import periodo_de
from ingestao.models import AvisoFranquia, Recusa, Uso
from painel.admin.ficha import mostrar_instante, mostrar_quantidade
from painel.admin.filtros import Filtro, PeriodoEmDias, PorAplicativo
from painel.admin.tabela_grande import ListaComBarra, TabelaGrande

MESES = 12  # um ano basta para ver a estação e a tendência


@dataclass(frozen=True, slots=True, kw_only=True)
class UsoDoMes:
    """O uso de um mês civil. `percentual` da franquia atual (None sem franquia); `altura` de 0 a 100."""

    mes: date
    eventos: int
    recusados: int
    percentual: int | None
    altura: int


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
    maior = max((linha["eventos"] for linha in somas.values()), default=0)
    return [_montar_mes(mes, somas.get(mes, {}), franquia, maior) for mes in meses]


def percentual_de(uso: int, franquia: int | None) -> int | None:
    """O uso em % inteiros da franquia, para baixo (100 só quando acabou); None sem franquia."""
    return uso * 100 // franquia if franquia else None


def _montar_mes(mes: date, soma: Mapping[str, Any], franquia: int | None, maior: int) -> UsoDoMes:
    eventos = soma.get("eventos", 0)
    return UsoDoMes(
        mes=mes,
        eventos=eventos,
        recusados=soma.get("recusados", 0),
        percentual=percentual_de(eventos, franquia),
        altura=-(-eventos * 100 // maior) if maior else 0,
    )


def _recuar(mes: date, quantos: int) -> date:
    ordinal = mes.year * 12 + mes.month - 1 - quantos
    return date(ordinal // 12, ordinal % 12 + 1, 1)


class PorMotivo(Filtro):
    """O motivo, entre os que apareceram no último mês."""

    title = "motivo"
    parameter_name = "motivo"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        desde = timezone.localdate() - timedelta(days=30)
        motivos = Recusa.objects.filter(dia__gte=desde).order_by("motivo").values_list("motivo", flat=True)
        return [(motivo, motivo) for motivo in motivos.distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset if self.value() is None else queryset.filter(motivo=self.value())


class ListaDeContagens(TabelaGrande):
    """Uma linha por dia, sem página própria: tudo o que ela tem está na lista."""

    list_display_links = None
    list_select_related = ("aplicativo",)

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_view_permission(request, obj) and obj is None

    @display(description="dia")
    def no_dia(self, contagem: Uso | Recusa) -> str:
        return f"{contagem.dia:%d/%m/%Y}"


@admin.register(Uso)
class UsoAdmin(ListaDeContagens):
    list_display = ("no_dia", "aplicativo", "eventos", "recusados")
    list_filter = (PorAplicativo, PeriodoEmDias)
    ordering = ("-dia", "aplicativo_id")  # índice uso_por_dia

    @display(description="eventos gravados")
    def eventos(self, uso: Uso) -> str:
        return mostrar_quantidade(uso.quantidade_eventos)

    @display(description="eventos recusados")
    def recusados(self, uso: Uso) -> str:
        return mostrar_quantidade(uso.quantidade_recusados)


@admin.register(Recusa)
class RecusaAdmin(ListaDeContagens):
    list_display = ("no_dia", "de_quem", "motivo", "requisicoes", "eventos")
    list_filter = (PorAplicativo, PeriodoEmDias, PorMotivo)
    ordering = ("-dia", "motivo", "id")  # índice recusa_por_dia

    @display(description="aplicativo")
    def de_quem(self, recusa: Recusa) -> str:
        return recusa.aplicativo.nome if recusa.aplicativo else "desconhecido"

    @display(description="requisições inteiras")
    def requisicoes(self, recusa: Recusa) -> str:
        return mostrar_quantidade(recusa.quantidade_requisicoes)

    @display(description="eventos")
    def eventos(self, recusa: Recusa) -> str:
        return mostrar_quantidade(recusa.quantidade_eventos)


@admin.register(AvisoFranquia)
class AvisoFranquiaAdmin(ListaComBarra):
    list_display = ("periodo_do_aviso", "aplicativo", "alcancou", "uso", "franquia_de", "avisado", "enviado")
    list_display_links = None
    list_select_related = ("aplicativo",)
    list_filter = (PorAplicativo,)
    ordering = ("-criado_em", "-id")  # no máximo duas linhas por aplicativo e mês: não pede índice

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_view_permission(request, obj) and obj is None

    @display(description="mês")
    def periodo_do_aviso(self, aviso: AvisoFranquia) -> str:
        return f"{aviso.periodo:%m/%Y}"

    @display(description="alcançou", label={80: "warning", 100: "danger"})
    def alcancou(self, aviso: AvisoFranquia) -> tuple[int, str]:
        return aviso.percentual, f"{aviso.percentual}% da franquia"

    @display(description="uso")
    def uso(self, aviso: AvisoFranquia) -> str:
        return mostrar_quantidade(aviso.quantidade)

    @display(description="franquia")
    def franquia_de(self, aviso: AvisoFranquia) -> str:
        return mostrar_quantidade(aviso.franquia)

    @display(description="avisado em")
    def avisado(self, aviso: AvisoFranquia) -> str:
        return mostrar_instante(aviso.criado_em)

    @display(description="e-mail")
    def enviado(self, aviso: AvisoFranquia) -> str:
        if aviso.enviado_em:
            return mostrar_instante(aviso.enviado_em)
        return "a enviar" if aviso.aplicativo.emails_de_aviso else "só no painel"
