"""As medidas das capturas: a página com os gráficos de todos os aparelhos, e as contagens cruas por trás dela."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_GET
from unfold.decorators import display

from ingestao.capturas.consultas import resumir, resumir_por_dispositivo
from ingestao.capturas.medidas import (
    BYTES,
    CONFLITOS,
    DESCARTADOS,
    INVALIDOS,
    LATENCIA_MS,
    RAZAO_PPM,
    Resumo,
    valor_da_faixa,
)
from ingestao.models import Captura, CapturaRecusada, Dispositivo, MedidaDeCaptura, RelatoDeDescarte
from painel.admin.capturas.filtros import PorAparelho
from painel.admin.capturas.series import buscar_pontos, escolher_janela, montar_graficos
from painel.admin.ficha import VAZIO, Linha, mostrar_quantidade
from painel.admin.filtros import FICHAS, Filtro
from painel.admin.inerte import neutralizar
from painel.admin.ingestao.uso import ListaDeContagens
from painel.admin.texto_alheio import resumir as resumir_texto
from painel.graficos import mostrar_bytes, mostrar_duracao, mostrar_percentual
from painel.inicio.visao import Visao

DISTRIBUICOES = (LATENCIA_MS, BYTES, RAZAO_PPM)
NO_RANKING = 8  # o bastante para ver quem destoa; a lista inteira é a dos aparelhos


class Em24Horas(Filtro):
    """As vinte e quatro horas cheias até agora."""

    title = "período"
    parameter_name = "quando"
    template = FICHAS
    tudo = "Tudo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("24h", "24 horas")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        return queryset.filter(hora__gt=timezone.now() - timedelta(hours=24))


FAMILIAS = {
    DESCARTADOS: "todos os descartes",
    INVALIDOS: "todos os inválidos",
    CONFLITOS: "todos os conflitos",
}


class PorMedida(Filtro):
    """A medida, entre as das últimas 24 horas."""

    title = "medida"
    parameter_name = "medida"
    tudo = "Todas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        recentes = MedidaDeCaptura.objects.filter(hora__gt=timezone.now() - timedelta(hours=24))
        medidas = recentes.order_by("medida").values_list("medida", flat=True).distinct()
        return [*FAMILIAS.items(), *((medida, neutralizar(medida)) for medida in medidas)]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() is None:
            return queryset
        if self.value() in FAMILIAS:
            return queryset.filter(medida__startswith=self.value())
        return queryset.filter(medida=self.value())


@admin.register(MedidaDeCaptura)
class MedidaDeCapturaAdmin(ListaDeContagens):
    list_display = ("na_hora", "do_aparelho", "qual", "por_volta_de", "quantas")
    list_filter = (Em24Horas, PorAparelho, PorMedida)
    list_select_related = ("dispositivo",)
    ordering = ("-hora", "medida", "id")  # índice medida_por_hora

    @display(description="Hora")
    def na_hora(self, medida: MedidaDeCaptura) -> str:
        return f"{timezone.localtime(medida.hora):%d/%m/%Y %H}h"

    @display(description="Dispositivo")
    def do_aparelho(self, medida: MedidaDeCaptura) -> SafeString | None:
        return resumir_texto(medida.dispositivo.nome, 60)

    @display(description="Medida")
    def qual(self, medida: MedidaDeCaptura) -> SafeString | None:
        return resumir_texto(medida.medida, 60)

    @display(description="Por volta de")
    def por_volta_de(self, medida: MedidaDeCaptura) -> str:
        if medida.medida not in DISTRIBUICOES:
            return VAZIO
        return mostrar_quantidade(round(valor_da_faixa(medida.faixa)))

    @display(description="Quantas")
    def quantas(self, medida: MedidaDeCaptura) -> str:
        return mostrar_quantidade(medida.quantidade)

    def get_urls(self) -> list[URLPattern]:
        panorama = self.admin_site.admin_view(require_GET(self.panorama))
        return [path("panorama/", panorama, name="ingestao_medidadecaptura_panorama"), *super().get_urls()]

    def panorama(self, request: HttpRequest) -> HttpResponse:
        """Todos os aparelhos juntos, por hora ou por dia, e os que mais destoam. Quatro idas ao banco."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        janela = escolher_janela(request.GET.get("por"), timezone.now())
        visao = Visao(request)

        def ligar(o_que: str, codigo: str) -> str:
            modelo = {"gravadas": Captura, "descartes": RelatoDeDescarte}.get(o_que, CapturaRecusada)
            return visao.lista(modelo, **({"codigo": codigo} if codigo else {}))

        contexto = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Capturas: medidas",
            "janela": janela,
            "numeros": _numeros(resumir(janela.de, janela.ate)),
            "graficos": montar_graficos(buscar_pontos(janela), janela, ligar),
            "rankings": _rankings(resumir_por_dispositivo(janela.de, janela.ate), visao),
            "url_das_contagens": visao.lista(MedidaDeCaptura),
        }
        return TemplateResponse(request, "painel/capturas/medidas.html", contexto)


