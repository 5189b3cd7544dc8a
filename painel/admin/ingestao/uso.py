"""Uso, recusas e avisos de franquia: quanto entrou, o que não entrou e por quê."""

from datetime import timedelta

from django.contrib import admin
from django.contrib.admin.options import ModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from ingestao.models import AvisoFranquia, Recusa, Uso
from painel.admin.ficha import mostrar_instante, mostrar_quantidade
from painel.admin.filtros import Filtro, PeriodoEmDias, PorAplicativo, ler_uuid
from painel.admin.ingestao.consumo import desenhar_dias
from painel.admin.tabela_grande import ListaComBarra, TabelaGrande


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

    @display(description="Dia")
    def no_dia(self, contagem: Uso | Recusa) -> str:
        return f"{contagem.dia:%d/%m/%Y}"


@admin.register(Uso)
class UsoAdmin(ListaDeContagens):
    list_display = ("no_dia", "aplicativo", "eventos", "recusados")
    list_filter = (PorAplicativo, PeriodoEmDias)
    ordering = ("-dia", "aplicativo_id")  # índice uso_por_dia

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Sobre a lista, o gráfico do aplicativo escolhido, ou de todos."""
        lista = super().get_changelist_instance(request)
        lista.grafico = desenhar_dias(ler_uuid(request.GET.get("aplicativo")), timezone.localdate())
        return lista

    @display(description="Eventos gravados")
    def eventos(self, uso: Uso) -> str:
        return mostrar_quantidade(uso.quantidade_eventos)

    @display(description="Eventos recusados")
    def recusados(self, uso: Uso) -> str:
        return mostrar_quantidade(uso.quantidade_recusados)


@admin.register(Recusa)
class RecusaAdmin(ListaDeContagens):
    list_display = ("no_dia", "de_quem", "motivo", "requisicoes", "eventos")
    list_filter = (PorAplicativo, PeriodoEmDias, PorMotivo)
    ordering = ("-dia", "motivo", "id")  # índice recusa_por_dia

    @display(description="Aplicativo")
    def de_quem(self, recusa: Recusa) -> str:
        return recusa.aplicativo.nome if recusa.aplicativo else "desconhecido"

    @display(description="Requisições inteiras")
    def requisicoes(self, recusa: Recusa) -> str:
        return mostrar_quantidade(recusa.quantidade_requisicoes)

    @display(description="Eventos")
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

    @display(description="Mês")
    def periodo_do_aviso(self, aviso: AvisoFranquia) -> str:
        return f"{aviso.periodo:%m/%Y}"

    @display(description="Alcançou", label={80: "warning", 100: "danger"})
    def alcancou(self, aviso: AvisoFranquia) -> tuple[int, str]:
        return aviso.percentual, f"{aviso.percentual}% da franquia"

    @display(description="Uso")
    def uso(self, aviso: AvisoFranquia) -> str:
        return mostrar_quantidade(aviso.quantidade)

    @display(description="Franquia")
    def franquia_de(self, aviso: AvisoFranquia) -> str:
        return mostrar_quantidade(aviso.franquia)

    @display(description="Avisado em")
    def avisado(self, aviso: AvisoFranquia) -> str:
        return mostrar_instante(aviso.criado_em)

    @display(description="E-mail")
    def enviado(self, aviso: AvisoFranquia) -> str:
        if aviso.enviado_em:
            return mostrar_instante(aviso.enviado_em)
        return "a enviar" if aviso.aplicativo.emails_de_aviso else "só no painel"
