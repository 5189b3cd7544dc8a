"""Eventos: a lista por chegada e a página com tudo o que veio."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.models import Erro, Evento, Sessao, TipoDeEvento
from painel.admin.ficha import Linha, montar_ficha, mostrar_instante, mostrar_numero
from painel.admin.filtros import (
    Escolha,
    Periodo,
    PorAplicativo,
    Vinculo,
    ler_inteiro,
    ler_uuid,
)
from painel.admin.inerte import neutralizar
from painel.admin.ingestao.busca import DaPessoa, PorDia, ids_possiveis, procurar
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import escrever_json, ligar, resumir

CORES_DOS_TIPOS = {"ERRO_JS": "danger", "PROMISE_REJEITADA": "danger", "CONSOLE": "warning"}
SELOS = {**dict.fromkeys(TipoDeEvento.values, ""), **CORES_DOS_TIPOS}
ONDE = ("tipo", "nome", "mensagem", "url", "arquivo", "linha", "coluna", "nivel", "metodo", "status")
MEDIDO = ("duracao_ms", "metrica", "valor", "seletor", "texto", "usuario_id")
TEMPOS = ("ocorrido_em", "ocorrido_em_original", "criado_em", "campos_descartados")


class PorTipo(Escolha):
    title = "tipo"
    parameter_name = campo = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        # PULSO não vira linha: só marca atividade na sessão.
        return [opcao for opcao in TipoDeEvento.choices if opcao[0] != TipoDeEvento.PULSO]


class PeriodoDosEventos(Periodo):
    opcoes = (*Periodo.opcoes, ("30d", "30 dias"))


class DaSessao(Vinculo):
    title = "sessão"
    parameter_name = "sessao"

    def ler(self, valor: str) -> int | None:
        return ler_inteiro(valor)


class DoErro(Vinculo):
    title = "erro"
    parameter_name = "erro"

    def ler(self, valor: str) -> UUID | None:
        return ler_uuid(valor)


@admin.register(Evento)
class EventoAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e os segredos do evento"
    change_form_template = "painel/evento.html"
    list_display = ("quando", "ocorreu", "tipo_do_evento", "aplicativo", "o_que", "onde", "da_sessao")
    list_filter = (PorAplicativo, PeriodoDosEventos, PorDia, PorTipo, DaPessoa, DaSessao, DoErro)
    list_select_related = ("aplicativo",)
    colunas_grandes = ("pilha", "payload")
    search_fields = ("id",)
    search_help_text = "Texto, id do evento ou número da sessão"
    ordering = ("-criado_em", "-id")  # índices evento_por_chegada e evento_do_aplicativo

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """O número de uma sessão na busca vira o filtro dela, que tem índice e ordem próprios."""
        termo = request.GET.get(SEARCH_VAR, "").strip()
        numero = ler_inteiro(termo)
        if numero is None or Evento.objects.filter(pk__in=ids_possiveis(termo)).exists():
            return super().changelist_view(request, extra_context)
        filtros = request.GET.copy()
        del filtros[SEARCH_VAR]
        filtros[DaSessao.parameter_name] = str(numero)
        return redirect(f"{request.path}?{filtros.urlencode()}")

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Os de uma sessão, pelo índice evento_da_sessao: ela pode ter um milhão deles."""
        return ("-ocorrido_em", "-id") if DaSessao.parameter_name in request.GET else self.ordering

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        return procurar(request, queryset, termo), False

    @display(description="Chegou em")
    def quando(self, evento: Evento) -> SafeString | str:
        return mostrar_instante(evento.criado_em, com_ano=False)

    @display(description="Ocorreu em")
    def ocorreu(self, evento: Evento) -> SafeString | str:
        return mostrar_instante(evento.ocorrido_em, com_ano=False)

    @display(description="Tipo", label=SELOS)
    def tipo_do_evento(self, evento: Evento) -> tuple[str, str]:
        return evento.tipo, evento.get_tipo_display()

    @display(description="O quê")
    def o_que(self, evento: Evento) -> SafeString | None:
        return descrever(evento)

    @display(description="Onde")
    def onde(self, evento: Evento) -> SafeString | None:
        return resumir((evento.url or evento.arquivo or "").removeprefix("https://"), 48)

    @display(description="Sessão")
    def da_sessao(self, evento: Evento) -> str:
        return str(evento.sessao_id)

    def nomear(self, registro: Evento) -> str:
        return f"Evento {str(registro.pk)[:8]}"

    def montar_pagina(self, request: HttpRequest, registro: Evento) -> dict[str, Any]:
        numericos = {
            campo: mostrar_numero(valor, unidade)
            for campo, unidade in (("duracao_ms", "ms"), ("valor", ""))
            if (valor := getattr(registro, campo)) is not None
        }
        ler = leitor(request)
        return {
            "identificacao": [
                Linha(rotulo="Id", valor=str(registro.pk)),
                Linha(rotulo="Id dado pelo site", valor=neutralizar(registro.evento_id)),
                Linha(rotulo="Aplicativo", valor=registro.aplicativo.nome),
            ],
            "onde": montar_ficha(
                registro,
                ONDE,
                proprios={"url": ligar(registro.url, ler), "arquivo": ligar(registro.arquivo, ler)},
                ler=ler,
            ),
            "medido": montar_ficha(registro, MEDIDO, proprios=numericos, ler=ler),
            "tempos": montar_ficha(registro, TEMPOS),
            # Sem restrição no banco, a sessão ou o erro podem já ter passado da retenção.
            "sessao": Sessao.objects.filter(pk=registro.sessao_id).first(),
            "erro": Erro.objects.filter(pk=registro.erro_id).first() if registro.erro_id else None,
            "pilha": ler(registro.pilha or ""),
            "payload": "" if registro.payload is None else ler(escrever_json(registro.payload)),
            "cor": CORES_DOS_TIPOS.get(registro.tipo, "info"),
        }


def descrever(evento: Evento) -> SafeString | None:
    """O que aconteceu, numa linha: o campo que mais diz, conforme o que veio."""
    partes: dict[str, tuple] = {
        TipoDeEvento.REQUISICAO: (evento.metodo, evento.status, evento.mensagem or evento.url),
        TipoDeEvento.CLIQUE: (evento.texto, evento.seletor),
        TipoDeEvento.PAGINA: (evento.nome, evento.url),
        TipoDeEvento.DESEMPENHO: (evento.metrica, _medida(evento.valor)),
        TipoDeEvento.IDENTIFICACAO: (evento.usuario_id,),
    }
    ditas = [str(parte) for parte in partes.get(evento.tipo, ()) if parte not in (None, "")]
    return resumir(" · ".join(ditas) or evento.mensagem or evento.nome or evento.url or evento.evento_id)


def _medida(valor: float | None) -> str | None:
    return None if valor is None else mostrar_numero(valor)
