"""A triagem pelas telas: pela seleção da lista, e pelo formulário da página de um erro."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from ingestao.models import Erro
from painel.admin.ingestao.triagem import ANOTAR, ATRIBUIR, NOTA_CARACTERES, Verbo, anotar, atribuir, triar
from painel.admin.tabela_grande import TabelaGrande

TRIADOS_POR_VEZ = 1_000  # cada um deixa uma linha na trilha; mais que isto pede um filtro melhor


class FormularioDeTriagem(forms.Form):
    """A nota, que acompanha qualquer ato, e quem cuida."""

    nota = forms.CharField(
        label="Nota",
        required=False,
        max_length=NOTA_CARACTERES,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Vai junto de qualquer botão abaixo e fica na trilha, com o seu nome e a hora.",
    )
    responsavel = forms.ModelChoiceField(
        label="Quem cuida",
        required=False,
        queryset=User.objects.none(),
        empty_label="ninguém",
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        equipe = User.objects.filter(is_staff=True, is_active=True).order_by("username")
        self.fields["responsavel"].queryset = equipe  # type: ignore[attr-defined]


class TriagemDeErros(TabelaGrande):
    """A lista de erros com as decisões de massa, e o endereço que recebe as de um erro só."""

    actions = ("resolver", "ignorar", "reabrir")
    list_disable_select_all = True

    def has_triagem_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("ingestao.change_erro")

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

    def triar_e_dizer(self, request: HttpRequest, ids: list, verbo: Verbo, nota: str = "") -> None:
        """Aplica a decisão e diz quantos mudaram e quantos já estavam assim."""
        mudaram = triar(ids, verbo, cast("User", request.user), timezone.now(), nota=nota)
        ja_estavam = len(ids) - mudaram
        resto = f"; {ja_estavam} já {'estava' if ja_estavam == 1 else 'estavam'} assim" if ja_estavam else ""
        nivel = messages.SUCCESS if mudaram else messages.WARNING
        messages.add_message(request, nivel, f"{verbo.value.contar(mudaram)}{resto}.")

    def get_urls(self) -> list[URLPattern]:
        triagem = self.admin_site.admin_view(require_POST(self.triar_um))
        return [path("<path:object_id>/triagem/", triagem, name="ingestao_erro_triagem"), *super().get_urls()]

    def triar_um(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Um dos botões da página do erro, com a nota e o responsável que estiverem no formulário."""
        if not self.has_triagem_permission(request):
            raise PermissionDenied
        verbo = request.POST.get("verbo", "")
        if verbo not in {*Verbo.__members__, "ATRIBUIR", "ANOTAR"}:
            return HttpResponseBadRequest("Verbo desconhecido.")
        erro = cast("Erro | None", self.get_object(request, object_id))
        if erro is None:
            messages.error(request, "Este erro não existe mais: a retenção o apagou.")
            return redirect("admin:ingestao_erro_changelist")
        formulario = FormularioDeTriagem(request.POST)
        if not formulario.is_valid():
            for frases in formulario.errors.values():
                messages.error(request, f"Nada mudou. {' '.join(map(str, frases))}")
        else:
            self.fazer(request, erro, verbo.lower(), **formulario.cleaned_data)
        return redirect("admin:ingestao_erro_change", erro.pk)

    def fazer(
        self, request: HttpRequest, erro: Erro, verbo: str, *, nota: str, responsavel: User | None
    ) -> None:
        """Executa o ato de um erro e diz o que aconteceu."""
        usuario, agora = cast("User", request.user), timezone.now()
        if verbo == ATRIBUIR:
            mudou = atribuir([erro.pk], responsavel, usuario, agora, nota=nota)
            dono = responsavel or "ninguém"
            messages.success(request, f"Cuida: {dono}." if mudou else f"Nada mudou: já era {dono}.")
        elif verbo == ANOTAR and not nota:
            messages.error(request, "Nada mudou. Escreva a nota.")
        elif verbo == ANOTAR:
            anotar(erro.pk, usuario, agora, nota=nota)
            messages.success(request, "Nota acrescentada à trilha.")
        else:
            self.triar_e_dizer(request, [erro.pk], Verbo[verbo.upper()], nota)
