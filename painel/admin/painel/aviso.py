"""Avisos: o que está aberto, quem já viu, e os botões de quem cuida."""

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import display

from painel.admin.ficha import Linha, mostrar_espera, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro
from painel.admin.inerte import neutralizar
from painel.admin.painel.entrega import CORES_DAS_ENTREGAS
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir
from painel.avisos import atos
from painel.models import AtoDeAviso, Aviso, EntregaDeAviso, TipoDeAviso

SILENCIOS_H = {"1": "1 hora", "4": "4 horas", "24": "1 dia", "168": "7 dias"}
ENTREGAS_MOSTRADAS = 30
CORES = {
    "crítico": "danger",
    "aberto": "warning",
    "silenciado": "info",
    "reconhecido": "info",
    "resolvido": "success",
}
FEITO = {
    "reconhecer": "Reconhecido: os lembretes param. Novidades e o fim ainda são avisados.",
    "silenciar": "Silenciado: nada sai deste aviso até lá.",
    "voltar": "Este aviso volta a avisar.",
}


class PorSituacao(Filtro):
    """Sem escolha, os abertos: é a lista de trabalho."""

    title = "situação"
    parameter_name = "situacao"
    template = FICHAS
    tudo = "Abertos"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("resolvidos", "Resolvidos"), ("todos", "Todos")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == "todos":
            return queryset
        return queryset.filter(resolvido_em__isnull=self.value() != "resolvidos")


class PorTipo(Filtro):
    title = "tipo"
    parameter_name = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return TipoDeAviso.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset if self.value() is None else queryset.filter(tipo=self.value())


@admin.register(Aviso)
class AvisoAdmin(TabelaGrande):
    change_form_template = "painel/avisos/aviso.html"
    list_display = ("titulo_do_aviso", "situacao", "tipo", "aberto", "dura", "quem_viu")
    list_filter = (PorSituacao, PorTipo)
    ordering = ("-aberto_em", "-id")  # índice aviso_por_abertura

    def get_queryset(self, request: HttpRequest) -> QuerySet[Aviso]:
        return super().get_queryset(request).select_related("reconhecido_por").prefetch_related("atos__autor")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a página é própria; os botões têm a permissão deles

    def has_cuidado_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("painel.change_aviso")

    @display(description="Aviso")
    def titulo_do_aviso(self, aviso: Aviso) -> SafeString | None:
        return resumir(aviso.titulo, 90)

    @display(description="Situação", label=CORES)
    def situacao(self, aviso: Aviso) -> str:
        return situacao_de(aviso, timezone.now())

    @display(description="Aberto em")
    def aberto(self, aviso: Aviso) -> SafeString | str:
        return mostrar_instante(aviso.aberto_em, com_ano=False)

    @display(description="Durou")
    def dura(self, aviso: Aviso) -> str:
        return mostrar_espera(aviso.aberto_em, aviso.resolvido_em or timezone.now())

    @display(description="Quem viu")
    def quem_viu(self, aviso: Aviso) -> str | None:
        return ", ".join(listar_quem_viu(aviso)) or None

    def nomear(self, registro: Aviso) -> str:
        return f"Aviso de {registro.get_tipo_display().lower()}"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.agir))
        return [path("<uuid:object_id>/ato/", view, name="painel_aviso_ato"), *super().get_urls()]

    def agir(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """Um dos botões da página: reconhecer, silenciar, voltar a avisar."""
        if not self.has_cuidado_permission(request):
            raise PermissionDenied
        verbo, horas = request.POST.get("verbo", ""), request.POST.get("horas", "")
        autor, agora = cast("User", request.user), timezone.now()
        if verbo == "reconhecer":
            mudou = atos.reconhecer(object_id, autor, agora)
        elif verbo == "silenciar" and horas in SILENCIOS_H:
            mudou = atos.silenciar(object_id, autor, agora, por=timedelta(hours=int(horas)))
        elif verbo == "voltar":
            mudou = atos.voltar_a_avisar(object_id, autor, agora)
        else:
            return HttpResponseBadRequest("Verbo desconhecido.")
        if mudou:
            messages.success(request, FEITO[verbo])
        else:
            messages.warning(request, "Nada mudou: este aviso já se resolveu.")
        return redirect("admin:painel_aviso_change", object_id)

    def montar_pagina(self, request: HttpRequest, registro: Aviso) -> dict[str, Any]:
        agora = timezone.now()
        atos.ver(registro, cast("User", request.user), agora)
        situacao = situacao_de(registro, agora)
        entregas = registro.entregas.select_related("destino").order_by("-criada_em")
        return {
            "titulo": neutralizar(registro.titulo),
            "aplicativo": neutralizar(str(registro.aplicativo or "")),
            "situacao": situacao,
            "cor": CORES[situacao],
            "numeros": _numeros(registro, agora),
            "itens": [neutralizar(item["texto"]) for item in registro.itens],
            "nao_listados": max(0, registro.qtd_itens - len(registro.itens)) if registro.itens else 0,
            "entregas": [
                (e, CORES_DAS_ENTREGAS[EntregaDeAviso.Situacao(e.situacao)])
                for e in entregas[:ENTREGAS_MOSTRADAS]
            ],
            "trilha": registro.atos.select_related("autor").order_by("-feito_em"),
            "silencios": SILENCIOS_H,
            "pode_cuidar": registro.resolvido_em is None and self.has_cuidado_permission(request),
            "calado": situacao in ("silenciado", "reconhecido"),
            "url_do_ato": reverse("admin:painel_aviso_ato", args=[registro.pk]),
        }


def situacao_de(aviso: Aviso, agora: datetime) -> str:
    """Uma palavra: resolvido, silenciado, reconhecido, crítico ou aberto."""
    if aviso.resolvido_em is not None:
        return "resolvido"
    if aviso.silenciado_ate is not None and aviso.silenciado_ate > agora:
        return "silenciado"
    if aviso.reconhecido_em is not None:
        return "reconhecido"
    return "crítico" if aviso.critico else "aberto"


def listar_quem_viu(aviso: Aviso) -> list[str]:
    """Os nomes de quem abriu a página, na ordem."""
    return [str(ato.autor) for ato in aviso.atos.all() if ato.ato == AtoDeAviso.Ato.VIU]


def _numeros(aviso: Aviso, agora: datetime) -> list[Linha]:
    linhas = [
        Linha(rotulo="Aberto em", valor=mostrar_instante(aviso.aberto_em)),
        Linha(rotulo="Durou", valor=mostrar_espera(aviso.aberto_em, aviso.resolvido_em or agora)),
    ]
    if aviso.qtd_itens:
        linhas.append(Linha(rotulo="Casos", valor=mostrar_quantidade(aviso.qtd_itens)))
    if aviso.resolvido_em is not None:
        return [*linhas, Linha(rotulo="Resolvido em", valor=mostrar_instante(aviso.resolvido_em))]
    linhas.append(Linha(rotulo="Observado em", valor=mostrar_instante(aviso.visto_em)))
    if aviso.silenciado_ate is not None and aviso.silenciado_ate > agora:
        linhas.append(Linha(rotulo="Silenciado até", valor=mostrar_instante(aviso.silenciado_ate)))
    if aviso.reconhecido_em is not None:
        linhas.append(Linha(rotulo="Quem cuida", valor=str(aviso.reconhecido_por)))
    return linhas
