"""As contestações: a lista, desistir de uma, e o quadro inteiro, que só se olha deixando trilha."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from unfold.decorators import display

from ingestao.capturas.pedidos import AtoRecusado, abrir_quadro, registrar_visualizacao
from ingestao.models import Captura, Pedido, SituacaoDoPedido
from painel.admin.capturas.andamento import descrever_andamento
from painel.admin.capturas.contestacao import conduzir_ato, dar_nome
from painel.admin.capturas.desenho import desenhar
from painel.admin.capturas.filtros import Fechado, PeriodoLongo, PorAparelho
from painel.admin.capturas.imagens import responder_quadro
from painel.admin.ficha import Linha, mostrar_instante
from painel.admin.filtros import FICHAS
from painel.admin.inerte import neutralizar
from painel.admin.somente_leitura import Apresentado
from painel.admin.tabela_grande import ListaComBarra
from painel.admin.texto_alheio import resumir
from painel.admin.trilha import SemPagina
from painel.graficos import mostrar_bytes
from painel.templatetags.ligacoes import ligar_ao_registro


class PorSituacaoDoPedido(Fechado):
    title = "situação"
    parameter_name = campo = "situacao"
    template = FICHAS
    tudo = "Todas"
    valores = (
        ("aberto", "Abertas"),
        ("atendido", "Atendidas"),
        ("indisponivel", "Indisponíveis"),
        ("hash_divergente", "Hash divergente"),
        ("vencido", "Vencidas"),
        ("cancelado", "Canceladas"),
    )

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        """O índice pedido_por_situacao a atende: sem janela."""
        return queryset if self.value() is None else queryset.filter(situacao=self.value())


@admin.register(Pedido)
class PedidoAdmin(SemPagina, ListaComBarra):
    list_display = ("quando", "andamento", "de_que_captura", "aparelho", "por_quem", "por_que")
    list_filter = (PorSituacaoDoPedido, PorAparelho, PeriodoLongo)
    list_select_related = ("dispositivo", "aberto_por")
    ordering = ("-aberto_em", "-id")

    @display(description="Aberta em")
    def quando(self, pedido: Pedido) -> SafeString | str:
        return mostrar_instante(pedido.aberto_em)

    @display(description="Situação")
    def andamento(self, pedido: Pedido) -> SafeString:
        andamento = descrever_andamento(pedido, pedido.dispositivo, timezone.now())
        aberta = pedido.situacao == SituacaoDoPedido.ABERTO
        vence = f"vence em {timezone.localtime(pedido.vence_em):%d/%m %H:%M}" if aberta else ""
        return format_html(
            '<span class="capturas-celula"><span class="lastro-selo lastro-selo-{}" title="{}">{}</span>'
            '<small class="capturas-menor">{}</small></span>',
            andamento.cor or "base",
            andamento.frase,
            andamento.nome,
            vence,
        )

    @display(description="Captura")
    def de_que_captura(self, pedido: Pedido) -> Any:
        nome = f"{str(pedido.captura_id)[:8]}…"
        return ligar_ao_registro(pedido.visto_por, Captura, pedido.captura_id, nome)  # type: ignore[attr-defined]

    @display(description="Dispositivo")
    def aparelho(self, pedido: Pedido) -> SafeString | None:
        return resumir(pedido.dispositivo.nome, 40)

    @display(description="Quem contestou")
    def por_quem(self, pedido: Pedido) -> str:
        return str(pedido.aberto_por)

    @display(description="Motivo")
    def por_que(self, pedido: Pedido) -> SafeString | None:
        return resumir(pedido.motivo, 80)

    def get_urls(self) -> list[URLPattern]:
        protegida = self.admin_site.admin_view
        return [
            path("<uuid:pedido_id>/cancelar/", protegida(self.cancelar), name="ingestao_pedido_cancelar"),
            path("<uuid:pedido_id>/quadro/", protegida(self.ver_quadro), name="ingestao_pedido_quadro"),
            path(
                "<uuid:pedido_id>/quadro.jpg",
                protegida(require_GET(self.entregar_quadro)),
                name="ingestao_pedido_imagem",
            ),
            *super().get_urls(),
        ]

    def cancelar(self, request: HttpRequest, pedido_id: UUID) -> HttpResponse:
        """Desistir, com motivo."""
        pedido = self._buscar(request, pedido_id)
        return conduzir_ato(self, request, "cancelar", pedido.captura, pedido)

    def ver_quadro(self, request: HttpRequest, pedido_id: UUID) -> HttpResponse:
        """A tela do quadro com a caixa por cima. Quem entrega os bytes, e escreve na trilha, é a outra rota."""
        pedido = self._buscar(request, pedido_id)
        captura = pedido.captura
        if pedido.situacao != SituacaoDoPedido.ATENDIDO:
            messages.warning(request, "O quadro desta contestação ainda não chegou, ou não vai chegar.")
            return redirect("admin:ingestao_captura_change", captura.pk)
        contexto = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Quadro inteiro",
            "original": Apresentado(captura, dar_nome(captura)),
            "pedido": pedido,
            "nome": neutralizar(pedido.dispositivo.nome),
            "desenho": desenhar(captura),
            "imagem": reverse("admin:ingestao_pedido_imagem", args=[pedido.pk]),
            "ficha": [
                Linha(rotulo="Chegou em", valor=mostrar_instante(pedido.encerrado_em)),
                Linha(rotulo="Capturado em", valor=mostrar_instante(captura.capturado_em)),
                Linha(rotulo="Tamanho", valor=mostrar_bytes(pedido.quadro_bytes)),
                Linha(rotulo="SHA-256, confere", valor=pedido.quadro_sha256),
            ],
        }
        return TemplateResponse(request, "painel/capturas/quadro.html", contexto)

    def entregar_quadro(self, request: HttpRequest, pedido_id: UUID) -> HttpResponseBase:
        """Os bytes do quadro. A trilha é gravada antes: se não deu, ninguém vê."""
        pedido = self._buscar(request, pedido_id)
        try:
            arquivo = abrir_quadro(pedido)
        except AtoRecusado as erro:
            raise Http404(erro.detalhe) from erro
        registrar_visualizacao(pedido, cast("User", request.user))
        return responder_quadro(arquivo.chunks(), pedido.quadro_bytes, str(pedido.captura_id))

    def _buscar(self, request: HttpRequest, pedido_id: UUID) -> Pedido:
        """O pedido com a captura dele, sem os bytes do recorte. Levanta `PermissionDenied` ou `Http404`."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        pedidos = Pedido.objects.select_related("captura", "dispositivo").defer("captura__recorte")
        pedido = pedidos.filter(pk=pedido_id).first()
        if pedido is None:
            raise Http404("Não há contestação com este id.")
        return pedido
