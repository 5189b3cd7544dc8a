"""Os filtros das listas de capturas: aparelho, período, recorte, contestação, hora e reenvio."""

from typing import Any

from django.contrib.admin.options import ModelAdmin
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from ingestao.capturas.consultas import listar_silenciosos
from ingestao.models import Dispositivo, HoraSuspeita, Pedido, SituacaoDoPedido
from painel.admin.filtros import FICHAS, Escolha, Filtro, Periodo, ler_uuid
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import recortar

CONTESTADAS_MAXIMO = (
    2_000  # as mais recentes: contestar é ato de gente, e a lista inteira está em Contestações
)
SILENCIOSO = "silencioso"
TODAS = "todas"


class PorAparelho(Filtro):
    """Um aparelho, os excluídos também: a história deles continua aqui."""

    title = "dispositivo"
    parameter_name = "dispositivo"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        nomes = Dispositivo.objects.order_by("nome").values_list("id", "nome", "deletado")
        return [(str(id_), neutralizar(nome) + " (excluído)" * deletado) for id_, nome, deletado in nomes]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        id_ = ler_uuid(self.value())
        return queryset.none() if id_ is None else queryset.filter(dispositivo_id=id_)


class PeriodoLongo(Periodo):
    """Os atalhos de tempo, com trinta dias."""

    opcoes = (("hora", "Última hora"), ("hoje", "Hoje"), ("7d", "7 dias"), ("30d", "30 dias"))


class PorContato(Filtro):
    """Como o aparelho está; sem escolha, os que não foram excluídos."""

    title = "contato"
    parameter_name = "contato"
    template = FICHAS
    tudo = "Em uso"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [
            ("em_contato", "Em contato"),
            (SILENCIOSO, "Silenciosos"),
            ("desligado", "Desligados"),
            ("excluidos", "Excluídos"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == "excluidos":
            return queryset.filter(deletado=True)
        queryset = queryset.filter(deletado=False)
        if self.value() == "desligado":
            return queryset.filter(revogado_em__isnull=False)
        calados = Q(pk__in=listar_silenciosos(timezone.now()).order_by().values("pk"))
        if self.value() == SILENCIOSO:
            return queryset.filter(calados)
        return queryset.filter(~calados, revogado_em=None) if self.value() == "em_contato" else queryset


class PorExclusaoDeCaptura(Filtro):
    """Sem escolha, as que valem. As excluídas, que nenhum índice separa, entre as mais recentes."""

    title = "situação"
    parameter_name = "situacao"
    tudo = "Em uso"
    recortou = False

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("excluidas", "Excluídas"), (TODAS, "Todas")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == TODAS:
            return queryset
        if self.value() == "excluidas":
            queryset, self.recortou = recortar(queryset, self.coluna_da_ordem)
        return queryset.filter(deletado=self.value() == "excluidas")


class PorRecorte(Escolha):
    title = "recorte"
    parameter_name = "recorte"
    tudo = "Com ou sem"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("com", "Com recorte"), ("sem", "Sem recorte")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        return queryset.filter(recorte_bytes__isnull=self.value() == "sem")


class PorContestacao(Filtro):
    """As contestadas: os ids saem da tabela de pedidos, que é pequena, e não de uma varredura das capturas."""

    title = "contestação"
    parameter_name = "contestada"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("sim", "Contestadas"), *SituacaoDoPedido.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        pedidos = Pedido.objects.order_by("-aberto_em")
        if self.value() != "sim":
            pedidos = pedidos.filter(situacao=self.value())  # índice pedido_por_situacao
        return queryset.filter(pk__in=list(pedidos.values_list("captura_id", flat=True)[:CONTESTADAS_MAXIMO]))


class PorHora(Escolha):
    """As capturas em cuja hora não se confia."""

    title = "hora"
    parameter_name = "hora_suspeita"
    tudo = "Qualquer hora"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [
            ("sim", "Suspeita"),
            *((str(valor), str(nome)) for valor, nome in HoraSuspeita.choices if valor),
        ]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        if self.value() == "sim":
            return queryset.exclude(hora_suspeita="")
        return queryset.filter(hora_suspeita=self.value())


class PorReenvio(Escolha):
    """As que chegaram mais de uma vez, e por culpa de quem."""

    title = "reenvio"
    parameter_name = "reenvio"
    tudo = "Com ou sem"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("link", "Por link"), ("fila", "Por fila"), ("nenhum", "Nenhum")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        if self.value() == "nenhum":
            return queryset.annotate(reenvios=F("reenvios_link") + F("reenvios_fila")).filter(reenvios=0)
        campo = "reenvios_fila" if self.value() == "fila" else "reenvios_link"
        return queryset.filter(**{f"{campo}__gt": 0})


class Fechado(Escolha):
    """Um valor de uma coluna com poucos valores, todos conhecidos."""

    valores: tuple[tuple[str, str], ...] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> tuple[tuple[str, str], ...]:
        return self.valores