def _numeros(resumo: Resumo) -> list[Linha]:
    taxa = resumo.taxa_de_reenvio
    recusados = sum(resumo.invalidos.values()) + sum(resumo.conflitos.values())
    return [
        Linha(rotulo="Gravadas", valor=mostrar_quantidade(resumo.gravadas)),
        Linha(
            rotulo="Latência p50 · p95",
            valor=f"{mostrar_duracao(resumo.latencia_ms.p50)} · {mostrar_duracao(resumo.latencia_ms.p95)}",
        ),
        Linha(rotulo="Reenvios", valor=mostrar_percentual(None if taxa is None else taxa * 100)),
        Linha(
            rotulo="Bytes p50 · p95",
            valor=f"{mostrar_bytes(resumo.bytes.p50)} · {mostrar_bytes(resumo.bytes.p95)}",
        ),
        Linha(rotulo="Inválidos e conflitos", valor=mostrar_quantidade(recusados)),
        Linha(rotulo="Descartados", valor=mostrar_quantidade(sum(resumo.descartados.values()))),
    ]


def _rankings(resumos: Mapping[UUID, Resumo], visao: Visao) -> list[dict[str, Any]]:
    """Três listas de aparelhos, do pior ao melhor; quem não tem nada a dizer não entra."""

    def reenvio(resumo: Resumo) -> float:
        return resumo.taxa_de_reenvio or 0

    def latencia(resumo: Resumo) -> float:
        return resumo.latencia_ms.p95 or 0

    def descartes(resumo: Resumo) -> float:
        return sum(resumo.descartados.values())

    medidas: list[tuple[str, Callable[[Resumo], float], Callable[[Resumo], str]]] = [
        (
            "Reenviam mais",
            reenvio,
            lambda r: (
                f"{mostrar_percentual(reenvio(r) * 100)}: {r.reenvios_link} link, {r.reenvios_fila} fila"
            ),
        ),
        ("Demoram mais (p95)", latencia, lambda r: mostrar_duracao(latencia(r))),
        ("Descartam mais", descartes, lambda r: mostrar_quantidade(int(descartes(r)))),
    ]
    escolhidos = {titulo: _maiores(resumos, medida) for titulo, medida, _ in medidas}
    ids = {id_ for maiores in escolhidos.values() for id_ in maiores}
    nomes = dict(Dispositivo.objects.filter(pk__in=ids).values_list("pk", "nome"))
    return [
        {
            "titulo": titulo,
            "linhas": [
                (
                    resumir_texto(nomes.get(id_, ""), 40),
                    visao.pagina(Dispositivo, id_),
                    escrever(resumos[id_]),
                )
                for id_ in escolhidos[titulo]
            ],
        }
        for titulo, _, escrever in medidas
    ]


def _maiores(resumos: Mapping[UUID, Resumo], medida: Callable[[Resumo], float]) -> list[UUID]:
    com_algo = [id_ for id_, resumo in resumos.items() if medida(resumo) > 0]
    return sorted(com_algo, key=lambda id_: (-medida(resumos[id_]), str(id_)))[:NO_RANKING]
