"""As telas de acesso: a senha, o código depois dela, e o segundo fator da própria pessoa."""

from base64 import b32encode
from typing import Any, cast

import segno
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from painel.acesso import segundo_fator
from painel.acesso.formularios import FormularioDeCodigo, FormularioDeSenha
from painel.acesso.pendente import buscar_pendente, esquecer_pendente, guardar_pendente
from painel.models import Autenticador, CodigosDeRecuperacao

POUCOS_CODIGOS = 3
_ENTRADA = "django.contrib.auth.backends.ModelBackend"


class Entrada(LoginView):
    """O primeiro passo: a senha. Quem tem segundo fator só entra depois do código."""

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        usuario = form.get_user()
        if segundo_fator.buscar_autenticador(usuario) is None:
            return super().form_valid(form)
        guardar_pendente(self.request, usuario, self.get_success_url())
        return redirect("admin:codigo")


@never_cache
@require_http_methods(["GET", "POST"])
def pedir_codigo(request: HttpRequest) -> HttpResponse:
    """O segundo passo: o código do aplicativo, ou um de recuperação."""
    pendente = buscar_pendente(request)
    if pendente is None:
        esquecer_pendente(request)
        return redirect("admin:login")
    formulario = FormularioDeCodigo(request.POST or None)
    if request.method == "POST" and formulario.is_valid():
        try:
            aceito = segundo_fator.conferir_codigo(
                pendente.usuario, formulario.cleaned_data["codigo"], timezone.now()
            )
        except segundo_fator.CodigoRecusado as erro:
            formulario.add_error("codigo", str(erro))
        else:
            esquecer_pendente(request)
            login(request, pendente.usuario, backend=_ENTRADA)
            segundo_fator.marcar(request, aceito)
            if isinstance(aceito, CodigosDeRecuperacao):
                _avisar_gasto(request, pendente.usuario)
            return redirect(pendente.destino)
    contexto = _contexto(request, "Código de verificação") | {
        "formulario": formulario,
        "de": pendente.usuario,
    }
    return TemplateResponse(request, "painel/acesso/codigo.html", contexto)


def proximo_passo(request: HttpRequest) -> HttpResponse:
    """Aonde vai quem está na sessão e não está em dia: dar o código que tem, ou ativar o que falta."""
    usuario = cast("User", request.user)
    if segundo_fator.buscar_autenticador(usuario) is None:
        return redirect("admin:segundo_fator")
    destino = request.GET.get("next", "")
    seguro = url_has_allowed_host_and_scheme(destino, {request.get_host()}, request.is_secure())
    guardar_pendente(request, usuario, destino if seguro else reverse("admin:index"))
    return redirect("admin:codigo")


@never_cache
@require_http_methods(["GET", "POST"])
def mostrar_segundo_fator(request: HttpRequest) -> HttpResponse:
    """A tela da própria pessoa: ativar, com QR code e confirmação; ou como está o que ela já ativou."""
    usuario = cast("User", request.user)
    ativo = segundo_fator.buscar_autenticador(usuario)
    if ativo is not None:
        return _mostrar_ativo(request, ativo, FormularioDeSenha(request=request))
    formulario = FormularioDeCodigo(request.POST or None)
    if request.method == "POST" and formulario.is_valid():
        try:
            novo, codigos = segundo_fator.ativar(usuario, formulario.cleaned_data["codigo"], timezone.now())
        except segundo_fator.CodigoRecusado as erro:
            formulario.add_error("codigo", str(erro))
        else:
            request.session.cycle_key()
            segundo_fator.marcar(request, novo)
            return _mostrar_codigos(request, codigos, "Segundo fator ativado")
    por_confirmar = segundo_fator.preparar(usuario)
    contexto = _contexto(request, "Ativar o segundo fator") | {
        "formulario": formulario,
        "qr": desenhar_qr(por_confirmar.config_url),
        "segredo": _escrever_segredo(por_confirmar),
        "exigido": settings.EXIGIR_SEGUNDO_FATOR,
    }
    return TemplateResponse(request, "painel/acesso/ativar.html", contexto)


@never_cache
@require_POST
def renovar_recuperacoes(request: HttpRequest) -> HttpResponse:
    """Códigos de recuperação novos, com a senha."""
    usuario = cast("User", request.user)
    ativo = segundo_fator.buscar_autenticador(usuario)
    formulario = FormularioDeSenha(request.POST, request=request)
    if ativo is None:
        return redirect("admin:segundo_fator")
    if not formulario.is_valid():
        return _mostrar_ativo(request, ativo, formulario)
    codigos = segundo_fator.renovar_recuperacoes(usuario)
    return _mostrar_codigos(request, codigos, "Códigos de recuperação novos")


@never_cache
@require_POST
def desativar(request: HttpRequest) -> HttpResponse:
    """Tira o segundo fator da própria pessoa, com a senha."""
    usuario = cast("User", request.user)
    ativo = segundo_fator.buscar_autenticador(usuario)
    formulario = FormularioDeSenha(request.POST, request=request)
    if ativo is not None and not formulario.is_valid():
        return _mostrar_ativo(request, ativo, formulario)
    if ativo is not None:
        segundo_fator.remover(usuario, usuario, "Desativou o próprio segundo fator.")
        messages.success(request, "Segundo fator desativado: agora só a senha protege a sua conta.")
    return redirect("admin:segundo_fator")


def desenhar_qr(endereco: str) -> SafeString:
    """O QR code como SVG dentro da página; preto no branco também no tema escuro, que os leitores pedem."""
    desenho = segno.make(endereco, error="m").svg_inline(scale=5, border=3, light="#fff", omitsize=True)
    return mark_safe(desenho)  # só há quadrados: o endereço não entra como texto


def _mostrar_ativo(request: HttpRequest, ativo: Autenticador, formulario: FormularioDeSenha) -> HttpResponse:
    restam = segundo_fator.contar_recuperacoes(cast("User", request.user))
    contexto = _contexto(request, "Segundo fator") | {
        "ativo": ativo,
        "restam": restam,
        "poucos": restam <= POUCOS_CODIGOS,
        "formulario": formulario,
        "exigido": settings.EXIGIR_SEGUNDO_FATOR,
    }
    return TemplateResponse(request, "painel/acesso/segundo_fator.html", contexto)


def _mostrar_codigos(request: HttpRequest, codigos: list[str], titulo: str) -> HttpResponse:
    contexto = _contexto(request, titulo) | {"codigos": codigos}
    return TemplateResponse(request, "painel/acesso/codigos.html", contexto)


def _avisar_gasto(request: HttpRequest, usuario: User) -> None:
    restam = segundo_fator.contar_recuperacoes(usuario)
    frase = "resta 1" if restam == 1 else f"restam {restam}"
    messages.warning(request, f"Você entrou com um código de recuperação, que não vale mais; {frase}.")


def _escrever_segredo(autenticador: Autenticador) -> str:
    """O segredo em base32, de quatro em quatro, para quem digita em vez de ler o QR code."""

    texto = b32encode(autenticador.bin_key).decode()
    return " ".join(texto[inicio : inicio + 4] for inicio in range(0, len(texto), 4))


def _contexto(request: HttpRequest, titulo: str) -> dict[str, Any]:
    return {**admin.site.each_context(request), "title": titulo}
