"""Erros: a lista que o suporte tria e a página de um grupo."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST
from unfold.decorators import action, display

from ingestao.eventos.agrupamento import QUADROS, normalizar
from ingestao.models import Erro, EstadoDoErro, Evento, TipoDeEvento
from painel.admin.ficha import Linha, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Escolha, Periodo, PorAplicativo, ler_uuid
from painel.admin.ingestao.triagem import Verbo, triar
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import TabelaGrande, recortar
from painel.admin.texto_alheio import resumir

AMOSTRAS = 20
TRIADOS_POR_VEZ = 1_000  # cada um deixa uma linha no histórico; mais que isto pede um filtro melhor
CORES_DOS_ESTADOS = {
    EstadoDoErro.ABERTO: "danger",
    EstadoDoErro.RESOLVIDO: "success",
    EstadoDoErro.IGNORADO: "",
}
REGREDIU = "regrediu"


class PorEstado(Escolha):
    title = "estado"
    parameter_name = campo = "estado"
    template = FICHAS

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*EstadoDoErro.choices, (REGREDIU, "Regrediu")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        if self.value() == REGREDIU:
            return queryset.filter(regrediu_em__isnull=False, estado=EstadoDoErro.ABERTO)
        return super().filtrar(queryset)


class PorTipoDeErro(Escolha):
    title = "tipo"
    parameter_name = campo = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tipos = (TipoDeEvento.ERRO_JS, TipoDeEvento.PROMISE_REJEITADA, TipoDeEvento.CONSOLE)
        return [(tipo.value, tipo.label) for tipo in tipos]


@admin.register(Erro)
class ErroAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones e os segredos do erro"
    change_form_template = "painel/erro.html"
    list_display = ("titulo_do_erro", "situacao", "aplicativo", "quantas", "primeira", "ultima", "voltou")
    list_filter = (PorAplicativo, Periodo, PorEstado, PorTipoDeErro)
    list_select_related = ("aplicativo",)
    search_fields = ("titulo",)
    search_help_text = "Texto do título, id ou impressão digital"
    ordering = ("-ultima_ocorrencia_em", "-id")  # índice erro_por_ocorrencia
    actions = ("resolver", "ignorar", "reabrir")
    list_disable_select_all = True
    tem_historico = True

    def has_triagem_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("ingestao.change_erro")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        if (id_ := ler_uuid(termo)) is not None:
            return queryset.filter(pk=id_), False
        queryset, recortou = recortar(queryset, self.ordering[0].lstrip("-"))
        request.busca_recortada = recortou  # type: ignore[attr-defined]
        campo = "impressao" if len(termo) == 64 and termo.isalnum() else "titulo__icontains"
        return queryset.filter(**{campo: termo}), False

    @display(description="erro")
    def titulo_do_erro(self, erro: Erro) -> SafeString | None:
        return resumir(erro.titulo, 90)

    @display(description="estado", label=CORES_DOS_ESTADOS)
    def situacao(self, erro: Erro) -> tuple[str, str]:
        return EstadoDoErro(erro.estado), erro.get_estado_display()

    @display(description="ocorrências")
    def quantas(self, erro: Erro) -> str:
        return mostrar_quantidade(erro.quantidade)

    @display(description="primeira")
    def primeira(self, erro: Erro) -> SafeString | str:
        return mostrar_instante(erro.primeira_ocorrencia_em, com_ano=False)

    @display(description="última")
    def ultima(self, erro: Erro) -> SafeString | str:
        return mostrar_instante(erro.ultima_ocorrencia_em, com_ano=False)

    @display(description="regressões", label={True: "warning"})
    def voltou(self, erro: Erro) -> tuple[bool, str] | None:
        return (True, f"{erro.regressoes}×") if erro.regressoes else None

    @action(description="Resolver os selecionados", permissions=["triagem"])
    def resolver(self, request: HttpRequest, queryset: QuerySet) -> None:
        self.triar_muitos(request, queryset, Verbo.RESOLVER)

    @action(description="Ignorar os selecionados", permissions=["triagem"])
    def ignorar(self, request: HttpRequest, queryset: QuerySet) -> None:
        self.triar_muitos(request, queryset, Verbo.IGNORAR)

    @action(description="Reabrir os selecionados", permissions=["triagem"])
    def reabrir(self, request: HttpRequest, queryset: QuerySet) -> None:
        self.triar_muitos(request, queryset, Verbo.REABRIR)

    def triar_muitos(self, request: HttpRequest, queryset: QuerySet, verbo: Verbo) -> None:
        """Aplica a decisão à seleção; recusa inteira a que passa de `TRIADOS_POR_VEZ`."""
        ids = list(queryset.order_by().values_list("pk", flat=True)[: TRIADOS_POR_VEZ + 1])
        if len(ids) > TRIADOS_POR_VEZ:
            messages.error(request, f"Nada mudou: escolha até {TRIADOS_POR_VEZ} erros por vez.")
            return
        self.triar_e_dizer(request, ids, verbo)

    def triar_e_dizer(self, request: HttpRequest, ids: list, verbo: Verbo) -> None:
        """Aplica a decisão e diz quantos mudaram e quantos já estavam assim."""
        mudaram = triar(ids, verbo, cast("User", request.user), timezone.now())
        ja_estavam = len(ids) - mudaram
        resto = f"; {ja_estavam} já {'estava' if ja_estavam == 1 else 'estavam'} assim" if ja_estavam else ""
        nivel = messages.SUCCESS if mudaram else messages.WARNING
        messages.add_message(request, nivel, f"{verbo.value.contar(mudaram)}{resto}.")

    def get_urls(self) -> list[URLPattern]:
        triagem = self.admin_site.admin_view(require_POST(self.triar_um))
        return [path("<path:object_id>/triagem/", triagem, name="ingestao_erro_triagem"), *super().get_urls()]

    def triar_um(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Um dos botões da página do erro."""
        if not self.has_triagem_permission(request):
            raise PermissionDenied
        verbo = request.POST.get("verbo", "")
        if verbo not in Verbo.__members__:
            return HttpResponseBadRequest("Verbo desconhecido.")
        erro = self.get_object(request, object_id)
        if erro is None:
            messages.error(request, "Este erro não existe mais: a retenção o apagou.")
            return redirect("admin:ingestao_erro_changelist")
        self.triar_e_dizer(request, [erro.pk], Verbo[verbo])
        return redirect("admin:ingestao_erro_change", erro.pk)

    def nomear(self, registro: Erro) -> str:
        return f"Erro {str(registro.pk)[:8]}"

    def montar_pagina(self, request: HttpRequest, registro: Erro) -> dict[str, Any]:
        ler = leitor(request)
        # Índice evento_do_erro, de trás para a frente.
        amostras = list(
            Evento.objects.filter(erro_id=registro.pk)
            .defer("payload")
            .order_by("-criado_em", "-id")[:AMOSTRAS]
        )
        return {
            "titulo": ler(registro.titulo),
            "cor": CORES_DOS_ESTADOS[EstadoDoErro(registro.estado)],
            "numeros": _numeros(registro),
            "agrupamento": _explicar_agrupamento(registro, amostras, ler),
            "amostras": [
                {
                    "evento": amostra,
                    "mensagem": resumir(amostra.mensagem or amostra.nome),
                    "onde": resumir(amostra.url, 60),
                }
                for amostra in amostras
            ],
            "pilha": ler(amostras[0].pilha or "") if amostras else "",
            "botoes": _botoes(registro) if self.has_triagem_permission(request) else [],
            "url_da_triagem": reverse("admin:ingestao_erro_triagem", args=[registro.pk]),
        }


