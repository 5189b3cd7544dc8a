"""Eventos lógicos: o que as recepções significam, uma vez só cada acontecimento."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from dlr.models import EventoLogico, Excecao, IdentificadorExterno, Integracao, Ocorrencia
from painel.admin.dlr.explicacoes import CORRELACOES, PAPEIS
from painel.admin.dlr.filtros import PorIntegracaoRecente, nomear_integracao
from painel.admin.ficha import Linha, montar_ficha, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import Escolha, Vinculo, ler_inteiro
from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar, mascarar_evidencia
from painel.admin.revelacao import ComRevelacao, esta_revelado
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import escrever_json, resumir

ACHADOS_NA_BUSCA = 1_000
OCORRENCIAS = 100
LIDOS = ("id_externo", "estado_bruto", "estado", "final", "codigo_erro", "origem", "destino", "parte")
TEMPOS = ("recebido_em", "apresentada_bruto", "apresentada_em", "concluida_bruto", "concluida_em")
DEDUPLICACAO = ("chave", "conteudo", "versao_da_chave", "versao_do_leitor", "versao_das_regras")
CORES_DO_PAPEL = {rotulo: "" if cor == "base" else cor for rotulo, cor, _ in PAPEIS.values()}


class PorLigacao(Escolha):
    """Ligados a uma mensagem, ou soltos."""

    title = "ligação"
    parameter_name = "ligacao"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("soltos", "Sem mensagem"), ("ligados", "Com mensagem")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        return queryset.filter(mensagem__isnull=self.value() == "soltos")


class DaMensagem(Vinculo):
    title = "mensagem"
    parameter_name = "mensagem"

    def ler(self, valor: str) -> int | None:
        return ler_inteiro(valor)


@admin.register(EventoLogico)
class EventoLogicoAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e o resto que o recibo trouxe"
    change_form_template = "painel/dlr/evento.html"
    list_display = (
        "recebido",
        "estado_comunicado",
        "id_de_fora",
        "da_integracao",
        "da_mensagem",
        "fez",
        "vezes",
    )
    list_filter = (DaMensagem, PorIntegracaoRecente, PorLigacao)
    list_select_related = ("integracao", "mensagem")
    search_fields = ("id_externo",)
    search_help_text = "Id externo ou número do evento, exatos"
    ordering = ("-id",)
    colunas_grandes = ("extras", "notas", "componentes")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        return (queryset.filter(pk__in=buscar_eventos(termo)), False) if termo else (queryset, False)

    @display(description="Integração")
    def da_integracao(self, evento: EventoLogico) -> SafeString:
        return nomear_integracao(evento.integracao)

    @display(description="Recebido em")
    def recebido(self, evento: EventoLogico) -> SafeString | str:
        return mostrar_instante(evento.recebido_em)

    @display(description="Estado")
    def estado_comunicado(self, evento: EventoLogico) -> SafeString | str | None:
        return evento.estado or resumir(evento.estado_bruto, 30)

    @display(description="Id externo")
    def id_de_fora(self, evento: EventoLogico) -> SafeString | None:
        return resumir(evento.id_externo, 40)

    @display(description="Mensagem")
    def da_mensagem(self, evento: EventoLogico) -> SafeString | str | None:
        return resumir(str(evento.mensagem), 30) if evento.mensagem else "sem mensagem"

    @display(description="Papel", label=CORES_DO_PAPEL)
    def fez(self, evento: EventoLogico) -> str | None:
        return PAPEIS[evento.papel][0] if evento.papel in PAPEIS else None

    @display(description="Recepções")
    def vezes(self, evento: EventoLogico) -> str:
        return mostrar_quantidade(evento.qtd_recepcoes)

    def montar_pagina(self, request: HttpRequest, registro: EventoLogico) -> dict[str, Any]:
        inteiro = esta_revelado(request)

        def mostrar(texto: str) -> str:
            return texto if inteiro else mascarar_evidencia(texto, [registro.origem, registro.destino])

        return {
            "rotulo": registro.estado or neutralizar(registro.estado_bruto or ""),
            "papel": PAPEIS.get(registro.papel or ""),
            "mensagem": registro.mensagem,
            "nome_da_mensagem": neutralizar(str(registro.mensagem)) if registro.mensagem else "",
            "lido": mostrar_lido(registro, inteiro=inteiro),
            "tempos": montar_ficha(registro, TEMPOS),
            "identificacao": montar_ficha(registro, DEDUPLICACAO),
            "correlacao": CORRELACOES.get(registro.correlacao, registro.correlacao),
            "notas": [mostrar(neutralizar(str(nota))) for nota in registro.notas],
            "extras": mostrar(escrever_json(registro.extras)) if registro.extras else "",
            "componentes": mostrar(escrever_json(dict(registro.componentes))) if registro.componentes else "",
            "ocorrencias": listar_recepcoes([registro.pk]),
            "excecoes": list(Excecao.objects.filter(evento=registro).order_by("-id")[:20]),
        }


def mostrar_lido(evento: EventoLogico, *, inteiro: bool) -> list[Linha]:
    """O que o leitor tirou da recepção; os telefones mascarados, a menos que `inteiro`."""
    telefone = neutralizar if inteiro else mascarar
    proprios = {
        "origem": telefone(evento.origem or ""),
        "destino": telefone(evento.destino or ""),
        "final": {True: "sim", False: "não"}.get(evento.final),  # type: ignore[arg-type]
        "estado": evento.estado or "nenhum: não está na tabela do formato",
    }
    return montar_ficha(evento, LIDOS, proprios=proprios)


def listar_recepcoes(eventos: list[int]) -> list[Ocorrencia]:
    """As recepções que trouxeram estes eventos, das primeiras às repetições, sem os bytes."""
    return list(
        Ocorrencia.objects.filter(evento__in=eventos)
        .select_related("recepcao", "evento")
        .defer("recepcao__corpo", "recepcao__consulta", "recepcao__cabecalhos", "evento__extras")
        .order_by("recepcao_id", "indice")[:OCORRENCIAS]
    )


def buscar_eventos(termo: str) -> list[int]:
    """Os ids dos eventos com este id externo ou este número (até `ACHADOS_NA_BUSCA`).

    Os ligados se acham pela mensagem (identificador_por_valor) e os soltos pelo índice parcial deles
    (evento_logico_esperando): não há índice que ache um ligado pelo id que ele trouxe.
    """
    integracoes = list(Integracao.objects.values_list("pk", flat=True))
    iguais = {"integracao_id__in": integracoes}
    mensagens = IdentificadorExterno.objects.filter(**iguais, valor=termo).values_list("mensagem", flat=True)
    soltos = EventoLogico.objects.filter(**iguais, id_externo=termo, mensagem__isnull=True)
    ligados = EventoLogico.objects.filter(mensagem__in=list(mensagens[:ACHADOS_NA_BUSCA]))
    achados = {
        pk
        for consulta in (soltos, ligados)
        for pk in consulta.order_by().values_list("pk", flat=True)[:ACHADOS_NA_BUSCA]
    }
    numero = ler_inteiro(termo)
    return [*achados] if numero is None else [*achados, numero]
