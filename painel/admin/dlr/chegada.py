"""Recepções contadas, por minuto e por dia: as linhas por trás dos gráficos de chegada."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from dlr.models import RecepcaoPorDia, RecepcaoPorMinuto
from painel.admin.dlr.filtros import PorIntegracao, nomear_integracao
from painel.admin.ficha import mostrar_quantidade
from painel.admin.filtros import Periodo, PeriodoEmDias
from painel.admin.ingestao.minuto import ListaDeMinutos, PorMotivoOuEntrada

VE_RECEPCOES = "dlr.view_recepcao"


class ListaDeRecepcoes(ListaDeMinutos):
    """O que as duas listas mostram igual."""

    permissao = VE_RECEPCOES
    list_select_related = ("integracao",)

    @display(description="Integração")
    def de_qual(self, contagem: Any) -> SafeString | str:
        return nomear_integracao(contagem.integracao) if contagem.integracao else "nenhuma"

    @display(description="Chamadas")
    def quantas(self, contagem: Any) -> str:
        return mostrar_quantidade(contagem.quantidade)


@admin.register(RecepcaoPorMinuto)
class RecepcaoPorMinutoAdmin(ListaDeRecepcoes):
    list_display = ("no_minuto", "de_qual", "o_que_houve", "quantas")
    list_filter = (PorIntegracao, Periodo, PorMotivoOuEntrada)
    ordering = ("-minuto", "integracao_id", "motivo")  # índice recepcao_unica_no_minuto

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Os callbacks recusados têm permissão própria, mas estão nas mesmas linhas: basta uma das duas."""
        return super().has_view_permission(request, obj) or (
            obj is None and request.user.has_perm("dlr.view_recusadecallback")
        )


@admin.register(RecepcaoPorDia)
class RecepcaoPorDiaAdmin(ListaDeRecepcoes):
    list_display = ("no_dia", "de_qual", "quantas")
    list_filter = (PorIntegracao, PeriodoEmDias)
    ordering = ("-dia", "integracao_id")  # índice recepcao_unica_no_dia
