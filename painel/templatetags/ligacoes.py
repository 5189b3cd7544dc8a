"""Ligações que respeitam o papel: quem não pode abrir o registro vê o texto, não um link que recusa.

{% load ligacoes %}{% liga "dlr.mensagem" mensagem.pk classe="text-link" %}mensagem 12{% endliga %}
"""

from typing import Any

from django import template
from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.template import Context, Node
from django.template.base import FilterExpression, NodeList, Parser, Token, token_kwargs
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


def pode_abrir(usuario: Any, modelo: str) -> bool:
    """Diz se o usuário vê os registros de `aplicativo.modelo`."""
    aplicativo, _, nome = modelo.partition(".")
    return any(usuario.has_perm(f"{aplicativo}.{verbo}_{nome}") for verbo in ("view", "change"))


def ligar_ao_registro(usuario: Any, modelo: type[Model] | None, chave: Any, nome: Any) -> Any:
    """O nome como link para a página do registro, se há uma e o usuário pode abri-la; senão o nome."""
    if modelo is None or chave is None or not pode_abrir(usuario, modelo._meta.label_lower):
        return nome
    tela = admin.site._registry.get(modelo)
    if tela is None or tela.list_display_links is None:  # as listas sem página própria
        return nome
    rota = f"admin:{modelo._meta.app_label}_{modelo._meta.model_name}_change"
    return format_html('<a class="text-link" href="{}">{}</a>', reverse(rota, args=[chave]), nome)


class Ligacao(Node):
    """`<a>` para a página (ou, sem chave, a lista) do modelo; `<span>` para quem não pode abri-la."""

    def __init__(
        self,
        modelo: FilterExpression,
        chave: FilterExpression | None,
        extras: dict[str, FilterExpression],
        nodelist: NodeList,
    ) -> None:
        self.modelo, self.chave, self.extras, self.nodelist = modelo, chave, extras, nodelist

    def render(self, context: Context) -> SafeString:
        modelo = str(self.modelo.resolve(context))
        extras = {nome: expressao.resolve(context) for nome, expressao in self.extras.items()}
        miolo = mark_safe(self.nodelist.render(context))  # já passou pelo escape do próprio template
        direcao = mark_safe(' dir="auto"') if extras.get("dir") else ""
        if not pode_abrir(context["request"].user, modelo):
            return (
                format_html("<span{}>{}</span>", direcao, miolo) if not extras.get("some") else SafeString()
            )
        filtro = f"?{extras['filtro']}={extras['valor']}" if "filtro" in extras else ""
        endereco = f"{self._endereco(modelo, context)}{filtro}"
        classe = format_html(' class="{}"', extras["classe"]) if extras.get("classe") else ""
        return format_html('<a{} href="{}"{}>{}</a>', classe, endereco, direcao, miolo)

    def _endereco(self, modelo: str, context: Context) -> str:
        rota = f"admin:{apps.get_model(modelo)._meta.label_lower.replace('.', '_')}"
        if self.chave is None:
            return reverse(f"{rota}_changelist")
        return reverse(f"{rota}_change", args=[self.chave.resolve(context)])


@register.tag
def liga(parser: Parser, token: Token) -> Ligacao:
    """`{% liga "app.modelo" [chave] [classe="…"] [filtro="…" valor=…] [dir=1] [some=1] %}…{% endliga %}`.

    `some=1` é para botões: em vez de virar texto, somem.
    """
    pedacos = token.split_contents()[1:]
    modelo = parser.compile_filter(pedacos.pop(0))
    chave = parser.compile_filter(pedacos.pop(0)) if pedacos and "=" not in pedacos[0] else None
    extras = token_kwargs(pedacos, parser)
    nodelist = parser.parse(("endliga",))
    parser.delete_first_token()
    return Ligacao(modelo, chave, extras, nodelist)
