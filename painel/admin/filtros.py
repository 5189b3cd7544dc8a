"""Os filtros da barra das listas: aplicativo, período, escolha fechada e vínculo."""

import uuid
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import ModelAdmin
from django.contrib.admin.views.main import PAGE_VAR, ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from ingestao.models import Aplicativo
from painel.admin.tabela_grande import recortar

FICHAS = "painel/filtro_fichas.html"  # poucas opções, todas à vista
SELECAO = "painel/filtro_selecao.html"
CAMPO = "painel/filtro_campo.html"


class Filtro(SimpleListFilter):
    """Um filtro da barra; `tudo` é o nome da opção que não filtra."""

    template = SELECAO
    tudo = "Todos"

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: ModelAdmin
    ) -> None:
        # A coluna em que a lista está ordenada é a que um índice sabe recortar.
        self.coluna_da_ordem = str(model_admin.get_ordering(request)[0]).lstrip("-")
        self.coluna_do_tempo = getattr(model_admin, "coluna_do_tempo", self.coluna_da_ordem)
        super().__init__(request, params, model, model_admin)

    def value(self) -> str | None:
        """O que veio no endereço. O PostgreSQL não guarda NUL: trocado, como na borda, ele não acha nada."""
        valor = super().value()
        return valor if valor is None else valor.replace("\0", "\ufffd")

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        opcoes = super().choices(changelist)
        yield {**next(opcoes), "display": self.tudo}
        yield from opcoes


class PorAplicativo(Filtro):
    """Um aplicativo, os excluídos também: a história deles continua aqui."""

    title = "aplicativo"
    parameter_name = "aplicativo"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        nomes = Aplicativo.objects.order_by("nome").values_list("id", "nome", "deletado")
        return [(str(id_), f"{nome} (excluído)" if deletado else nome) for id_, nome, deletado in nomes]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        id_ = ler_uuid(self.value())
        return queryset.none() if id_ is None else queryset.filter(aplicativo_id=id_)


class Periodo(Filtro):
    """Atalhos de tempo sobre a coluna da ordem, ou sobre a `coluna_do_tempo` que a tela diz."""

    title = "período"
    parameter_name = "periodo"
    template = FICHAS
    tudo = "Tudo"
    opcoes: tuple[tuple[str, str], ...] = (("hora", "Última hora"), ("hoje", "Hoje"), ("7d", "7 dias"))

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> tuple[tuple[str, str], ...]:
        return self.opcoes

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        desde = comeco_do_periodo(self.value(), timezone.now())
        return queryset if desde is None else queryset.filter(**{f"{self.coluna_do_tempo}__gte": desde})


class PeriodoEmDias(Periodo):
    """Os mesmos atalhos sobre uma coluna `date`, no fuso do servidor."""

    opcoes = (("hoje", "Hoje"), ("7d", "7 dias"), ("30d", "30 dias"), ("mes", "Este mês"))

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        desde = comeco_do_periodo(self.value(), timezone.now())
        return queryset if desde is None else queryset.filter(dia__gte=timezone.localdate(desde))


class Escolha(Filtro):
    """Um valor entre poucos. Sem índice que o filtre, olha só as linhas mais recentes: `janela`, ou a de todos."""

    campo = ""
    janela: int | None = None
    recortou = False

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        queryset, self.recortou = recortar(queryset, self.coluna_da_ordem, *filter(None, [self.janela]))
        return self.filtrar(queryset)

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        """Aplica o valor escolhido às linhas da janela."""
        return queryset.filter(**{self.campo: self.value()})


class PorDono(Escolha):
    """As de quem está olhando, ou as de ninguém; `campo` é quem cuida."""

    title = "quem cuida"
    campo = "atribuido_a"
    parameter_name = "dono"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.eu = request.user.pk
        return [("eu", "Eu"), ("ninguem", "Ninguém")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        return queryset.filter(**{self.campo: self.eu if self.value() == "eu" else None})


class Vinculo(Filtro):
    """Só as linhas de um registro, a partir do link da página dele; aparece na barra quando usado."""

    template = FICHAS
    tudo = "✕ mostrar de todos"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        valor = self.value()
        return [] if valor is None else [(valor, valor)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if (valor := self.value()) is None:
            return queryset
        chave = self.ler(valor)
        return queryset.none() if chave is None else queryset.filter(**{f"{self.parameter_name}_id": chave})

    def ler(self, valor: str) -> Any:
        """O valor do endereço como chave do registro; None se não é uma."""
        raise NotImplementedError


class Campo(Filtro):
    """Um valor escrito pela pessoa: um campo na barra, que conserva os outros filtros."""

    template = CAMPO
    tipo_do_campo = "search"

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: ModelAdmin
    ) -> None:
        # A página volta à primeira; o resto do endereço fica.
        fora = {self.parameter_name, PAGE_VAR}
        self.outros = [(nome, valor) for nome, valor in request.GET.items() if nome not in fora]
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("", "")]  # o Django só mostra filtros que têm alguma opção

    def value(self) -> str | None:
        return (super().value() or "").strip() or None

    @property
    def escrito(self) -> str:
        """O que está no campo agora."""
        return self.value() or ""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        return iter(())


def comeco_do_periodo(atalho: str | None, agora: datetime) -> datetime | None:
    """O instante em que o atalho começa; None para tudo (e para um atalho desconhecido)."""
    if atalho == "hora":
        return agora - timedelta(hours=1)
    if atalho == "mes":
        return timezone.make_aware(datetime.combine(timezone.localdate(agora).replace(day=1), time.min))
    dias = {"hoje": 0, "7d": 6, "30d": 29}.get(atalho or "")
    if dias is None:
        return None
    dia = timezone.localdate(agora) - timedelta(days=dias)
    return timezone.make_aware(datetime.combine(dia, time.min))


def ler_uuid(texto: str | None) -> uuid.UUID | None:
    """O texto como UUID, ou None."""
    try:
        return uuid.UUID(texto or "")
    except ValueError:
        return None


def ler_inteiro(texto: str | None) -> int | None:
    """O texto como inteiro que cabe num `bigint`, ou None."""
    limpo = (texto or "").strip()
    return int(limpo) if limpo.isascii() and limpo.isdigit() and len(limpo) <= 18 else None
