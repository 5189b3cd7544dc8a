"""A trilha: o que cada pessoa fez no painel, e o que viu de mascarado. Só se lê; nem o banco deixa mudar."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.decorators import display

from painel.admin.ficha import mostrar_instante
from painel.admin.filtros import FICHAS, Escolha, comeco_do_periodo, ler_inteiro
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir
from painel.models import Revelacao
from painel.templatetags.ligacoes import ligar_ao_registro

ACOES = {ADDITION: "criou", CHANGE: "mudou", DELETION: "apagou"}
CORES_DAS_ACOES = {"criou": "success", "mudou": "info", "apagou": "danger"}


class PorPessoa(Escolha):
    title = "pessoa"
    parameter_name = "quem"
    tudo = "Todas"
    campo = "user_id"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (str(id_), nome) for id_, nome in User.objects.order_by("username").values_list("id", "username")
        ]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        id_ = ler_inteiro(self.value())
        return queryset.none() if id_ is None else queryset.filter(**{self.campo: id_})


class PorTabela(Escolha):
    """O que foi mexido, entre as tabelas que aparecem na trilha."""

    title = "tabela"
    parameter_name = "tabela"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        usados = LogEntry.objects.order_by().values_list("content_type_id", flat=True).distinct()
        tipos = ContentType.objects.filter(pk__in=list(usados))
        return sorted(
            ((str(tipo.pk), str(capfirst(tipo.name))) for tipo in tipos), key=lambda opcao: opcao[1]
        )

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        id_ = ler_inteiro(self.value())
        return queryset.none() if id_ is None else queryset.filter(content_type_id=id_)


class Quando(Escolha):
    title = "período"
    parameter_name = "periodo"
    template = FICHAS
    tudo = "Tudo"
    campo = "action_time"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("hoje", "Hoje"), ("7d", "7 dias"), ("30d", "30 dias")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        desde = comeco_do_periodo(self.value(), timezone.now())
        return queryset if desde is None else queryset.filter(**{f"{self.campo}__gte": desde})


class SemPagina(TabelaGrande):
    """Tudo o que a linha tem está na lista; a ordem é a da chave, que cresce com a hora."""

    list_display_links = None
    ordering: tuple[str, ...] = ("-id",)

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_view_permission(request, obj) and obj is None

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota nas linhas quem está vendo: um registro só é link para quem pode abri-lo."""
        lista = super().get_changelist_instance(request)
        for linha in lista.result_list:
            linha.visto_por = request.user
        return lista


@admin.register(LogEntry)
class TrilhaAdmin(SemPagina):
    list_display = ("quando", "quem", "acao", "em_que", "o_que_fez")
    list_filter = (Quando, PorPessoa, PorTabela)
    list_select_related = ("user", "content_type")
    search_fields = ("object_id",)
    search_help_text = "Número ou id do registro, exato"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        return (queryset.filter(object_id=termo), False) if termo else (queryset, False)

    @display(description="Quando")
    def quando(self, passo: LogEntry) -> SafeString | str:
        return mostrar_instante(passo.action_time)

    @display(description="Quem")
    def quem(self, passo: LogEntry) -> str:
        return str(passo.user)

    @display(description="Ação", label=CORES_DAS_ACOES)
    def acao(self, passo: LogEntry) -> str:
        return ACOES.get(passo.action_flag, str(passo.action_flag))

    @display(description="Em quê")
    def em_que(self, passo: LogEntry) -> SafeString | str | None:
        nome = _nomear(passo)
        modelo = passo.content_type.model_class() if passo.content_type else None
        return ligar_ao_registro(passo.visto_por, modelo, passo.object_id, resumir(nome, 70))  # type: ignore[attr-defined]

    @display(description="O que fez")
    def o_que_fez(self, passo: LogEntry) -> SafeString | None:
        return resumir(passo.get_change_message())


class PorQuemViu(PorPessoa):
    campo = "autor_id"


class QuandoViu(Quando):
    campo = "revelada_em"


@admin.register(Revelacao)
class RevelacaoAdmin(SemPagina):
    list_display = ("quando", "quem", "o_que_viu", "de_que", "por_que")
    list_filter = (QuandoViu, PorQuemViu)
    list_select_related = ("autor",)

    @display(description="Quando")
    def quando(self, revelacao: Revelacao) -> SafeString | str:
        return mostrar_instante(revelacao.revelada_em)

    @display(description="Quem viu")
    def quem(self, revelacao: Revelacao) -> str:
        return str(revelacao.autor)

    @display(description="O quê")
    def o_que_viu(self, revelacao: Revelacao) -> str:
        return revelacao.o_que

    @display(description="De que registro")
    def de_que(self, revelacao: Revelacao) -> SafeString | str | None:
        modelo = _modelo(revelacao.modelo)
        tabela = capfirst(modelo._meta.verbose_name) if modelo else revelacao.modelo
        nome = f"{tabela} {revelacao.registro_id}"
        return ligar_ao_registro(revelacao.visto_por, modelo, revelacao.registro_id, resumir(nome, 70))  # type: ignore[attr-defined]

    @display(description="Motivo")
    def por_que(self, revelacao: Revelacao) -> SafeString | str:
        return resumir(revelacao.motivo) or "não dito"


def _nomear(passo: LogEntry) -> str:
    """`Erro TypeError: x`; sem repetir a tabela de quem já a diz no nome (`recepção 2`)."""
    tabela = str(passo.content_type.name) if passo.content_type else ""
    if passo.object_repr.lower().startswith(tabela.lower()):
        return str(capfirst(passo.object_repr))
    return f"{capfirst(tabela)} {passo.object_repr}"


def _modelo(rotulo: str) -> type[Model] | None:
    """O modelo de `aplicativo.modelo`; None se ele não existe mais: a trilha vive mais que as tabelas."""
    try:
        return apps.get_model(rotulo)
    except LookupError:
        return None
