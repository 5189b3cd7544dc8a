"""Os filtros que os números da página inicial pedem às listas: o mesmo recorte, para a conta ser a mesma."""

from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from dlr.models import Verificacao
from painel.admin.filtros import FICHAS, Escolha, Filtro
from painel.admin.tabela_grande import CONTAGEM_MAXIMA

UM_DIA = timedelta(hours=24)
# A página inicial conta isto a cada cinco segundos, e a lista tem de dar a mesma conta. É também o teto das contagens.
JANELA_RECENTE = CONTAGEM_MAXIMA


class PorNovidade(Escolha):
    """Erros vistos pela primeira vez há pouco, entre os que ocorreram por último."""

    janela = JANELA_RECENTE
    title = "novidade"
    parameter_name = "novidade"
    template = FICHAS
    tudo = "Qualquer idade"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("24h", "Novos em 24 h")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        return queryset.filter(primeira_ocorrencia_em__gte=timezone.now() - UM_DIA)


class PorRegistro(Escolha):
    """Mensagens registradas há pouco, em qualquer integração: entre as mais recentes pela chave."""

    janela = JANELA_RECENTE
    title = "registro"
    parameter_name = "registrada"
    template = FICHAS
    tudo = "Qualquer data"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("24h", "24 horas")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        return queryset.filter(criada_em__gte=timezone.now() - UM_DIA)


class PorAceitacao(Escolha):
    title = "aceite"
    parameter_name = "aceitacao"
    tudo = "Qualquer"
    valores = {"sim": True, "nao": False, "nao_se_sabe": None}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("sim", "Aceita"), ("nao", "Recusada"), ("nao_se_sabe", "Não se sabe")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        valor = self.value() or ""
        return queryset.filter(aceita=self.valores[valor]) if valor in self.valores else queryset.none()


class PorVerificacao(Escolha):
    title = "verificação"
    parameter_name = "verificacao"
    tudo = "Com ou sem"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ha", "Verificada"), ("nao_ha", "Sem verificação")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        provada = Exists(Verificacao.objects.filter(mensagem=OuterRef("pk")))
        return queryset.filter(provada if self.value() == "ha" else ~provada)


class PorIdade(Filtro):
    """Há quanto tempo a exceção está aberta, em faixas ou a partir de; a ordem é a do índice excecao_por_situacao."""

    title = "idade"
    parameter_name = "idade"
    tudo = "Qualquer"
    horas: dict[str, tuple[int, int | None]] = {
        "1h": (0, 1),
        "24h": (1, 24),
        "7d": (24, 168),
        "passou_1h": (1, None),
        "passou_24h": (24, None),
        "mais": (168, None),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        faixas = [("1h", "Até 1 h"), ("24h", "1 a 24 h"), ("7d", "1 a 7 dias")]
        return [
            *faixas,
            ("passou_1h", "Mais de 1 h"),
            ("passou_24h", "Mais de 24 h"),
            ("mais", "Mais de 7 dias"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() not in self.horas:
            return queryset
        de, ate = self.horas[self.value() or ""]
        agora = timezone.now()
        if de:
            queryset = queryset.filter(aberta_em__lt=agora - timedelta(hours=de))
        return queryset if ate is None else queryset.filter(aberta_em__gte=agora - timedelta(hours=ate))
