"""Aplicativos: cadastro, chave, uso, e a exclusão que guarda a história."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import SimpleListFilter
from django.db import transaction
from django.db.models import CharField, F, Func, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from ingestao.models import Aplicativo
from painel.admin.ficha import mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro
from painel.admin.ingestao.consumo import (
    desenhar_franquia,
    desenhar_meses,
    listar_meses,
    percentual_de,
    somar_mes_atual,
)
from painel.admin.ingestao.formulario import FormularioDeAplicativo
from painel.admin.ingestao.instalacao import montar_instalacao
from painel.admin.tabela_grande import ListaOrdenada

ATENCAO_PERCENTUAL, ESGOTADA_PERCENTUAL = 80, 100  # os mesmos dos avisos de franquia


class PorExclusao(Filtro):
    """Sem escolha, os que valem; os excluídos só quando pedidos."""

    title = "situação"
    parameter_name = "situacao"
    template = FICHAS
    tudo = "Em uso"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("excluidos", "Excluídos"), ("todos", "Todos")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == "todos":
            return queryset
        return queryset.filter(deletado=self.value() == "excluidos")


@admin.register(Aplicativo)
class AplicativoAdmin(ModelAdmin):
    form = FormularioDeAplicativo
    change_form_template = "painel/aplicativo.html"
    change_list_template = "painel/lista.html"
    list_display = ("nome_e_situacao", "lista_de_dominios", "uso_do_mes", "da_franquia", "primeiro_evento")
    list_filter: tuple[type[SimpleListFilter], ...] = (PorExclusao,)
    search_fields = ("nome",)
    search_help_text = "Nome, domínio ou a chave inteira"
    ordering = ("nome", "id")
    sortable_by = ()
    show_full_result_count = False
    list_max_show_all = 0
    actions_detail = ("trocar_a_chave", "excluir", "restaurar")
    warn_unsaved_form = True
    fieldsets = (
        (None, {"fields": ("nome", "dominios")}),
        ("Franquia e avisos", {"fields": ("franquia", "politica", "emails_de_aviso")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: eventos, uso e avisos apontam para ele. Excluir é `deletado`, que tira a chave de uso."""
        return False

    def has_exclusao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("ingestao.delete_aplicativo")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListaOrdenada]:
        return ListaOrdenada

    def get_queryset(self, request: HttpRequest) -> QuerySet[Aplicativo]:
        return super().get_queryset(request).annotate(uso_no_mes=somar_mes_atual())

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        dominios = Func(F("dominios"), Value(" "), function="array_to_string", output_field=CharField())
        pela_chave = Q(chave=termo) | Q(chave_anterior=termo)
        return (
            queryset.annotate(dominios_em_texto=dominios).filter(
                Q(nome__icontains=termo) | Q(dominios_em_texto__icontains=termo) | pela_chave
            ),
            False,
        )

    @display(description="Nome")
    def nome_e_situacao(self, aplicativo: Aplicativo) -> SafeString | str:
        if not aplicativo.deletado:
            return aplicativo.nome
        return format_html('{} <span class="lastro-selo lastro-selo-danger">excluído</span>', aplicativo.nome)

    @display(description="Domínios")
    def lista_de_dominios(self, aplicativo: Aplicativo) -> SafeString:
        visiveis = ", ".join(aplicativo.dominios[:2])
        resto = len(aplicativo.dominios) - 2
        return format_html(
            '<span title="{}">{}{}</span>',
            "\n".join(aplicativo.dominios),
            visiveis,
            f" e mais {resto}" if resto > 0 else "",
        )

    @display(description="Uso no mês")
    def uso_do_mes(self, aplicativo: Aplicativo) -> str:
        uso = mostrar_quantidade(uso_anotado(aplicativo))
        return f"{uso} de {mostrar_quantidade(aplicativo.franquia)}" if aplicativo.franquia else uso

    @display(
        description="Da franquia", label={"warning": "warning", "danger": "danger", "success": "success"}
    )
    def da_franquia(self, aplicativo: Aplicativo) -> tuple[str, str] | None:
        percentual = percentual_de(uso_anotado(aplicativo), aplicativo.franquia)
        return None if percentual is None else (cor_do_percentual(percentual), f"{percentual}%")

    @display(description="Primeiro evento")
    def primeiro_evento(self, aplicativo: Aplicativo) -> SafeString | str:
        return (
            mostrar_instante(aplicativo.primeiro_evento_em)
            if aplicativo.primeiro_evento_em
            else "nunca mandou"
        )

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """Só as ações que o estado do aplicativo admite."""
        acoes = super().get_actions_detail(request, object_id)
        aplicativo = self.get_object(request, object_id)  # None também para uma chave que nem UUID é
        deletado = aplicativo is not None and aplicativo.deletado
        fora = {"trocar_a_chave", "excluir"} if deletado else {"restaurar"}
        return [acao for acao in acoes if not acao.action_name.endswith(tuple(fora))]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context["subtitle"] = None
        if obj is not None:
            agora = timezone.now()
            meses = listar_meses(obj.pk, obj.franquia, timezone.localdate(agora))
            context |= {
                "instalacao": montar_instalacao(obj, request.build_absolute_uri(reverse("evento-ingestao"))),
                "anterior_ate": obj.chave_anterior_ate if carencia_corre(obj, agora) else None,
                "meses": meses,
                "grafico": desenhar_meses(meses),
                "franquia": desenhar_franquia(meses[-1], obj.franquia) if obj.franquia else None,
            }
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    @action(description="Trocar a chave", url_path="trocar-chave", permissions=["change"], icon="key")
    def trocar_a_chave(self, request: HttpRequest, object_id: str) -> HttpResponse:
        def trocar(aplicativo: Aplicativo) -> str:
            aplicativo.trocar_chave()
            aplicativo.save(update_fields=["chave", "chave_anterior", "chave_anterior_ate"])
            ate = timezone.localtime(aplicativo.chave_anterior_ate)
            return f"Chave trocada. A nova é {aplicativo.chave}; a anterior vale até {ate:%d/%m/%Y %H:%M}."

        return self.confirmar(request, object_id, "painel/confirmar_troca.html", "Trocou a chave.", trocar)

    @action(
        description="Excluir",
        url_path="excluir",
        permissions=["exclusao"],
        icon="delete",
        variant=ActionVariant.DANGER,
    )
    def excluir(self, request: HttpRequest, object_id: str) -> HttpResponse:
        def excluir(aplicativo: Aplicativo) -> str:
            aplicativo.deletado = True
            aplicativo.save(update_fields=["deletado"])
            return f"“{aplicativo.nome}” excluído: a chave deixa de valer em segundos e a história fica."

        return self.confirmar(request, object_id, "painel/confirmar_exclusao.html", "Excluiu.", excluir)

    @action(
        description="Restaurar", url_path="restaurar", permissions=["exclusao"], icon="restore_from_trash"
    )
    def restaurar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        def restaurar(aplicativo: Aplicativo) -> str:
            aplicativo.deletado = False
            aplicativo.save(update_fields=["deletado"])
            return f"“{aplicativo.nome}” restaurado: a chave volta a valer em segundos."

        return self.confirmar(
            request, object_id, "painel/confirmar_restauracao.html", "Restaurou.", restaurar
        )

    def confirmar(
        self,
        request: HttpRequest,
        object_id: str,
        template: str,
        historico: str,
        mudar: Callable[[Aplicativo], str],
    ) -> HttpResponse:
        """GET mostra o que vai acontecer; POST muda, com o aplicativo travado, e diz o que aconteceu."""
        aplicativo = self.get_object(request, object_id)
        if aplicativo is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            contexto = {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "original": aplicativo,
                "title": aplicativo.nome,
                "anterior_ate": aplicativo.chave_anterior_ate
                if carencia_corre(aplicativo, timezone.now())
                else None,
            }
            return TemplateResponse(request, template, contexto)
        with transaction.atomic():
            travado = Aplicativo.objects.select_for_update().get(pk=aplicativo.pk)
            frase = mudar(travado)
            self.log_change(request, travado, historico)
        messages.success(request, frase)
        return redirect("admin:ingestao_aplicativo_change", aplicativo.pk)

    def response_add(
        self, request: HttpRequest, obj: Aplicativo, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Vai à página dele: a chave e o trecho de instalação são o que se quer a seguir."""
        if "_addanother" in request.POST:
            return super().response_add(request, obj, post_url_continue)
        messages.success(request, f"“{obj.nome}” criado. Falta instalar a chave nas páginas.")
        return redirect("admin:ingestao_aplicativo_change", obj.pk)

    def save_model(self, request: HttpRequest, obj: Aplicativo, form: forms.ModelForm, change: bool) -> None:
        """Grava só o que o formulário mudou: uma troca de chave feita no meio não é desfeita."""
        if change:
            obj.save(update_fields=form.changed_data)
        else:
            super().save_model(request, obj, form, change)


def uso_anotado(aplicativo: Aplicativo) -> int:
    """O uso do mês que `get_queryset` anotou."""
    return aplicativo.uso_no_mes  # type: ignore[attr-defined]


def carencia_corre(aplicativo: Aplicativo, agora: datetime) -> bool:
    """Diz se a chave anterior ainda vale."""
    return bool(aplicativo.chave_anterior_ate and aplicativo.chave_anterior_ate > agora)


def cor_do_percentual(percentual: int) -> str:
    """Verde até o primeiro aviso, vermelho da franquia em diante."""
    if percentual >= ESGOTADA_PERCENTUAL:
        return "danger"
    return "warning" if percentual >= ATENCAO_PERCENTUAL else "success"
