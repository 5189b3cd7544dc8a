"""Uso por minuto: as linhas por trás do gráfico da última hora."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display

from ingestao.models import UsoPorMinuto
from painel.admin.ficha import mostrar_quantidade
from painel.admin.filtros import Periodo, PorAplicativo
from painel.admin.ingestao.uso import ListaDeContagens, PorMotivo

O_QUE_ENTROU = "-"  # no endereço: motivo vazio, que um filtro não distinguiria de filtro nenhum


class PorMotivoOuEntrada(PorMotivo):
    """O motivo, ou só o que entrou; entre os que ainda estão na tabela, que vive dois dias."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        motivos = model_admin.model._default_manager.order_by("motivo").values_list("motivo", flat=True)
        return [(motivo or O_QUE_ENTROU, motivo or "o que entrou") for motivo in motivos.distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        return queryset.filter(motivo="" if self.value() == O_QUE_ENTROU else self.value())


class ListaDeMinutos(ListaDeContagens):
    """Contagens por minuto. Quem vê as do dia (`permissao`) vê estas: são as mesmas, mais finas."""

    permissao = ""

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return obj is None and request.user.has_perm(self.permissao)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.permissao)

    @display(description="Minuto")
    def no_minuto(self, contagem: Any) -> str:
        return f"{timezone.localtime(contagem.minuto):%d/%m/%Y %H:%M}"

    @display(description="O que houve")
    def o_que_houve(self, contagem: Any) -> str:
        return contagem.motivo or "entrou"


@admin.register(UsoPorMinuto)
class UsoPorMinutoAdmin(ListaDeMinutos):
    permissao = "ingestao.view_uso"
    list_display = ("no_minuto", "de_quem", "o_que_houve", "requisicoes", "eventos")
    list_filter = (PorAplicativo, Periodo, PorMotivoOuEntrada)
    ordering = ("-minuto", "aplicativo_id", "motivo")  # índice uso_unico_no_minuto

    @display(description="Aplicativo")
    def de_quem(self, uso: UsoPorMinuto) -> str:
        return uso.aplicativo.nome if uso.aplicativo else "desconhecido"

    @display(description="Requisições inteiras")
    def requisicoes(self, uso: UsoPorMinuto) -> str:
        return mostrar_quantidade(uso.quantidade_requisicoes)

    @display(description="Eventos")
    def eventos(self, uso: UsoPorMinuto) -> str:
        return mostrar_quantidade(uso.quantidade_eventos)
