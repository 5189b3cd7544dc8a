"""O que chegou e não virou captura, e o que os aparelhos desistiram de mandar: contado, com o motivo."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.models import Captura, CapturaRecusada, RecusaDeCaptura, RelatoDeDescarte, SituacaoDaRecusa
from painel.admin.capturas.codigos import RECUSAS, nomear
from painel.admin.capturas.filtros import Fechado, PeriodoLongo, PorAparelho
from painel.admin.ficha import VAZIO, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, PeriodoEmDias, ler_uuid
from painel.admin.ingestao.uso import ListaDeContagens, PorMotivo
from painel.admin.texto_alheio import resumir
from painel.admin.trilha import SemPagina
from painel.templatetags.ligacoes import ligar_ao_registro


class PorSituacaoDaRecusa(Fechado):
    title = "situação"
    parameter_name = campo = "situacao"
    template = FICHAS
    tudo = "Todos"
    valores = ((SituacaoDaRecusa.CONFLITO.value, "Conflitos"), (SituacaoDaRecusa.INVALIDO.value, "Inválidos"))


class PorCodigo(Fechado):
    title = "código"
    parameter_name = campo = "codigo"
    valores = tuple(RECUSAS.items())


@admin.register(CapturaRecusada)
class CapturaRecusadaAdmin(SemPagina):
    list_display = ("ultima", "situacao_da_recusa", "por_que", "aparelho", "de_que_id", "quantas")
    list_filter = (PorSituacaoDaRecusa, PorCodigo, PorAparelho, PeriodoLongo)
    list_select_related = ("dispositivo",)
    search_fields = ("id_evento",)
    search_help_text = "Id do evento, exato"
    ordering = ("-ultima_em", "-id")  # índice captura_recusada_recente

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Índice captura_recusada_do_evento."""
        termo = search_term.strip()
        if not termo:
            return queryset, False
        id_evento = ler_uuid(termo)
        return (queryset.none() if id_evento is None else queryset.filter(id_evento=id_evento)), False

    @display(description="Última vez")
    def ultima(self, recusa: CapturaRecusada) -> SafeString | str:
        return mostrar_instante(recusa.ultima_em)

    @display(description="Situação", label={"Conflito": "danger", "Inválido": "warning"})
    def situacao_da_recusa(self, recusa: CapturaRecusada) -> str:
        return recusa.get_situacao_display()

    @display(description="Por quê")
    def por_que(self, recusa: CapturaRecusada) -> SafeString:
        """O código por extenso e, por baixo, a frase que o aparelho recebeu."""
        return format_html(
            '<span class="capturas-celula">{}<small class="capturas-menor capturas-frase">{}</small></span>',
            nomear(recusa.codigo),
            resumir(recusa.detalhe, 140),
        )

    @display(description="Dispositivo")
    def aparelho(self, recusa: CapturaRecusada) -> SafeString | None:
        return resumir(recusa.dispositivo.nome, 40)

    @display(description="Id do evento")
    def de_que_id(self, recusa: CapturaRecusada) -> Any:
        """Um link só quando há captura com ele: no conflito, a que foi gravada antes."""
        if recusa.id_evento is None:
            return "ilegível"
        nome = f"{str(recusa.id_evento)[:8]}…"
        if recusa.situacao != SituacaoDaRecusa.CONFLITO:
            return nome
        return ligar_ao_registro(recusa.visto_por, Captura, recusa.id_evento, nome)  # type: ignore[attr-defined]

    @display(description="Vezes")
    def quantas(self, recusa: CapturaRecusada) -> SafeString:
        return format_html(
            '<span title="a primeira em {}">{}</span>',
            f"{timezone.localtime(recusa.primeira_em):%d/%m/%Y %H:%M:%S}",
            mostrar_quantidade(recusa.quantidade),
        )


@admin.register(RelatoDeDescarte)
class RelatoDeDescarteAdmin(SemPagina):
    list_display = ("quando", "aparelho", "quantos", "por_que", "relato_dele")
    list_filter = (PorAparelho, PeriodoLongo)
    list_select_related = ("dispositivo",)
    ordering = ("-recebido_em", "-id")  # índice relato_por_chegada

    @display(description="Relatado em")
    def quando(self, relato: RelatoDeDescarte) -> SafeString | str:
        return mostrar_instante(relato.recebido_em)

    @display(description="Dispositivo")
    def aparelho(self, relato: RelatoDeDescarte) -> SafeString | None:
        return resumir(relato.dispositivo.nome, 40)

    @display(description="Descartou")
    def quantos(self, relato: RelatoDeDescarte) -> str:
        return mostrar_quantidade(sum(relato.descartados.values()))

    @display(description="Por motivo")
    def por_que(self, relato: RelatoDeDescarte) -> SafeString | str:
        motivos = sorted(relato.descartados.items(), key=lambda par: (-par[1], par[0]))
        return resumir(", ".join(f"{nomear(m)}: {mostrar_quantidade(q)}" for m, q in motivos)) or VAZIO

    @display(description="Relato")
    def relato_dele(self, relato: RelatoDeDescarte) -> SafeString | None:
        return resumir(relato.relato, 14)


class PorMotivoDaChamada(PorMotivo):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        desde = timezone.localdate() - timedelta(days=30)
        motivos = RecusaDeCaptura.objects.filter(dia__gte=desde).order_by("motivo")
        return [(motivo, motivo) for motivo in motivos.values_list("motivo", flat=True).distinct()]


@admin.register(RecusaDeCaptura)
class RecusaDeCapturaAdmin(ListaDeContagens):
    list_display = ("no_dia", "do_aparelho", "motivo", "quantas")
    list_filter = (PeriodoEmDias, PorAparelho, PorMotivoDaChamada)
    list_select_related = ("dispositivo",)
    ordering = ("-dia", "motivo", "id")  # poucas linhas por dia: aparelhos vezes motivos

    @display(description="Dispositivo")
    def do_aparelho(self, recusa: RecusaDeCaptura) -> SafeString | str | None:
        return resumir(recusa.dispositivo.nome, 60) if recusa.dispositivo else "desconhecido"

    @display(description="Chamadas")
    def quantas(self, recusa: RecusaDeCaptura) -> str:
        return mostrar_quantidade(recusa.quantidade)
