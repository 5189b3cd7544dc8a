"""Sessões: quem, onde, o quanto, e a linha do tempo."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.models import Evento, Sessao, TipoDeEvento
from ingestao.models.sessao import PAIS_DESCONHECIDO
from painel.admin.ficha import Linha, montar_ficha, mostrar_instante, mostrar_numero, mostrar_quantidade
from painel.admin.filtros import Periodo, PorAplicativo, ler_uuid
from painel.admin.ingestao.busca import ACHADAS_NA_BUSCA, DA_PESSOA, buscar_sessoes
from painel.admin.ingestao.linha_do_tempo import ICONES, montar_passos
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande, recortar
from painel.admin.texto_alheio import ligar, resumir

EVENTOS_NA_LINHA_DO_TEMPO = 200
OUTRAS = 10
QUEM = ("anonimo_id", "usuario_id", "identificado_em", "pais")
ONDE = ("navegador", "sistema_operacional", "dispositivo", "resolucao", "pagina_inicial")


@admin.register(Sessao)
class SessaoAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e os segredos da sessão"
    change_form_template = "painel/sessao.html"
    list_display = ("atividade", "sessao", "aplicativo", "quem", "navegador_e_sistema", "eventos", "erros")
    list_display_links = ("atividade", "sessao")
    list_filter = (PorAplicativo, Periodo)
    list_select_related = ("aplicativo",)
    search_fields = ("sessao_externa",)
    search_help_text = "Usuário, anônimo, sessão ou número, exatos"
    ordering = ("-ultima_atividade_em", "-id")  # índice sessao_por_atividade

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        return queryset.filter(pk__in=buscar_sessoes(termo, ler_uuid(request.GET.get("aplicativo")))), False

    @display(description="Última atividade")
    def atividade(self, sessao: Sessao) -> SafeString | str:
        return mostrar_instante(sessao.ultima_atividade_em, com_ano=False)

    @display(description="Sessão")
    def sessao(self, sessao: Sessao) -> SafeString | None:
        return resumir(sessao.sessao_externa, 24)

    @display(description="Quem")
    def quem(self, sessao: Sessao) -> SafeString | None:
        return resumir(sessao.usuario_id or sessao.anonimo_id, 32)

    @display(description="Navegador")
    def navegador_e_sistema(self, sessao: Sessao) -> SafeString | None:
        return resumir(" · ".join(filter(None, (sessao.navegador, sessao.sistema_operacional))), 48)

    @display(description="Eventos")
    def eventos(self, sessao: Sessao) -> str:
        return mostrar_quantidade(sessao.quantidade_eventos)

    @display(description="Erros", label={True: "danger", False: ""})
    def erros(self, sessao: Sessao) -> tuple[bool, str]:
        return sessao.quantidade_erros > 0, mostrar_quantidade(sessao.quantidade_erros)

    def montar_pagina(self, request: HttpRequest, registro: Sessao) -> dict[str, Any]:
        ler = leitor(request)
        tipo = request.GET.get("tipo", "")
        tipo = tipo if tipo in ICONES else ""
        eventos, recortou = listar_eventos(registro.pk, tipo)
        return {
            "externa": ler(registro.sessao_externa),
            "numeros": _numeros(registro),
            "quem": montar_ficha(registro, QUEM, proprios={"pais": _pais(registro.pais)}, ler=ler),
            "onde": montar_ficha(
                registro, ONDE, proprios={"pagina_inicial": ligar(registro.pagina_inicial, ler)}, ler=ler
            ),
            "linha_do_tempo": montar_passos(eventos, registro.primeira_atividade_em),
            "tipo": tipo,
            "tipos": [(nome, TipoDeEvento(nome).label) for nome in ICONES],
            "mostrados": len(eventos),
            "ficaram_de_fora": recortou
            or (len(eventos) == EVENTOS_NA_LINHA_DO_TEMPO and registro.quantidade_eventos > len(eventos)),
            "outras": [
                {"sessao": outra, "externa": resumir(outra.sessao_externa, 40)}
                for outra in listar_outras(registro)
            ],
        }


def listar_eventos(sessao_id: int, tipo: str) -> tuple[list[Evento], bool]:
    """Os eventos mais recentes da sessão, de um tipo se pedido; e se o tipo só se procurou nos últimos."""
    # Índice evento_da_sessao, de trás para a frente; sem as colunas grandes.
    eventos = Evento.objects.filter(sessao_id=sessao_id).defer("pilha", "payload")
    recortou = False
    if tipo:
        eventos, recortou = recortar(eventos, "ocorrido_em")
        eventos = eventos.filter(tipo=tipo)
    return list(eventos.order_by("-ocorrido_em", "-id")[:EVENTOS_NA_LINHA_DO_TEMPO]), recortou


def listar_outras(sessao: Sessao) -> list[Sessao]:
    """As outras sessões da mesma pessoa: do usuário e, se ela foi anônima, do anônimo também.

    Índices sessao_por_usuario e sessao_por_anonimo. Os ids primeiro, sem ORDER BY: com ele o planejador
    trocaria o índice da pessoa pelo da ordem.
    """
    ids: set[int] = set()
    for campo in DA_PESSOA:
        if valor := getattr(sessao, campo):
            dela = Sessao.objects.filter(aplicativo_id=sessao.aplicativo_id, **{campo: valor}).order_by()
            ids.update(dela.values_list("pk", flat=True)[:ACHADAS_NA_BUSCA])
    return list(
        Sessao.objects.filter(pk__in=ids - {sessao.pk}).order_by("-ultima_atividade_em", "-id")[:OUTRAS]
    )


def _numeros(sessao: Sessao) -> list[Linha]:
    carregamento = sessao.tempo_carregamento_ms
    return [
        Linha(rotulo="Eventos", valor=mostrar_quantidade(sessao.quantidade_eventos)),
        Linha(rotulo="Erros", valor=mostrar_quantidade(sessao.quantidade_erros)),
        Linha(
            rotulo="Carregamento",
            valor="—" if carregamento is None else mostrar_numero(round(carregamento), "ms"),
        ),
        Linha(rotulo="Primeira atividade", valor=mostrar_instante(sessao.primeira_atividade_em)),
        Linha(rotulo="Última atividade", valor=mostrar_instante(sessao.ultima_atividade_em)),
    ]


def _pais(pais: str) -> str:
    return "desconhecido" if pais == PAIS_DESCONHECIDO else pais
