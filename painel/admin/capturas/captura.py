"""Capturas: a lista com miniaturas e a página com tudo o que se sabe de uma."""

import json
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe
from unfold.decorators import display

from ingestao.models import AtoDeCaptura, Captura, CapturaRecusada, HoraSuspeita, Pedido, SituacaoDoPedido
from painel.admin.capturas.andamento import contar_ato, descrever_andamento
from painel.admin.capturas.codigos import nomear
from painel.admin.capturas.contestacao import conduzir_ato, dar_nome, listar_botoes
from painel.admin.capturas.desenho import desenhar
from painel.admin.capturas.fichas import listar_numeros, montar_identidade, montar_imagem
from painel.admin.capturas.filtros import (
    PeriodoLongo,
    PorAparelho,
    PorContestacao,
    PorExclusaoDeCaptura,
    PorHora,
    PorRecorte,
    PorReenvio,
)
from painel.admin.capturas.imagens import responder_recorte
from painel.admin.capturas.tempos import POR_QUE, montar_tempos
from painel.admin.ficha import VAZIO, mostrar_instante
from painel.admin.filtros import ler_uuid
from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar_texto
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande, recortar
from painel.admin.texto_alheio import escrever_json, resumir
from painel.graficos import mostrar_duracao

ATOS_NA_TRILHA = 1_000  # cada olhada é um ato; os mais recentes bastam, e a página diz que há mais
RECUSAS_NA_PAGINA = 50
PARES_NA_LISTA = 20  # mais que isto não cabe nem na dica
EXCLUIDA = mark_safe('<span class="lastro-selo lastro-selo-danger">excluída</span> ')
SELO_DA_HORA = '<span class="lastro-selo lastro-selo-warning" title="{}">hora suspeita</span>'
CORES_DOS_PEDIDOS = {
    SituacaoDoPedido.ABERTO.value: "info",
    SituacaoDoPedido.ATENDIDO.value: "success",
    SituacaoDoPedido.CANCELADO.value: "",
}
NOMES_DAS_CONTESTACOES = {  # os da lista de Contestações
    SituacaoDoPedido.ABERTO.value: "aberta",
    SituacaoDoPedido.ATENDIDO.value: "atendida",
    SituacaoDoPedido.INDISPONIVEL.value: "indisponível",
    SituacaoDoPedido.VENCIDO.value: "vencida",
    SituacaoDoPedido.HASH_DIVERGENTE.value: "hash divergente",
    SituacaoDoPedido.CANCELADO.value: "cancelada",
}


