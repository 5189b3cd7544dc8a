"""Sessões: quem, onde, o quanto, e a linha do tempo."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.models import Aplicativo, Evento, Sessao
from ingestao.models.sessao import PAIS_DESCONHECIDO
from painel.admin.ficha import Linha, montar_ficha, mostrar_instante, mostrar_numero, mostrar_quantidade
from painel.admin.filtros import Periodo, PorAplicativo, ler_inteiro, ler_uuid
from painel.admin.ingestao.evento import CORES_DOS_TIPOS, descrever
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import ligar, resumir

EVENTOS_NA_LINHA_DO_TEMPO = 200
ACHADAS_NA_BUSCA = 1_000  # um usuário com mais sessões que isto se procura dentro de um período
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
    search_help_text = "Sessão, usuário ou número, exatos"
    ordering = ("-ultima_atividade_em", "-id")  # índice sessao_por_atividade

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        return queryset.filter(pk__in=buscar_sessoes(termo, ler_uuid(request.GET.get("aplicativo")))), False

    @display(description="última atividade")
    def atividade(self, sessao: Sessao) -> SafeString | str:
        return mostrar_instante(sessao.ultima_atividade_em, com_ano=False)

    @display(description="sessão")
    def sessao(self, sessao: Sessao) -> SafeString | None:
        return resumir(sessao.sessao_externa, 24)

    @display(description="quem")
    def quem(self, sessao: Sessao) -> SafeString | None:
        return resumir(sessao.usuario_id or sessao.anonimo_id, 32)

    @display(description="navegador")
    def navegador_e_sistema(self, sessao: Sessao) -> SafeString | None:
        return resumir(" · ".join(filter(None, (sessao.navegador, sessao.sistema_operacional))), 48)

    @display(description="eventos")
    def eventos(self, sessao: Sessao) -> str:
        return mostrar_quantidade(sessao.quantidade_eventos)

    @display(description="erros", label={True: "danger", False: ""})
    def erros(self, sessao: Sessao) -> tuple[bool, str]:
        return sessao.quantidade_erros > 0, mostrar_quantidade(sessao.quantidade_erros)

    def montar_pagina(self, request: HttpRequest, registro: Sessao) -> dict[str, Any]:
        ler = leitor(request)
        # Índice evento_da_sessao, de trás para a frente; sem as colunas grandes.
        eventos = list(
            Evento.objects.filter(sessao_id=registro.pk)
            .defer("pilha", "payload")
            .order_by("-ocorrido_em", "-id")[:EVENTOS_NA_LINHA_DO_TEMPO]
        )
        return {
            "externa": ler(registro.sessao_externa),
            "numeros": _numeros(registro),
            "quem": montar_ficha(registro, QUEM, proprios={"pais": _pais(registro.pais)}, ler=ler),
            "onde": montar_ficha(
                registro, ONDE, proprios={"pagina_inicial": ligar(registro.pagina_inicial, ler)}, ler=ler
            ),
            "linha_do_tempo": [
                {
                    "evento": evento,
                    "descricao": descrever(evento),
                    "cor": CORES_DOS_TIPOS.get(evento.tipo, ""),
                }
                for evento in eventos
            ],
            "ficaram_de_fora": len(eventos) == EVENTOS_NA_LINHA_DO_TEMPO
            and registro.quantidade_eventos > EVENTOS_NA_LINHA_DO_TEMPO,
        }


def buscar_sessoes(termo: str, aplicativo: UUID | None) -> list[int]:
    """Os ids das sessões com este número, esta sessão externa ou este usuário (até `ACHADAS_NA_BUSCA`).

    Procura dentro de cada aplicativo porque os índices sessao_unica_no_aplicativo e
    sessao_por_usuario começam por ele. Sem ORDER BY: o planejador trocaria o índice pelo da ordem.
    """
    aplicativos = (
        list(Aplicativo.objects.values_list("id", flat=True)) if aplicativo is None else [aplicativo]
    )
    achadas: set[int] = set()
    for campo in ("sessao_externa", "usuario_id"):
        iguais = Sessao.objects.filter(aplicativo_id__in=aplicativos, **{campo: termo}).order_by()
        achadas.update(iguais.values_list("pk", flat=True)[:ACHADAS_NA_BUSCA])
    numero = ler_inteiro(termo)
    return [*achadas] if numero is None else [*achadas, numero]


def _numeros(sessao: Sessao) -> list[Linha]:
    carregamento = sessao.tempo_carregamento_ms
    return [
        Linha(rotulo="Eventos", valor=mostrar_quantidade(sessao.quantidade_eventos)),
        Linha(rotulo="Erros", valor=mostrar_quantidade(sessao.quantidade_erros)),
        Linha(
            rotulo="Carregamento", valor="—" if carregamento is None else mostrar_numero(carregamento, "ms")
        ),
        Linha(rotulo="Primeira atividade", valor=mostrar_instante(sessao.primeira_atividade_em)),
        Linha(rotulo="Última atividade", valor=mostrar_instante(sessao.ultima_atividade_em)),
    ]


def _pais(pais: str) -> str:
    return "desconhecido" if pais == PAIS_DESCONHECIDO else pais
