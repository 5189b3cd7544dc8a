"""Medidas e recusas das capturas: as contagens por trás dos números delas."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.capturas.medidas import BYTES, DESCARTADOS, LATENCIA_MS, RAZAO_PPM, valor_da_faixa
from ingestao.models import MedidaDeCaptura, RecusaDeCaptura
from painel.admin.ficha import VAZIO, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro, PeriodoEmDias
from painel.admin.ingestao.uso import ListaDeContagens, PorMotivo
from painel.admin.texto_alheio import resumir

DISTRIBUICOES = (LATENCIA_MS, BYTES, RAZAO_PPM)


class Em24Horas(Filtro):
    """As vinte e quatro horas cheias até agora."""

    title = "período"
    parameter_name = "quando"
    template = FICHAS
    tudo = "Tudo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("24h", "24 horas")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        return queryset.filter(hora__gt=timezone.now() - timedelta(hours=24))


class PorMedida(Filtro):
    """A medida, entre as das últimas 24 horas."""

    title = "medida"
    parameter_name = "medida"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        recentes = MedidaDeCaptura.objects.filter(hora__gt=timezone.now() - timedelta(hours=24))
        medidas = recentes.order_by("medida").values_list("medida", flat=True).distinct()
        return [(DESCARTADOS, "todos os descartes"), *((medida, medida) for medida in medidas)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        if self.value() == DESCARTADOS:
            return queryset.filter(medida__startswith=DESCARTADOS)
        return queryset.filter(medida=self.value())


@admin.register(MedidaDeCaptura)
class MedidaDeCapturaAdmin(ListaDeContagens):
    list_display = ("na_hora", "do_aparelho", "qual", "por_volta_de", "quantas")
    list_filter = (Em24Horas, PorMedida)
    list_select_related = ("dispositivo",)
    ordering = ("-hora", "medida", "id")  # índice medida_por_hora

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return obj is None and request.user.has_perm("ingestao.view_captura")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ingestao.view_captura")

    @display(description="Hora")
    def na_hora(self, medida: MedidaDeCaptura) -> str:
        return f"{timezone.localtime(medida.hora):%d/%m/%Y %H}h"

    @display(description="Aparelho")
    def do_aparelho(self, medida: MedidaDeCaptura) -> SafeString | None:
        return resumir(medida.dispositivo.nome, 60)

    @display(description="Medida")
    def qual(self, medida: MedidaDeCaptura) -> SafeString | None:
        return resumir(medida.medida, 60)

    @display(description="Por volta de")
    def por_volta_de(self, medida: MedidaDeCaptura) -> str:
        if medida.medida not in DISTRIBUICOES:
            return VAZIO
        return mostrar_quantidade(round(valor_da_faixa(medida.faixa)))

    @display(description="Quantas")
    def quantas(self, medida: MedidaDeCaptura) -> str:
        return mostrar_quantidade(medida.quantidade)


class PorMotivoDaCaptura(PorMotivo):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        desde = timezone.localdate() - timedelta(days=30)
        motivos = RecusaDeCaptura.objects.filter(dia__gte=desde).order_by("motivo")
        return [(motivo, motivo) for motivo in motivos.values_list("motivo", flat=True).distinct()]


@admin.register(RecusaDeCaptura)
class RecusaDeCapturaAdmin(ListaDeContagens):
    list_display = ("no_dia", "do_aparelho", "motivo", "quantas")
    list_filter = (PeriodoEmDias, PorMotivoDaCaptura)
    list_select_related = ("dispositivo",)
    ordering = ("-dia", "motivo", "id")  # poucas linhas por dia: aparelhos vezes motivos

    @display(description="Aparelho")
    def do_aparelho(self, recusa: RecusaDeCaptura) -> SafeString | str | None:
        return resumir(recusa.dispositivo.nome, 60) if recusa.dispositivo else "desconhecido"

    @display(description="Chamadas")
    def quantas(self, recusa: RecusaDeCaptura) -> str:
        return mostrar_quantidade(recusa.quantidade)
