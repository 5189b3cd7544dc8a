"""As recepções na caixa: guardadas, confirmadas e ainda não aplicadas; e as que esperam uma pessoa."""

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

from dlr.models import Recepcao, RecepcaoPendente
from dlr.processamento import CAIXA_DE_RECEPCOES
from dlr.tasks import despertador_de_recepcoes
from ingestao.caixa.fila import TENTATIVAS_MAXIMAS
from painel.admin.dlr.evidencia import montar_evidencia
from painel.admin.ficha import Linha, montar_ficha, mostrar_espera, mostrar_instante, mostrar_quantidade
from painel.admin.ingestao.lote import CORES, ESTACIONADO, REEXECUTADOS_POR_VEZ, PorSituacao, situacao_de
from painel.admin.revelacao import ComRevelacao, esta_revelado, leitor
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir


@admin.register(RecepcaoPendente)
class RecepcaoPendenteAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os bytes como chegaram"
    change_form_template = "painel/dlr/pendente.html"
    list_display = ("numero", "situacao", "recebido", "espera", "pesa", "tentou", "motivo")
    list_filter = (PorSituacao,)
    ordering = ("id",)  # a ordem em que serão aplicadas
    actions = ("reexecutar",)
    tem_historico = True

    def has_reexecucao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("dlr.change_recepcaopendente")

    @display(description="Recepção")
    def numero(self, pendente: RecepcaoPendente) -> str:
        return str(pendente.recepcao_id)

    @display(description="Situação", label=CORES)
    def situacao(self, pendente: RecepcaoPendente) -> str:
        return situacao_de(cast("Any", pendente), timezone.now())

    @display(description="Recebida em")
    def recebido(self, pendente: RecepcaoPendente) -> SafeString | str:
        return mostrar_instante(pendente.recebido_em)

    @display(description="Espera há")
    def espera(self, pendente: RecepcaoPendente) -> str:
        return mostrar_espera(pendente.recebido_em, timezone.now())

    @display(description="Peso")
    def pesa(self, pendente: RecepcaoPendente) -> str:
        return mostrar_quantidade(pendente.peso)

    @display(description="Tentativas")
    def tentou(self, pendente: RecepcaoPendente) -> str:
        return f"{pendente.tentativas} de {TENTATIVAS_MAXIMAS}"

    @display(description="Falha")
    def motivo(self, pendente: RecepcaoPendente) -> SafeString | None:
        return resumir(pendente.falha, 70)

    @action(description="Reexecutar as estacionadas selecionadas", permissions=["reexecucao"])
    def reexecutar(self, request: HttpRequest, queryset: QuerySet) -> None:
        estacionadas = queryset.filter(estacionado_em__isnull=False).order_by("id")
        ids = list(estacionadas.values_list("pk", flat=True)[:REEXECUTADOS_POR_VEZ])
        self.reexecutar_e_dizer(request, ids)
        if len(ids) == REEXECUTADOS_POR_VEZ:
            messages.warning(request, "Pode haver mais estacionadas na seleção: repita a ação.")

    def reexecutar_e_dizer(self, request: HttpRequest, ids: list[int]) -> None:
        """Devolve as estacionadas à fila, acorda os workers e diz quantas voltaram."""
        with transaction.atomic():
            estacionadas = list(
                RecepcaoPendente.objects.select_for_update()
                .filter(pk__in=ids, estacionado_em__isnull=False)
                .order_by("pk")
            )
            voltaram = CAIXA_DE_RECEPCOES.reexecutar([pendente.pk for pendente in estacionadas])
            if estacionadas:
                autor = cast("User", request.user).pk
                LogEntry.objects.log_actions(autor, estacionadas, CHANGE, "Devolveu a recepção à fila.")
        if not voltaram:
            messages.warning(request, "Nada a reexecutar: só recepções estacionadas voltam à fila.")
            return
        despertador_de_recepcoes.acordar()
        recepcoes = "1 recepção voltou" if voltaram == 1 else f"{voltaram} recepções voltaram"
        messages.success(request, f"{recepcoes} à fila.")

    def get_urls(self) -> list[URLPattern]:
        reexecucao = self.admin_site.admin_view(require_POST(self.reexecutar_uma))
        nome = "dlr_recepcaopendente_reexecucao"
        return [path("<path:object_id>/reexecucao/", reexecucao, name=nome), *super().get_urls()]

    def reexecutar_uma(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """O botão da página; volta à lista, porque o item some ao ser aplicado."""
        if not self.has_reexecucao_permission(request):
            raise PermissionDenied
        pendente = self.get_object(request, object_id)
        self.reexecutar_e_dizer(request, [pendente.pk] if pendente else [])
        return redirect("admin:dlr_recepcaopendente_changelist")

    def nomear(self, registro: RecepcaoPendente) -> str:
        return f"Recepção {registro.recepcao_id} na caixa"

    def montar_pagina(self, request: HttpRequest, registro: RecepcaoPendente) -> dict[str, Any]:
        agora = timezone.now()
        situacao = situacao_de(cast("Any", registro), agora)
        recepcao = Recepcao.objects.select_related("integracao").filter(pk=registro.recepcao_id).first()
        ve_a_evidencia = request.user.has_perm("dlr.view_recepcao")
        return {
            "situacao": situacao,
            "cor": CORES[situacao],
            "recepcao": recepcao,
            "numeros": [
                Linha(rotulo="Integração", valor=recepcao.integracao.slug if recepcao else "—"),
                Linha(rotulo="Espera há", valor=mostrar_espera(registro.recebido_em, agora)),
                Linha(rotulo="Peso", valor=mostrar_quantidade(registro.peso)),
                Linha(rotulo="Tentativas", valor=self.tentou(registro)),
            ],
            "ficha": montar_ficha(registro, ("recebido_em", "disponivel_em", "estacionado_em")),
            "falha": leitor(request)(registro.falha),
            "evidencia": montar_evidencia(recepcao, [], inteira=esta_revelado(request))
            if recepcao and ve_a_evidencia
            else None,
            "pode_reexecutar": situacao == ESTACIONADO and self.has_reexecucao_permission(request),
            "url_da_reexecucao": reverse("admin:dlr_recepcaopendente_reexecucao", args=[registro.pk]),
        }
