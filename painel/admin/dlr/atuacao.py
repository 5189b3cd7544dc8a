"""A página dos atos sobre exceções: mostrar o que vai acontecer, pedir o motivo, fazer e contar."""

from collections.abc import Sequence
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from unfold.decorators import action

from dlr.excecoes import AcaoImpossivel, Ato
from dlr.models import Excecao, Mensagem, SituacaoDaExcecao
from painel.admin.dlr.ato import ATOS, DescricaoDoAto, FormularioDeAto, prever
from painel.admin.dlr.candidata import comparar
from painel.admin.filtros import ler_inteiro
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir

POR_VEZ = 500  # cada uma deixa um ato na trilha, e reprocessar trava as mensagens delas até o fim
CITADAS = 20


class AtosDeExcecao(TabelaGrande):
    """A lista de exceções com os atos: os de massa, pela seleção; os de uma, pelos botões da página."""

    actions = ("reprocessar", "atribuir", "descartar")
    list_disable_select_all = True

    def has_atos_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("dlr.change_excecao")

    @action(description="Reprocessar as selecionadas…", permissions=["atos"])
    def reprocessar(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self.pedir_de_muitas(request, queryset, "reprocessar")

    @action(description="Atribuir as selecionadas…", permissions=["atos"])
    def atribuir(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self.pedir_de_muitas(request, queryset, "atribuir")

    @action(description="Descartar as selecionadas…", permissions=["atos"])
    def descartar(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return self.pedir_de_muitas(request, queryset, "descartar")

    def pedir_de_muitas(self, request: HttpRequest, queryset: QuerySet, verbo: str) -> HttpResponse | None:
        """A página do ato para a seleção; recusa inteira a que passa de `POR_VEZ`."""
        ids = list(queryset.order_by().values_list("pk", flat=True)[: POR_VEZ + 1])
        if len(ids) > POR_VEZ:
            messages.error(request, f"Nada mudou: escolha até {POR_VEZ} exceções por vez.")
            return None
        return self.mostrar_ato(request, verbo, buscar_excecoes(ids), de_muitas=True)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.agir)
        return [path("atos/<slug:verbo>/", view, name="dlr_excecao_ato"), *super().get_urls()]

    def agir(self, request: HttpRequest, verbo: str) -> HttpResponse:
        """GET mostra o ato sobre as exceções do endereço; POST o faz e diz quantas mudaram."""
        if not self.has_atos_permission(request):
            raise PermissionDenied
        pedido = request.POST if request.method == "POST" else request.GET
        ids = [numero for texto in pedido.getlist("excecao") if (numero := ler_inteiro(texto)) is not None]
        alvos = buscar_excecoes(ids[:POR_VEZ])
        if verbo not in ATOS or not alvos or len(ids) > POR_VEZ:
            raise Http404
        de_muitas = "de_muitas" in pedido
        if not ATOS[verbo].de_muitas and (de_muitas or len(alvos) != 1):
            raise Http404
        if request.method == "POST":
            return self.fazer_ato(request, verbo, alvos, de_muitas=de_muitas)
        return self.mostrar_ato(request, verbo, alvos, de_muitas=de_muitas)

    def fazer_ato(
        self, request: HttpRequest, verbo: str, alvos: list[Excecao], *, de_muitas: bool
    ) -> HttpResponse:
        """Confere o formulário e executa; o que não cabe volta à página com a frase."""
        usuario = cast("User", request.user)
        descricao = ATOS[verbo]
        formulario = descricao.formulario(request.POST, alvos=alvos, usuario=usuario)
        if formulario.is_valid():
            try:
                ato = Ato(autor=usuario, motivo=formulario.cleaned_data["motivo"], agora=timezone.now())
                messages.success(request, descricao.fazer(formulario, ato))
                deixar_na_trilha(descricao, alvos, ato)
            except AcaoImpossivel as erro:
                formulario.add_error(None, str(erro))
            else:
                if de_muitas:
                    return redirect("admin:dlr_excecao_changelist")
                return redirect("admin:dlr_excecao_change", alvos[0].pk)
        return self.mostrar_ato(request, verbo, alvos, de_muitas=de_muitas, formulario=formulario)

    def mostrar_ato(
        self,
        request: HttpRequest,
        verbo: str,
        alvos: list[Excecao],
        *,
        de_muitas: bool,
        formulario: FormularioDeAto | None = None,
    ) -> HttpResponse:
        """A página do ato: a consequência, a prévia de reprocessar, o formulário."""
        descricao = ATOS[verbo]
        if formulario is None:
            inicial = {"mensagem": request.GET.get("mensagem", "")}
            usuario = cast("User", request.user)
            formulario = descricao.formulario(initial=inicial, alvos=alvos, usuario=usuario)
        contexto = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{descricao.rotulo}: {nomear_alvos(alvos)}",
            "verbo": verbo,
            "ato": descricao,
            "de_muitas": de_muitas,
            "alvos": alvos,
            "citadas": [_citar(excecao) for excecao in alvos[:CITADAS]],
            "nao_citadas": max(0, len(alvos) - CITADAS),
            "formulario": formulario,
            "previa": _montar_previa(descricao, alvos),
            "escolhida": _mostrar_escolhida(formulario, alvos[0]) if verbo == "ligar" else None,
            "url": reverse("admin:dlr_excecao_ato", args=[verbo]),
        }
        return TemplateResponse(request, "painel/dlr/ato.html", contexto)


def buscar_excecoes(ids: Sequence[int]) -> list[Excecao]:
    """As exceções, com o que as páginas mostram delas, na ordem da lista."""
    consulta = Excecao.objects.filter(pk__in=ids).select_related("integracao", "mensagem", "evento")
    return list(consulta.order_by("-aberta_em", "-id"))


def deixar_na_trilha(descricao: DescricaoDoAto, alvos: Sequence[Excecao], ato: Ato) -> None:
    """Repete na trilha geral o ato, das exceções que ele alcançou: as que ganharam uma ação agora."""
    alcancadas = Excecao.objects.filter(
        pk__in=[excecao.pk for excecao in alvos], acoes__autor=ato.autor, acoes__feita_em=ato.agora
    )
    historico = f"{descricao.rotulo}: {ato.motivo}"
    LogEntry.objects.log_actions(ato.autor.pk, list(alcancadas.order_by("pk").distinct()), CHANGE, historico)


def nomear_alvos(alvos: Sequence[Excecao]) -> str:
    """`Sem correlação #12`, ou `3 exceções`."""
    return str(alvos[0]) if len(alvos) == 1 else f"{len(alvos)} exceções"


def _mostrar_escolhida(formulario: FormularioDeAto, excecao: Excecao) -> dict[str, Any] | None:
    """A mensagem que já veio escolhida no endereço ou no formulário, para conferir antes de ligar."""
    numero = ler_inteiro(str(formulario["mensagem"].value() or "")) or 0
    mensagem = (
        Mensagem.objects.filter(pk=numero, integracao_id=excecao.integracao_id)
        .select_related("projecao")
        .prefetch_related("identificadores")
        .first()
    )
    if mensagem is None:
        return None
    dica: dict[str, Any] = next((d for d in excecao.dicas if d.get("mensagem") == numero), {})
    externos = ", ".join(i.valor for i in mensagem.identificadores.all()[:3])
    return comparar(mensagem, {"id_externo": externos, **dica}, excecao.evento) | {"tem_dica": bool(dica)}


def _montar_previa(descricao: DescricaoDoAto, alvos: list[Excecao]) -> dict[str, Any] | None:
    if not descricao.com_previa:
        return None
    resolveriam, resultados = prever([excecao.pk for excecao in alvos])
    por_id = {excecao.pk: excecao for excecao in alvos}
    return {
        "resolveriam": resolveriam,
        "abertas": len(resultados),
        "linhas": [
            {
                "excecao": por_id[resultado["excecao"]],
                "resolve": resultado["situacao"] != SituacaoDaExcecao.ABERTA,
                "por_que": neutralizar(resultado["encerramento"]),
            }
            for resultado in resultados[:CITADAS]
        ],
    }


def _citar(excecao: Excecao) -> dict[str, Any]:
    return {"excecao": excecao, "detalhe": resumir(excecao.detalhe, 80)}
