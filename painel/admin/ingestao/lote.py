"""A caixa de entrada: o que foi recebido e ainda não virou linha, e o que espera uma pessoa."""

import json
from datetime import datetime
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import action, display

from ingestao.caixa.fila import TENTATIVAS_MAXIMAS
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Lote
from ingestao.tasks import despertador_de_lotes
from painel.admin.ficha import Linha, montar_ficha, mostrar_espera, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro, PorAplicativo
from painel.admin.inerte import neutralizar
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import JSON_CARACTERES, escrever_json, resumir

REEXECUTADOS_POR_VEZ = 10_000  # uma implantação ruim estaciona a fila inteira; cada um deixa histórico
PENDENTE, EM_RECUO, ESTACIONADO = "Pendente", "Tentará de novo", "Estacionado"
CORES = {PENDENTE: "info", EM_RECUO: "warning", ESTACIONADO: "danger"}


class PorSituacao(Filtro):
    title = "situação"
    parameter_name = "situacao"
    template = FICHAS

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("pendente", "Pendentes"), ("estacionado", "Estacionados")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() not in ("pendente", "estacionado"):
            return queryset
        return queryset.filter(estacionado_em__isnull=self.value() == "pendente")  # índice lote_pendente


@admin.register(Lote)
class LoteAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e os segredos do lote"
    change_form_template = "painel/lote.html"
    list_display = ("numero", "situacao", "aplicativo", "recebido", "espera", "eventos", "tentou", "motivo")
    list_filter = (PorSituacao, PorAplicativo)
    list_select_related = ("aplicativo",)
    colunas_grandes = ("conteudo", "recusas")  # até 8 MB por lote
    ordering = ("id",)  # a ordem em que serão aplicados
    actions = ("reexecutar",)
    tem_historico = True

    def has_reexecucao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("ingestao.change_lote")

    @display(description="Lote")
    def numero(self, lote: Lote) -> str:
        return str(lote.pk)

    @display(description="Situação", label=CORES)
    def situacao(self, lote: Lote) -> str:
        return situacao_de(lote, timezone.now())

    @display(description="Recebido em")
    def recebido(self, lote: Lote) -> SafeString | str:
        return mostrar_instante(lote.recebido_em)

    @display(description="Espera há")
    def espera(self, lote: Lote) -> str:
        return mostrar_espera(lote.recebido_em, timezone.now())

    @display(description="Peso")
    def eventos(self, lote: Lote) -> str:
        return mostrar_quantidade(lote.peso)

    @display(description="Tentativas")
    def tentou(self, lote: Lote) -> str:
        return f"{lote.tentativas} de {TENTATIVAS_MAXIMAS}"

    @display(description="Falha")
    def motivo(self, lote: Lote) -> SafeString | None:
        return resumir(lote.falha, 70)

    @action(description="Reexecutar os estacionados selecionados", permissions=["reexecucao"])
    def reexecutar(self, request: HttpRequest, queryset: QuerySet) -> None:
        ids = list(
            queryset.filter(estacionado_em__isnull=False)
            .order_by("id")
            .values_list("pk", flat=True)[:REEXECUTADOS_POR_VEZ]
        )
        self.reexecutar_e_dizer(request, ids)
        if len(ids) == REEXECUTADOS_POR_VEZ:
            messages.warning(request, "Pode haver mais estacionados na seleção: repita a ação.")

    def reexecutar_e_dizer(self, request: HttpRequest, ids: list[int]) -> None:
        """Devolve os estacionados à fila, acorda os workers e diz quantos voltaram."""
        with transaction.atomic():
            estacionados = list(
                Lote.objects.select_for_update()
                .filter(pk__in=ids, estacionado_em__isnull=False)
                .order_by("pk")
                .only("pk")
            )
            voltaram = CAIXA_DE_LOTES.reexecutar([lote.pk for lote in estacionados])
            if estacionados:
                autor = cast("User", request.user).pk
                LogEntry.objects.log_actions(autor, estacionados, CHANGE, "Devolveu o lote à fila.")
        if not voltaram:
            messages.warning(request, "Nada a reexecutar: só lotes estacionados voltam à fila.")
            return
        despertador_de_lotes.acordar()
        lotes = "1 lote voltou" if voltaram == 1 else f"{voltaram} lotes voltaram"
        messages.success(request, f"{lotes} à fila.")

    def get_urls(self) -> list[URLPattern]:
        reexecucao = self.admin_site.admin_view(require_POST(self.reexecutar_um))
        return [
            path("<path:object_id>/reexecucao/", reexecucao, name="ingestao_lote_reexecucao"),
            *super().get_urls(),
        ]

    def reexecutar_um(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """O botão da página do lote; volta à lista, porque o lote some ao ser aplicado."""
        if not self.has_reexecucao_permission(request):
            raise PermissionDenied
        lote = self.get_object(request, object_id)
        self.reexecutar_e_dizer(request, [lote.pk] if lote else [])
        return redirect("admin:ingestao_lote_changelist")

    def montar_pagina(self, request: HttpRequest, registro: Lote) -> dict[str, Any]:
        agora = timezone.now()
        ler = leitor(request)
        situacao = situacao_de(registro, agora)
        return {
            "situacao": situacao,
            "cor": CORES[situacao],
            "numeros": [
                Linha(
                    rotulo="Aplicativo",
                    valor=registro.aplicativo.nome if registro.aplicativo else "desconhecido",
                ),
                Linha(rotulo="Espera há", valor=mostrar_espera(registro.recebido_em, agora)),
                Linha(rotulo="Peso", valor=f"{mostrar_quantidade(registro.peso)} evento(s)"),
                Linha(rotulo="Tentativas", valor=self.tentou(registro)),
            ],
            "ficha": montar_ficha(registro, ("recebido_em", "disponivel_em", "estacionado_em")),
            "falha": ler(registro.falha),
            "recusas": _abrir_recusas(registro.recusas),
            "conteudo": ler(ler_conteudo(registro.conteudo)),
            "pode_reexecutar": situacao == ESTACIONADO and self.has_reexecucao_permission(request),
            "url_da_reexecucao": reverse("admin:ingestao_lote_reexecucao", args=[registro.pk]),
        }


def situacao_de(lote: Lote, agora: datetime) -> str:
    """Pendente, em recuo depois de falhar, ou estacionado."""
    if lote.estacionado_em is not None:
        return ESTACIONADO
    return EM_RECUO if lote.disponivel_em is not None and lote.disponivel_em > agora else PENDENTE


def ler_conteudo(conteudo: bytes | memoryview | None) -> str:
    """O JSON do lote, legível; os bytes como estão quando não são JSON, que é quando mais importa vê-los."""
    if conteudo is None:
        return ""
    texto = bytes(conteudo)
    try:
        return escrever_json(json.loads(texto))
    except (ValueError, RecursionError):
        return neutralizar(texto[:JSON_CARACTERES].decode("utf-8", "replace"))


def _abrir_recusas(recusas: Any) -> list[Linha]:
    if not isinstance(recusas, dict):
        return []
    return [
        Linha(rotulo=motivo, valor=f"{contagem[0]} requisição(ões), {contagem[1]} evento(s)")
        for motivo, contagem in sorted(recusas.items())
    ]