def _botoes(erro: Erro) -> list[tuple[str, str]]:
    """Só as decisões que mudam alguma coisa."""
    rotulos = {Verbo.RESOLVER: "Resolver", Verbo.IGNORAR: "Ignorar", Verbo.REABRIR: "Reabrir"}
    return [(verbo.name, rotulo) for verbo, rotulo in rotulos.items() if verbo.value.estado != erro.estado]


def _numeros(erro: Erro) -> list[Linha]:
    linhas = [
        Linha(rotulo="Ocorrências", valor=mostrar_quantidade(erro.quantidade)),
        Linha(rotulo="Primeira", valor=mostrar_instante(erro.primeira_ocorrencia_em)),
        Linha(rotulo="Última", valor=mostrar_instante(erro.ultima_ocorrencia_em)),
        Linha(rotulo="Regressões", valor=mostrar_quantidade(erro.regressoes)),
    ]
    if erro.regrediu_em:
        linhas.append(Linha(rotulo="Voltou em", valor=mostrar_instante(erro.regrediu_em)))
    if erro.estado == EstadoDoErro.RESOLVIDO:
        linhas.append(Linha(rotulo="Resolvido em", valor=mostrar_instante(erro.resolvido_em)))
        linhas.append(Linha(rotulo="Resolvido por", valor=str(erro.resolvido_por or "usuário apagado")))
    return linhas


def _explicar_agrupamento(erro: Erro, amostras: list[Evento], ler: Callable[[str], str]) -> list[Linha]:
    """Do que foi feita a impressão digital; a mensagem normalizada vem da amostra mais recente."""
    tipo = TipoDeEvento(erro.tipo).label if erro.tipo in TipoDeEvento else erro.tipo
    linhas = [Linha(rotulo="Tipo", valor=tipo)]
    if amostras and amostras[0].nome:
        linhas.append(Linha(rotulo="Nome", valor=ler(amostras[0].nome)))
    if amostras and amostras[0].mensagem:
        linhas.append(Linha(rotulo="Mensagem normalizada", valor=ler(normalizar(amostras[0].mensagem))))
    topo = ler(erro.local) if erro.local else "a pilha não veio ou não foi reconhecida"
    return [
        *linhas,
        Linha(
            rotulo="Topo da pilha", valor=topo, ajuda=f"Contam até {QUADROS} quadros, sem linha nem coluna."
        ),
        Linha(rotulo="Versão da regra", valor=str(erro.versao)),
        Linha(rotulo="Impressão digital", valor=erro.impressao, ajuda="SHA-256 do que está acima."),
    ]
