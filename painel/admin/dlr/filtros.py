"""O que as listas dos recibos têm em comum: a integração, como coluna e como filtro."""

from typing import Any

from django.contrib.admin.options import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dlr.models import Integracao
from painel.admin.filtros import Escolha, Filtro, ler_inteiro


def listar_integracoes() -> list[tuple[str, str]]:
    """As integrações, as excluídas também: a história delas continua aqui."""
    slugs = Integracao.objects.order_by("slug").values_list("id", "slug", "deletado")
    return [(str(id_), f"{slug} (excluída)" if deletado else slug) for id_, slug, deletado in slugs]


def nomear_integracao(integracao: Integracao) -> SafeString:
    """O slug numa linha só: partido no hífen ele parece outro."""
    return format_html('<span class="lastro-instante">{}</span>', integracao.slug)


class PorIntegracao(Filtro):
    """Uma integração, onde um índice a acha na ordem da lista."""

    title = "integração"
    parameter_name = "integracao"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return listar_integracoes()

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        id_ = ler_inteiro(self.value())
        return queryset.none() if id_ is None else queryset.filter(integracao_id=id_)


class PorIntegracaoRecente(Escolha):
    """Uma integração, onde nenhum índice a acha na ordem da lista: só entre as linhas mais recentes."""

    title = "integração"
    parameter_name = "integracao"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return listar_integracoes()

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        id_ = ler_inteiro(self.value())
        return queryset.none() if id_ is None else queryset.filter(integracao_id=id_)
