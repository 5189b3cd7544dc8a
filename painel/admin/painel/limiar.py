"""Limiares de aviso: a partir de quanto cada tipo avisa."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget

from dlr.models import Integracao, TipoDeExcecao
from painel.admin.ficha import mostrar_quantidade
from painel.admin.tabela_grande import ListaOrdenada
from painel.avisos.observacao import DESCARTES_PADRAO, ESTACIONADOS_PADRAO, EXCECOES_PADRAO, FILA_PADRAO_S
from painel.models import LimiarDeAviso, TipoDeAviso


class FormularioDeLimiar(forms.ModelForm):
    excecao = forms.ChoiceField(
        label="Tipo de exceção",
        required=False,
        choices=[("", "todos"), *TipoDeExcecao.choices],
        widget=UnfoldAdminSelectWidget,
        help_text="Só para exceções.",
    )
    integracao = forms.ModelChoiceField(
        label="Integração",
        required=False,
        queryset=Integracao.objects.filter(deletado=False),
        empty_label="todas",
        widget=UnfoldAdminSelectWidget,
        help_text="Só para exceções.",
    )

    class Meta:
        model = LimiarDeAviso
        fields = ("tipo", "integracao", "excecao", "valor")


@admin.register(LimiarDeAviso)
class LimiarDeAvisoAdmin(ModelAdmin):
    form = FormularioDeLimiar
    change_list_template = "painel/avisos/limiares.html"
    list_display = ("tipo", "de_quem", "de_que", "a_partir_de")
    list_select_related = ("integracao",)
    ordering = ("tipo", "id")
    sortable_by = ()
    show_full_result_count = False
    compressed_fields = True

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListaOrdenada]:
        return ListaOrdenada

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        padroes = (
            f"exceções, {EXCECOES_PADRAO} por integração e tipo; fila, {FILA_PADRAO_S} s; "
            f"itens estacionados, {ESTACIONADOS_PADRAO}; descartes na última hora, {DESCARTES_PADRAO}"
        )
        return super().changelist_view(request, {**(extra_context or {}), "padroes": padroes})

    @display(description="Integração")
    def de_quem(self, limiar: LimiarDeAviso) -> str:
        return str(limiar.integracao) if limiar.integracao else "todas"

    @display(description="Tipo de exceção")
    def de_que(self, limiar: LimiarDeAviso) -> str:
        return TipoDeExcecao(limiar.excecao).label if limiar.excecao else "todos"

    @display(description="Avisa a partir de")
    def a_partir_de(self, limiar: LimiarDeAviso) -> str:
        if not limiar.valor:
            return "não avisa"
        unidade = " s" if limiar.tipo == TipoDeAviso.FILA else ""
        return mostrar_quantidade(limiar.valor) + unidade
