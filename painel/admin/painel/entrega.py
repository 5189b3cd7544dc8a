"""Entregas de avisos: o que se mandou, cada tentativa, e reenviar o que não chegou."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import display

from painel.admin.ficha import Linha, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro, ler_inteiro
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import escrever_json, resumir
from painel.avisos import atos
from painel.avisos.regras import TENTATIVAS_MAXIMAS
from painel.models import DestinoDeAviso, EntregaDeAviso

Situacao = EntregaDeAviso.Situacao
CORES_DAS_ENTREGAS = {
    Situacao.PENDENTE: "info",
    Situacao.ENTREGUE: "success",
    Situacao.DISPENSADA: "",
    Situacao.DESISTIDA: "danger",
}


class PorSituacao(Filtro):
    title = "situação"
    parameter_name = "situacao"
    template = FICHAS
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(s.value, str(s.label)) for s in (Situacao.PENDENTE, Situacao.ENTREGUE, Situacao.DESISTIDA)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset if self.value() is None else queryset.filter(situacao=self.value())


class PorDestino(Filtro):
    title = "destino"
    parameter_name = "destino"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(id_), nome) for id_, nome in DestinoDeAviso.objects.values_list("id", "nome")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        id_ = ler_inteiro(self.value())
        return queryset.none() if id_ is None else queryset.filter(destino_id=id_)


@admin.register(EntregaDeAviso)
class EntregaDeAvisoAdmin(TabelaGrande):
    change_form_template = "painel/avisos/entrega.html"
    list_display = ("de_que", "motivo", "para_quem", "estado", "quando", "tentou")
    list_filter = (PorSituacao, PorDestino)
    list_select_related = ("destino", "aplicativo", "aviso")
    ordering = ("-criada_em", "-id")  # índice entrega_por_criacao

    @display(description="Mensagem")
    def de_que(self, entrega: EntregaDeAviso) -> SafeString | None:
        return resumir(entrega.conteudo["titulo"], 80)

    @display(description="Para")
    def para_quem(self, entrega: EntregaDeAviso) -> str:
        return nomear_ouvinte(entrega)

    @display(description="Situação", label=CORES_DAS_ENTREGAS)
    def estado(self, entrega: EntregaDeAviso) -> tuple[str, str]:
        return Situacao(entrega.situacao), entrega.get_situacao_display()

    @display(description="Criada em")
    def quando(self, entrega: EntregaDeAviso) -> SafeString | str:
        return mostrar_instante(entrega.criada_em, com_ano=False)

    @display(description="Tentativas")
    def tentou(self, entrega: EntregaDeAviso) -> str:
        return mostrar_quantidade(entrega.tentativas)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def nomear(self, registro: EntregaDeAviso) -> str:
        return f"Entrega {str(registro.pk)[:8]}"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.reenviar))
        return [
            path("<uuid:object_id>/reenvio/", view, name="painel_entregadeaviso_reenvio"),
            *super().get_urls(),
        ]

    def reenviar(self, request: HttpRequest, object_id: Any) -> HttpResponse:
        """O botão da página: devolve à fila o que não chegou."""
        if not request.user.has_perm("painel.change_entregadeaviso"):
            raise PermissionDenied
        if atos.reenviar(object_id):
            entrega = EntregaDeAviso.objects.get(pk=object_id)
            self.log_change(cast("Any", request), entrega, "Devolveu a entrega à fila.")
            messages.success(request, "De volta à fila: sai em até um minuto, com o mesmo id.")
        else:
            messages.warning(
                request, "Nada mudou: só volta à fila o que não chegou e cuja condição ainda dura."
            )
        return redirect("admin:painel_entregadeaviso_change", object_id)

    def montar_pagina(self, request: HttpRequest, registro: EntregaDeAviso) -> dict[str, Any]:
        dura = registro.aviso is not None and registro.aviso.resolvido_em is None
        pode = cast("User", request.user).has_perm("painel.change_entregadeaviso")
        return {
            "titulo": neutralizar(registro.conteudo["titulo"]),
            "cor": CORES_DAS_ENTREGAS[Situacao(registro.situacao)],
            "para": nomear_ouvinte(registro),
            "numeros": _numeros(registro),
            "tentativas": registro.historico.order_by("-id"),
            "conteudo": escrever_json(registro.conteudo),
            "encerramento": neutralizar(registro.encerramento),
            "pode_reenviar": pode and dura and registro.situacao == Situacao.DESISTIDA,
            "url_do_reenvio": reverse("admin:painel_entregadeaviso_reenvio", args=[registro.pk]),
        }


def nomear_ouvinte(entrega: EntregaDeAviso) -> str:
    """O destino, ou o dono de que aplicativo."""
    return neutralizar(entrega.destino.nome if entrega.destino else f"dono de {entrega.aplicativo}")


def _numeros(entrega: EntregaDeAviso) -> list[Linha]:
    linhas = [
        Linha(rotulo="Motivo", valor=entrega.get_motivo_display()),
        Linha(rotulo="Criada em", valor=mostrar_instante(entrega.criada_em)),
        Linha(rotulo="Tentativas", valor=f"{entrega.tentativas} de {TENTATIVAS_MAXIMAS}"),
    ]
    if entrega.situacao == Situacao.PENDENTE:
        return [*linhas, Linha(rotulo="Não antes de", valor=mostrar_instante(entrega.disponivel_em))]
    return [*linhas, Linha(rotulo="Encerrada em", valor=mostrar_instante(entrega.encerrada_em))]
