"""O que muda a vida de uma integração: trocar o token, excluir, restaurar. Tudo pede confirmação."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.enums import ActionVariant

from dlr.cofre import gerar_token, resumir_token
from dlr.models import Integracao


class PaginasDeIntegracao(ModelAdmin):
    """O que toda página própria de uma integração tem no contexto."""

    def _contexto(self, request: HttpRequest, integracao: Integracao) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": integracao,
            "title": integracao.slug,
        }

    def _buscar(self, request: HttpRequest, object_id: str) -> Integracao | None:
        return cast("Integracao | None", self.get_object(request, object_id))


class VidaDeIntegracao(PaginasDeIntegracao):
    """As ações que mudam se, e com que token, a transportadora entra."""

    def has_exclusao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("dlr.delete_integracao")

    def mostrar_token(self, request: HttpRequest, integracao: Integracao, token: str) -> HttpResponse:
        """A única página que traz o token; o painel inteiro já responde `no-store`."""
        contexto = self._contexto(request, integracao) | {
            "token": token,
            "url": request.build_absolute_uri(f"/dlr/callback/{integracao.slug}/{token}"),
        }
        return TemplateResponse(request, "painel/dlr/token.html", contexto)

    @action(description="Trocar o token", url_path="trocar-token", permissions=["change"], icon="key")
    def trocar_o_token(self, request: HttpRequest, object_id: str) -> HttpResponse:
        token = gerar_token()

        def trocar(integracao: Integracao) -> None:
            integracao.token_resumo = resumir_token(token)
            integracao.save(update_fields=["token_resumo"])

        return self.confirmar(
            request,
            object_id,
            "painel/dlr/confirmar_token.html",
            "Trocou o token.",
            trocar,
            lambda integracao: self.mostrar_token(request, integracao, token),
        )

    @action(
        description="Excluir",
        url_path="excluir",
        permissions=["exclusao"],
        icon="delete",
        variant=ActionVariant.DANGER,
    )
    def excluir(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._marcar(request, object_id, True, "painel/dlr/confirmar_exclusao.html", "Excluiu.")

    @action(
        description="Restaurar", url_path="restaurar", permissions=["exclusao"], icon="restore_from_trash"
    )
    def restaurar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._marcar(request, object_id, False, "painel/dlr/confirmar_restauracao.html", "Restaurou.")

    def _marcar(
        self, request: HttpRequest, object_id: str, deletado: bool, template: str, historico: str
    ) -> HttpResponse:
        def marcar(integracao: Integracao) -> None:
            integracao.deletado = deletado
            integracao.save(update_fields=["deletado"])

        def dizer(integracao: Integracao) -> HttpResponse:
            feito = (
                "excluída: os callbacks dela são recusados em segundos e a história fica"
                if deletado
                else "restaurada: os callbacks dela voltam a entrar em segundos"
            )
            messages.success(request, f"“{integracao.slug}” {feito}.")
            return redirect("admin:dlr_integracao_change", integracao.pk)

        return self.confirmar(request, object_id, template, historico, marcar, dizer)

    def confirmar(
        self,
        request: HttpRequest,
        object_id: str,
        template: str,
        historico: str,
        mudar: Callable[[Integracao], None],
        responder: Callable[[Integracao], HttpResponse],
    ) -> HttpResponse:
        """GET mostra o que vai acontecer; POST muda, com a integração travada, e responde."""
        integracao = self._buscar(request, object_id)
        if integracao is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            return TemplateResponse(request, template, self._contexto(request, integracao))
        with transaction.atomic():
            travada = Integracao.objects.select_for_update().get(pk=integracao.pk)
            mudar(travada)
            self.log_change(request, travada, historico)
        return responder(travada)
