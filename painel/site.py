"""O site do admin: o do tema, com login em dois passos e as telas de acesso."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from unfold.sites import UnfoldAdminSite

from painel.acesso import segundo_fator, views


class Site(UnfoldAdminSite):
    """O painel. Entra quem é da equipe e não deve o segundo fator."""

    index_title = "Painel"

    def has_permission(self, request: HttpRequest) -> bool:
        """Da equipe, ativo, e com o código dado (se tem ou precisa ter)."""
        return super().has_permission(request) and segundo_fator.em_dia(request)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """A view protegida; um `_to_field` vazio no endereço é um 400: o Django procuraria um campo sem nome."""
        protegida = super().admin_view(view, cacheable)

        @wraps(protegida)
        def com_campo_de_verdade(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
                raise DisallowedModelAdminToField("O campo pedido não tem nome.")
            return protegida(request, *args, **kwargs)

        return com_campo_de_verdade

    def extra_urls(self) -> list[URLPattern]:
        """As telas de acesso, que não pedem papel nenhum: são da própria pessoa."""
        return [
            path("login/codigo/", views.pedir_codigo, name="codigo"),
            path("segundo-fator/", self.da_propria(views.mostrar_segundo_fator), name="segundo_fator"),
            path(
                "segundo-fator/codigos/",
                self.da_propria(views.renovar_recuperacoes),
                name="segundo_fator_codigos",
            ),
            path(
                "segundo-fator/desativar/", self.da_propria(views.desativar), name="segundo_fator_desativar"
            ),
        ]

    def da_propria(
        self, view: Callable[[HttpRequest], HttpResponse]
    ) -> Callable[[HttpRequest], HttpResponse]:
        """Para quem entrou, mesmo que ainda precise ativar o segundo fator; não para quem deve um código."""

        @wraps(view)
        def so_da_equipe(request: HttpRequest) -> HttpResponse:
            if not super(Site, self).has_permission(request):
                return redirect(f"{reverse('admin:login')}?{REDIRECT_FIELD_NAME}={request.path}")
            if not segundo_fator.em_dia(request) and segundo_fator.buscar_autenticador(request.user):  # type: ignore[arg-type]
                return views.proximo_passo(request)
            return view(request)

        return so_da_equipe

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """O primeiro passo. Quem já está na sessão e deve o código vai ao segundo."""
        if request.method == "GET" and super().has_permission(request):
            return redirect("admin:index") if segundo_fator.em_dia(request) else views.proximo_passo(request)
        contexto = {
            **self.each_context(request),
            "title": "Entrar",
            "subtitle": None,
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
        }
        if REDIRECT_FIELD_NAME not in request.GET and REDIRECT_FIELD_NAME not in request.POST:
            contexto[REDIRECT_FIELD_NAME] = reverse("admin:index")
        entrada = views.Entrada.as_view(
            extra_context=contexto | (extra_context or {}),
            authentication_form=self.login_form,
            template_name="admin/login.html",
        )
        return cast("HttpResponse", entrada(request))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """O contexto do tema; as cores vão para o `<head>`, onde levam o nonce da política de conteúdo."""
        contexto = super().each_context(request)
        return contexto | {"cores": contexto.pop("colors")}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        """A primeira página; quem não tem papel vê o que fazer, e não uma página vazia."""
        if not self.get_app_list(request):
            contexto = {**self.each_context(request), "title": "Sem papel"}
            return TemplateResponse(request, "painel/acesso/sem_papel.html", contexto)
        return super().index(request, extra_context)