@admin.register(Captura)
class CapturaAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e os segredos do payload"
    change_form_template = "painel/capturas/captura.html"
    list_display = (
        "miniatura",
        "gravada",
        "aparelho",
        "o_que",
        "chegada",
        "contestacao",
    )
    list_display_links = ("miniatura", "gravada")
    list_filter = (
        PorAparelho,
        PeriodoLongo,
        PorExclusaoDeCaptura,
        PorRecorte,
        PorContestacao,
        PorHora,
        PorReenvio,
    )
    list_select_related = ("dispositivo",)
    search_fields = ("id_evento",)
    search_help_text = "Id do evento, ou um texto do payload (uma placa)"
    ordering = ("-gravado_em", "-id_evento")  # índices captura_por_gravacao e captura_do_dispositivo
    tem_historico = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Captura]:
        """Sem os bytes da imagem: quem os quer é a rota do recorte."""
        return super().get_queryset(request).select_related("dispositivo").defer("recorte")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip().replace("\0", "")
        if not termo:
            return queryset, False
        if (id_evento := ler_uuid(termo)) is not None:
            return queryset.filter(pk=id_evento), False
        queryset, recortou = recortar(queryset, "gravado_em")
        request.busca_recortada = recortou  # type: ignore[attr-defined]
        texto = Cast("payload", TextField())
        return queryset.annotate(payload_em_texto=texto).filter(payload_em_texto__icontains=termo), False

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota nas linhas a última contestação de cada uma: uma consulta por página."""
        lista = super().get_changelist_instance(request)
        pedidos = Pedido.objects.filter(captura__in=[c.pk for c in lista.result_list]).order_by("aberto_em")
        ultimos = {pedido.captura_id: pedido for pedido in pedidos}
        for captura in lista.result_list:
            captura.ultimo_pedido = ultimos.get(captura.pk)
        return lista

    @display(description="Recorte")
    def miniatura(self, captura: Captura) -> SafeString:
        if not captura.recorte_sha256:
            por_que = nomear(captura.sem_recorte) or "sem recorte"
            return format_html(
                '<span class="captura-miniatura captura-sem" title="{}">sem imagem</span>', por_que
            )
        return format_html(
            '<span class="captura-miniatura"><img src="{}" alt="Recorte" loading="lazy" decoding="async"></span>',
            reverse("admin:ingestao_captura_recorte", args=[captura.pk]),
        )

    @display(description="Gravada em")
    def gravada(self, captura: Captura) -> SafeString:
        """A hora do servidor, e a do aparelho por baixo: se não se confia nela, diz."""
        suspeita = bool(captura.hora_suspeita)
        selo = format_html(SELO_DA_HORA, POR_QUE[HoraSuspeita(captura.hora_suspeita)]) if suspeita else ""
        return format_html(
            '<span class="capturas-celula">{}<small class="capturas-menor">capturada {}</small>{}</span>',
            mostrar_instante(captura.gravado_em, com_ano=False),
            mostrar_instante(captura.capturado_em, com_ano=suspeita),
            selo,
        )

    @display(description="Dispositivo")
    def aparelho(self, captura: Captura) -> SafeString | None:
        return resumir(captura.dispositivo.nome, 40)

    @display(description="O quê")
    def o_que(self, captura: Captura) -> SafeString | str:
        return format_html("{}{}", EXCLUIDA if captura.deletado else "", descrever(captura.payload))

    @display(description="Até o ACK")
    def chegada(self, captura: Captura) -> SafeString | str:
        latencia = mostrar_duracao(captura.latencia_ms)
        link, fila = captura.reenvios_link, captura.reenvios_fila
        if not link + fila:
            return latencia
        return format_html(
            '<span class="capturas-celula" title="{} por link, {} por fila">'
            '{}<small class="capturas-menor">chegou {} vezes</small></span>',
            link,
            fila,
            latencia,
            1 + link + fila,
        )

    @display(description="Contestação")
    def contestacao(self, captura: Any) -> SafeString | str:
        if captura.ultimo_pedido is None:
            return VAZIO
        return format_html(
            '<span class="lastro-selo lastro-selo-{}">{}</span>',
            CORES_DOS_PEDIDOS.get(captura.ultimo_pedido.situacao, "danger") or "base",
            NOMES_DAS_CONTESTACOES[captura.ultimo_pedido.situacao],
        )

    def get_urls(self) -> list[URLPattern]:
        protegida = self.admin_site.admin_view
        rotas = [
            path(
                "<uuid:id_evento>/recorte/",
                protegida(require_safe(self.mostrar_recorte), cacheable=True),
                name="ingestao_captura_recorte",
            )
        ]
        rotas += [
            path(
                f"<uuid:id_evento>/{ato}/",
                protegida(self.agir),
                {"ato": ato},
                name=f"ingestao_captura_{ato}",
            )
            for ato in ("contestar", "excluir", "restaurar")
        ]
        return [*rotas, *super().get_urls()]

    def mostrar_recorte(self, request: HttpRequest, id_evento: UUID) -> HttpResponseBase:
        """O JPEG do recorte, para a lista e para a página."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return responder_recorte(request, id_evento)

    def agir(self, request: HttpRequest, id_evento: UUID, ato: str) -> HttpResponse:
        """Contestar, excluir ou restaurar, com motivo."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        captura = self.get_queryset(request).filter(pk=id_evento).first()
        if captura is None:
            raise Http404("Não há captura com este id.")
        return conduzir_ato(self, request, ato, captura)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return super().get_object(request, object_id, from_field) if ler_uuid(object_id) else None

    def nomear(self, registro: Captura) -> str:
        return dar_nome(registro)

    def montar_pagina(self, request: HttpRequest, registro: Captura) -> dict[str, Any]:
        agora = timezone.now()
        ler = leitor(request)
        pedidos = []
        if request.user.has_perm("ingestao.view_pedido"):
            pedidos = list(registro.pedidos.select_related("aberto_por").order_by("-aberto_em", "-id"))
        aberto = next((p for p in pedidos if p.situacao == SituacaoDoPedido.ABERTO), None)
        atos = AtoDeCaptura.objects.filter(captura=registro.pk).select_related("autor").order_by("-id")
        recentes = list(atos[: ATOS_NA_TRILHA + 1])
        return {
            "nome": neutralizar(registro.dispositivo.nome),
            "numeros": listar_numeros(registro),
            "desenho": desenhar(registro),
            "tem_recorte": bool(registro.recorte_sha256),
            "sem_recorte": nomear(registro.sem_recorte),
            "imagem": montar_imagem(registro),
            "tempos": montar_tempos(registro),
            "identidade": montar_identidade(registro),
            "payload": ler(escrever_json(registro.payload)),
            "pedidos": [
                (p, descrever_andamento(p, registro.dispositivo, agora), ler(p.motivo)) for p in pedidos
            ],
            "pode_cancelar": request.user.has_perm("ingestao.add_pedido"),
            "botoes": listar_botoes(request, registro, aberto),
            "trilha": [contar_ato(ato) for ato in reversed(recentes[:ATOS_NA_TRILHA])],
            "trilha_cortada": len(recentes) > ATOS_NA_TRILHA,
            "recusas": [
                {"recusa": recusa, "aparelho": neutralizar(recusa.dispositivo.nome)}
                for recusa in CapturaRecusada.objects.filter(id_evento=registro.pk)
                .select_related("dispositivo")
                .order_by("-ultima_em")[:RECUSAS_NA_PAGINA]
            ],
        }


def descrever(payload: Any) -> SafeString | str:
    """O payload numa linha: `placa: ABC1D23 · confianca: 0.93`; sempre mascarado, como em toda lista."""
    if isinstance(payload, dict):
        texto = " · ".join(_escrever_par(*par) for par in islice(payload.items(), PARES_NA_LISTA))
    else:
        texto = _compacto(payload)
    return resumir(texto) or VAZIO


def _escrever_par(chave: str, valor: Any) -> str:
    """`chave: valor`; em JSON mascarado se ali há um segredo, que só a forma de JSON deixa reconhecer."""
    cru = _compacto({chave: valor})
    mascarado = mascarar_texto(cru)
    return f"{chave}: {_compacto(valor)}" if mascarado == cru else mascarado[1:-1]


def _compacto(valor: Any) -> str:
    return valor if isinstance(valor, str) else json.dumps(valor, ensure_ascii=False)
