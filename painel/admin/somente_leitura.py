"""A tela que mostra e não muda: o que chegou é evidência."""

from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin


class SomenteLeitura(ModelAdmin):
    """Sem criar, alterar ou apagar; quem tem a permissão de ver, vê."""

    compressed_fields = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Apresentado:
    """Um registro com outro nome: o cabeçalho do tema mostra o `str()` dele, que pode vir de um estranho."""

    def __init__(self, registro: Model, nome: str) -> None:
        self._registro = registro
        self._nome = nome

    def __str__(self) -> str:
        return self._nome

    def __getattr__(self, atributo: str) -> Any:
        return getattr(self._registro, atributo)


class PaginaPropria(SomenteLeitura):
    """Uma página com template próprio no lugar do formulário; `montar_pagina` diz o que ela mostra."""

    fieldsets = ((None, {"fields": ()}),)
    tem_historico = False

    def nomear(self, registro: Any) -> str:
        """O nome do registro no cabeçalho da página, feito só do que é nosso."""
        return f"{self.opts.verbose_name} {registro.pk}"

    def montar_pagina(self, request: HttpRequest, registro: Any) -> dict[str, Any]:
        """Devolve o contexto próprio da página."""
        raise NotImplementedError

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> TemplateResponse:
        if not self.tem_historico:
            context["show_history"] = False
        context |= {"original": Apresentado(obj, self.nomear(obj)), "subtitle": None}
        context |= self.montar_pagina(request, obj)
        return super().render_change_form(request, context, add, change, form_url, obj)
