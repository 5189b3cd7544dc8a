"""Os atos de gente sobre uma captura: contestar, desistir, excluir, restaurar. Todos pedem motivo e deixam trilha."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from ingestao.capturas import pedidos
from ingestao.capturas.pedidos import PRAZO_DO_PEDIDO, AtoRecusado
from ingestao.capturas.trilha import MOTIVO_CARACTERES
from ingestao.models import Captura, Pedido
from painel.admin.somente_leitura import Apresentado


class FormularioDeMotivo(forms.Form):
    motivo = forms.CharField(
        label="Motivo",
        max_length=MOTIVO_CARACTERES,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Fica na trilha da captura, com o seu nome e a hora, e não se muda depois.",
        error_messages={"required": "Escreva o motivo: ele fica na trilha de quem vier depois."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AtoDaTela:
    """Um ato: o botão, o que acontece, a permissão e quem o faz. `fazer` devolve a frase do que houve."""

    rotulo: str
    permissao: str
    consequencias: tuple[str, ...]
    historico: str
    fazer: Callable[[Captura, Pedido | None, str, User], str]
    perigoso: bool = False


def _contestar(captura: Captura, pedido: Pedido | None, motivo: str, autor: User) -> str:
    pedidos.abrir_pedido(captura, motivo, autor)
    return "Contestação aberta: o aparelho fica sabendo no próximo contato."


def _desistir(captura: Captura, pedido: Pedido | None, motivo: str, autor: User) -> str:
    pedidos.cancelar(cast("Pedido", pedido), motivo, autor)
    return "Contestação cancelada: o aparelho não precisa mais mandar o quadro."


def _excluir(captura: Captura, pedido: Pedido | None, motivo: str, autor: User) -> str:
    pedidos.excluir_captura(captura, motivo, autor)
    return "Captura excluída: saiu das listas, e a linha e a trilha ficam."


def _restaurar(captura: Captura, pedido: Pedido | None, motivo: str, autor: User) -> str:
    pedidos.restaurar_captura(captura, motivo, autor)
    return "Captura restaurada."


ATOS = {
    "contestar": AtoDaTela(
        rotulo="Contestar e pedir o quadro",
        permissao="ingestao.add_pedido",
        consequencias=(
            "O aparelho é avisado no próximo contato e manda o quadro inteiro, aos pedaços.",
            "O SHA-256 do que chegar é conferido com o que o aparelho informou na captura.",
            f"O pedido vence em {PRAZO_DO_PEDIDO.days} dias.",
        ),
        historico="Contestou a captura.",
        fazer=_contestar,
    ),
    "cancelar": AtoDaTela(
        rotulo="Cancelar a contestação",
        permissao="ingestao.add_pedido",
        consequencias=("O que já chegou do quadro é descartado.", "Dá para contestar de novo depois."),
        historico="Cancelou a contestação.",
        fazer=_desistir,
        perigoso=True,
    ),
    "excluir": AtoDaTela(
        rotulo="Excluir a captura",
        permissao="ingestao.delete_captura",
        consequencias=(
            "Ela sai das listas. Nada é apagado: a linha, o recorte e a trilha ficam.",
            "Se o aparelho a reenviar, recebe o mesmo ACK; ela não volta às listas.",
        ),
        historico="Excluiu a captura.",
        fazer=_excluir,
        perigoso=True,
    ),
    "restaurar": AtoDaTela(
        rotulo="Restaurar a captura",
        permissao="ingestao.delete_captura",
        consequencias=("Ela volta às listas.",),
        historico="Restaurou a captura.",
        fazer=_restaurar,
    ),
}


def dar_nome(captura: Captura) -> str:
    """`Captura d700a35d`, no cabeçalho das páginas dela."""
    return f"Captura {str(captura.pk)[:8]}"


def conduzir_ato(
    tela: ModelAdmin, request: HttpRequest, nome: str, captura: Captura, pedido: Pedido | None = None
) -> HttpResponse:
    """GET diz o que vai acontecer e pede o motivo; POST faz, e volta à página da captura."""
    ato = ATOS[nome]
    if not request.user.has_perm(ato.permissao):
        raise PermissionDenied
    formulario = FormularioDeMotivo(request.POST or None)
    if request.method == "POST" and formulario.is_valid():
        autor = cast("User", request.user)
        try:
            frase = ato.fazer(captura, pedido, formulario.cleaned_data["motivo"], autor)
        except AtoRecusado as erro:
            formulario.add_error(None, erro.detalhe)
        else:
            tela.log_change(request, captura, ato.historico)
            messages.success(request, frase)
            return redirect("admin:ingestao_captura_change", captura.pk)
    contexto: dict[str, Any] = {
        **tela.admin_site.each_context(request),
        "opts": tela.opts,
        "original": Apresentado(captura, dar_nome(captura)),
        "title": ato.rotulo,
        "ato": ato,
        "formulario": formulario,
    }
    status = 400 if formulario.errors else 200
    return TemplateResponse(request, "painel/capturas/ato.html", contexto, status=status)


def listar_botoes(
    request: HttpRequest, captura: Captura, aberto: Pedido | None
) -> list[tuple[str, str, str]]:
    """Os atos que cabem na captura agora e que a pessoa pode: (ato, rótulo, classe)."""
    botoes = []
    if aberto is None and not captura.deletado and captura.quadro_sha256:
        botoes.append(("contestar", "Contestar", "lastro-botao-forte"))
    botoes.append(("restaurar", "Restaurar", "") if captura.deletado else ("excluir", "Excluir", ""))
    return [botao for botao in botoes if request.user.has_perm(ATOS[botao[0]].permissao)]
