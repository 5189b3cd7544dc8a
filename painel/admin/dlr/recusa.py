"""Callbacks recusados: quantos, quando e por quê. Do conteúdo deles nada ficou."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display

from dlr.models import RecusaDeCallback
from painel.admin.dlr.filtros import PorIntegracao
from painel.admin.ficha import mostrar_quantidade
from painel.admin.filtros import PeriodoEmDias
from painel.admin.ingestao.uso import ListaDeContagens, PorMotivo

MOTIVOS = {
    "integracao_inexistente": "endereço sem integração",
    "metodo_nao_permitido": "método que o formato não usa",
    "corpo_grande": "corpo grande demais",
    "origem_nao_permitida": "rede não permitida",
    "segredo_ilegivel": "segredo por cadastrar de novo",
    "assinatura_ausente": "sem a assinatura do fornecedor",
    "assinatura_invalida": "assinatura não confere",
    "token_invalido": "token errado",
    "basic_invalido": "usuário ou senha errados",
    "sem_prova": "sem token, Basic nem assinatura",
}


class PorMotivoDoCallback(PorMotivo):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(MOTIVOS.items())


@admin.register(RecusaDeCallback)
class RecusaDeCallbackAdmin(ListaDeContagens):
    list_display = ("no_dia", "de_qual", "por_que", "quantas")
    list_select_related = ("integracao",)
    list_filter = (PorIntegracao, PeriodoEmDias, PorMotivoDoCallback)
    ordering = ("-dia", "motivo", "id")  # poucas linhas por dia: integrações vezes motivos

    @display(description="Integração")
    def de_qual(self, recusa: RecusaDeCallback) -> str:
        return recusa.integracao.slug if recusa.integracao else "nenhuma"

    @display(description="Motivo")
    def por_que(self, recusa: RecusaDeCallback) -> str:
        return MOTIVOS.get(recusa.motivo, recusa.motivo)

    @display(description="Chamadas")
    def quantas(self, recusa: RecusaDeCallback) -> str:
        return mostrar_quantidade(recusa.quantidade)
