"""Recepções: o que chegou, exatamente, e o que se leu nela."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from dlr.models import Excecao, Ocorrencia, Recepcao
from painel.admin.dlr.evidencia import listar_ocorrencias, montar_evidencia, telefones_de
from painel.admin.dlr.explicacoes import PAPEIS
from painel.admin.dlr.filtros import PorIntegracao, nomear_integracao
from painel.admin.ficha import Linha, mostrar_instante
from painel.admin.filtros import ler_inteiro
from painel.admin.inerte import neutralizar
from painel.admin.revelacao import ComRevelacao, esta_revelado, leitor
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir

AGUARDA = "na caixa"
EXCECOES_MOSTRADAS = 50


@admin.register(Recepcao)
class RecepcaoAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os bytes como chegaram"
    change_form_template = "painel/dlr/recepcao.html"
    list_display = ("numero", "recebida", "da_integracao", "metodo", "leu")
    list_display_links = ("numero", "recebida")
    list_filter = (PorIntegracao,)
    list_select_related = ("integracao",)
    search_fields = ("id",)
    search_help_text = "Número da recepção"
    ordering = ("-id",)  # índice recepcao_da_integracao
    colunas_grandes = ("corpo", "consulta", "cabecalhos")  # até 4 MiB por recepção

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        numero = ler_inteiro(termo)
        return (queryset.none() if numero is None else queryset.filter(pk=numero)), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota nas linhas da página o que se leu de cada uma: uma consulta a mais, por índice."""
        lista = super().get_changelist_instance(request)
        lidos = contar_lidos([recepcao.pk for recepcao in lista.result_list])
        for recepcao in lista.result_list:
            recepcao.lidos = lidos.get(recepcao.pk)
        return lista

    @display(description="Integração")
    def da_integracao(self, recepcao: Recepcao) -> SafeString:
        return nomear_integracao(recepcao.integracao)

    @display(description="Recepção")
    def numero(self, recepcao: Recepcao) -> str:
        return str(recepcao.pk)

    @display(description="Recebida em")
    def recebida(self, recepcao: Recepcao) -> SafeString | str:
        return mostrar_instante(recepcao.recebida_em)

    @display(
        description="O que se leu", label={AGUARDA: "info", "ilegível": "danger", "repetição": "", "lido": ""}
    )
    def leu(self, recepcao: Recepcao) -> str | tuple[str, str]:
        return resumir_lidos(getattr(recepcao, "lidos", None))

    def montar_pagina(self, request: HttpRequest, registro: Recepcao) -> dict[str, Any]:
        ocorrencias = listar_ocorrencias(registro.pk)
        ler = leitor(request)
        return {
            "integracao": registro.integracao,
            "recebida": mostrar_instante(registro.recebida_em),
            "evidencia": montar_evidencia(
                registro, telefones_de(ocorrencias), inteira=esta_revelado(request)
            ),
            "itens": [
                {
                    "ocorrencia": ocorrencia,
                    "evento": ocorrencia.evento,
                    "estado": _estado_lido(ocorrencia),
                    "id_externo": resumir(ocorrencia.evento.id_externo, 40) if ocorrencia.evento else "",
                    "papel": PAPEIS.get(ocorrencia.evento.papel or "") if ocorrencia.evento else None,
                    "ilegivel": ler(ocorrencia.ilegivel),
                }
                for ocorrencia in ocorrencias
            ],
            "numeros": [
                Linha(rotulo="Integração", valor=registro.integracao.slug),
                Linha(rotulo="Recebida em", valor=mostrar_instante(registro.recebida_em)),
                Linha(rotulo="Formato", valor=registro.integracao.get_formato_display()),
                Linha(rotulo="Itens lidos", valor=str(len(ocorrencias) or "nenhum ainda")),
            ],
            "excecoes": _excecoes_da(registro, ocorrencias),
        }


def contar_lidos(ids: list[int]) -> dict[int, tuple[int, int, int]]:
    """(itens, ilegíveis, repetições) de cada recepção já aplicada. Índice: ocorrencia_unica."""
    contagens = (
        Ocorrencia.objects.filter(recepcao__in=ids)
        .order_by()
        .values("recepcao_id")
        .annotate(
            itens=Count("id"),
            ilegiveis=Count("id", filter=Q(evento__isnull=True)),
            repeticoes=Count("id", filter=Q(repeticao=True)),
        )
    )
    return {c["recepcao_id"]: (c["itens"], c["ilegiveis"], c["repeticoes"]) for c in contagens}


def resumir_lidos(lidos: tuple[int, int, int] | None) -> str | tuple[str, str]:
    """`3 recibos, 1 ilegível, 1 repetição`; o primeiro elemento do par escolhe a cor do selo."""
    if lidos is None:
        return AGUARDA
    itens, ilegiveis, repeticoes = lidos
    novos = itens - ilegiveis - repeticoes
    partes = [
        f"{quantos} {um if quantos == 1 else muitos}"
        for quantos, um, muitos in (
            (novos, "recibo", "recibos"),
            (repeticoes, "repetição", "repetições"),
            (ilegiveis, "não aplicado", "não aplicados"),
        )
        if quantos
    ]
    return "ilegível" if ilegiveis else "repetição" if not novos else "lido", ", ".join(partes)


def _estado_lido(ocorrencia: Ocorrencia) -> str:
    """O estado normalizado, ou o bruto de quem não está na tabela."""
    evento = ocorrencia.evento
    return "" if evento is None else evento.estado or neutralizar(evento.estado_bruto or "")


def _excecoes_da(recepcao: Recepcao, ocorrencias: list[Ocorrencia]) -> list[Excecao]:
    """As exceções dos itens desta recepção, por tipo e alvo (índice excecao_unica_por_alvo) e por evento."""
    alvos = [f"ocorrencia:{recepcao.pk}#{ocorrencia.indice}" for ocorrencia in ocorrencias]
    eventos = [ocorrencia.evento_id for ocorrencia in ocorrencias if ocorrencia.evento_id is not None]
    tipos = ("formato_nao_reconhecido", "recibo_parcial", "id_de_evento_reutilizado")
    return list(
        Excecao.objects.filter(Q(tipo__in=tipos, alvo__in=alvos) | Q(evento__in=eventos)).order_by("-id")[
            :EXCECOES_MOSTRADAS
        ]
    )
