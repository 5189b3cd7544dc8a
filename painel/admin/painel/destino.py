"""Destinos de avisos: quem recebe, o segredo mostrado uma vez, e o "enviar teste"."""

from typing import Any, cast
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from ingestao.models import Aplicativo
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import ListaOrdenada
from painel.avisos import atos, entrega
from painel.models import Canal, DestinoDeAviso, EntregaDeAviso, TipoDeAviso

ULTIMAS = 10


class FormularioDeDestino(forms.ModelForm):
    tipos = forms.MultipleChoiceField(
        label="De que avisar",
        choices=TipoDeAviso.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        error_messages={"required": "Marque ao menos um: sem tipos este destino não ouve nada."},
    )
    url = forms.CharField(
        label="URL do webhook",
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"spellcheck": "false", "placeholder": "https://"}),
        help_text="http(s), num endereço público. Sem redirecionamento.",
    )

    class Meta:
        model = DestinoDeAviso
        fields = (
            "nome",
            "canal",
            "emails",
            "url",
            "tipos",
            "aplicativo",
            "repetir_apos_h",
            "silencio_de",
            "silencio_ate",
            "fuso",
            "critico_fura",
            "ativo",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (aplicativo := self.fields.get("aplicativo")) is not None:  # falta a quem só pode ver
            campo = cast("forms.ModelChoiceField[Aplicativo]", aplicativo)
            campo.queryset = Aplicativo.objects.filter(deletado=False)
            campo.empty_label = "o servidor inteiro"


@admin.register(DestinoDeAviso)
class DestinoDeAvisoAdmin(ModelAdmin):
    form = FormularioDeDestino
    change_form_template = "painel/avisos/destino.html"
    list_display = ("nome_e_situacao", "canal", "aonde", "de_que", "silencio")
    ordering = ("nome", "id")
    sortable_by = ()
    show_full_result_count = False
    actions_detail = ("enviar_teste", "trocar_o_segredo")
    warn_unsaved_form = True
    compressed_fields = True
    fieldsets = (
        (None, {"fields": ("nome", "ativo", "canal", "emails", "url")}),
        ("O que ouve", {"fields": ("tipos", "aplicativo", "repetir_apos_h")}),
        ("Horas de silêncio", {"fields": (("silencio_de", "silencio_ate"), "fuso", "critico_fura")}),
    )

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListaOrdenada]:
        return ListaOrdenada

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: as entregas apontam para ele. Desmarque “ativo”."""
        return False

    @display(description="Destino")
    def nome_e_situacao(self, destino: DestinoDeAviso) -> SafeString | str:
        if destino.ativo:
            return destino.nome
        return format_html('{} <span class="lastro-selo">desligado</span>', destino.nome)

    @display(description="Para")
    def aonde(self, destino: DestinoDeAviso) -> str:
        """Do webhook, só o servidor: o caminho costuma trazer o segredo de quem recebe."""
        return destino.emails if destino.canal == Canal.EMAIL else urlsplit(destino.url).netloc

    @display(description="De que")
    def de_que(self, destino: DestinoDeAviso) -> str:
        if set(destino.tipos) == set(TipoDeAviso.values):
            return "tudo"
        return ", ".join(TipoDeAviso(tipo).label for tipo in destino.tipos)

    @display(description="Silêncio")
    def silencio(self, destino: DestinoDeAviso) -> str | None:
        if destino.silencio_de is None or destino.silencio_ate is None:
            return None
        return f"{destino.silencio_de:%H:%M} às {destino.silencio_ate:%H:%M} ({destino.fuso})"

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """Só o webhook tem segredo."""
        acoes = super().get_actions_detail(request, object_id)
        destino = self.get_object(request, object_id)  # None também para uma chave que nem número é
        if destino is not None and destino.canal == Canal.WEBHOOK:
            return acoes
        return [acao for acao in acoes if not acao.action_name.endswith("trocar_o_segredo")]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context["subtitle"] = None
        if obj is not None:
            entregas = EntregaDeAviso.objects.filter(destino=obj).order_by("-criada_em")[:ULTIMAS]
            context["entregas"] = [(e, neutralizar(e.conteudo["titulo"])) for e in entregas]
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def save_model(
        self, request: HttpRequest, obj: DestinoDeAviso, form: forms.ModelForm, change: bool
    ) -> None:
        """Um webhook ganha o seu segredo na primeira vez que é gravado como webhook."""
        if obj.canal == Canal.WEBHOOK and not obj.segredo_cifrado:
            request.segredo_novo = obj.trocar_segredo()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def response_add(
        self, request: HttpRequest, obj: DestinoDeAviso, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.mostrar_segredo_novo(request, obj) or super().response_add(
            request, obj, post_url_continue
        )

    def response_change(self, request: HttpRequest, obj: DestinoDeAviso) -> HttpResponse:
        return self.mostrar_segredo_novo(request, obj) or super().response_change(request, obj)

    def mostrar_segredo_novo(self, request: HttpRequest, destino: DestinoDeAviso) -> HttpResponse | None:
        """A única página que traz o segredo; None se nenhum nasceu agora."""
        segredo = getattr(request, "segredo_novo", None)
        if segredo is None:
            return None
        return TemplateResponse(
            request, "painel/avisos/segredo.html", self._contexto(request, destino) | {"segredo": segredo}
        )

    def _contexto(self, request: HttpRequest, destino: DestinoDeAviso) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": destino,
            "title": destino.nome,
        }

    @action(description="Enviar teste", url_path="enviar-teste", permissions=["change"], icon="send")
    def enviar_teste(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """GET diz o que será mandado; POST manda agora, uma vez, e conta o que o outro lado respondeu."""
        destino = cast("DestinoDeAviso | None", self.get_object(request, object_id))
        if destino is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            contexto = self._contexto(request, destino)
            return TemplateResponse(request, "painel/avisos/confirmar_teste.html", contexto)
        agora = timezone.now()
        feita = entrega.enviar_agora(atos.enfileirar_teste(destino, agora).pk, agora)
        if feita is None:
            messages.warning(request, "O teste está na fila: sai em até um minuto.")
        elif feita.situacao == EntregaDeAviso.Situacao.ENTREGUE:
            ultima = feita.historico.latest("id")
            detalhe = f" Respondeu {ultima.status} em {ultima.duracao_ms} ms." if ultima.status else ""
            messages.success(request, f"Teste entregue.{detalhe}")
        else:
            messages.error(request, f"O teste não chegou: {feita.encerramento}")
        return redirect("admin:painel_destinodeaviso_change", destino.pk)

    @action(description="Trocar o segredo", url_path="trocar-segredo", permissions=["change"], icon="key")
    def trocar_o_segredo(self, request: HttpRequest, object_id: str) -> HttpResponse:
        destino = cast("DestinoDeAviso | None", self.get_object(request, object_id))
        if destino is None or destino.canal != Canal.WEBHOOK:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            contexto = self._contexto(request, destino)
            return TemplateResponse(request, "painel/avisos/confirmar_segredo.html", contexto)
        with transaction.atomic():
            travado = DestinoDeAviso.objects.select_for_update(of=("self",)).get(pk=destino.pk)
            request.segredo_novo = travado.trocar_segredo()  # type: ignore[attr-defined]
            travado.save(update_fields=["segredo_cifrado"])
            self.log_change(request, travado, "Trocou o segredo.")
        return cast("HttpResponse", self.mostrar_segredo_novo(request, travado))
