"""O que a pessoa pode ver, e aonde cada número leva."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode


class Visao:
    """As permissões de uma pessoa, na forma das perguntas da página."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def pode(self, *permissoes: str) -> bool:
        """Diz se tem alguma das permissões (`ingestao.view_uso`)."""
        return any(self._request.user.has_perm(permissao) for permissao in permissoes)

    def ve(self, modelo: type[Model]) -> bool:
        """Diz se há uma lista do modelo que a pessoa pode abrir."""
        return admin.site.is_registered(modelo) and admin.site.get_model_admin(modelo).has_view_permission(
            self._request
        )

    def cria(self, modelo: type[Model]) -> bool:
        """Diz se a pessoa pode criar um registro do modelo."""
        return admin.site.is_registered(modelo) and admin.site.get_model_admin(modelo).has_add_permission(
            self._request
        )

    def lista(self, modelo: type[Model], **filtros: Any) -> str:
        """O endereço da lista com os filtros que ela tem; vazio se a pessoa não pode abri-la."""
        if not self.ve(modelo):
            return ""
        conhecidos = {
            getattr(filtro, "parameter_name", "") for filtro in admin.site.get_model_admin(modelo).list_filter
        }
        filtros = {nome: valor for nome, valor in filtros.items() if nome in conhecidos}
        endereco = reverse(f"admin:{_nome(modelo)}_changelist")
        return f"{endereco}?{urlencode(filtros)}" if filtros else endereco

    def pagina(self, modelo: type[Model], id_: Any) -> str:
        """O endereço da página de um registro; vazio se a pessoa não pode abri-la."""
        return reverse(f"admin:{_nome(modelo)}_change", args=[id_]) if self.ve(modelo) else ""

    def criacao(self, modelo: type[Model]) -> str:
        """O endereço do formulário de criação; vazio se a pessoa não pode criar."""
        return reverse(f"admin:{_nome(modelo)}_add") if self.cria(modelo) else ""


def _nome(modelo: type[Model]) -> str:
    return f"{modelo._meta.app_label}_{modelo._meta.model_name}"
