"""As camadas (middleware) que só as páginas usam.

Sessão, usuário, CSRF e mensagens não servem a quem manda eventos ou recibos, e custavam um sétimo do tempo
de cada POST. São as das bibliotecas, com um atalho: fora das páginas, a requisição passa direto.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from axes.middleware import AxesMiddleware
from csp.middleware import CSPMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django_otp.middleware import OTPMiddleware

PAINEL = "/admin"
DOCUMENTACAO = "/api/docs"
# A única resposta do painel que o navegador pode guardar: uma imagem, e ele pergunta de novo a cada vez que a mostra.
SO_CONFERINDO = "private, no-cache"
# O painel não usa nenhum destes; uma página injetada também não usará.
SEM_APARELHOS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


class _SoNasPaginas:
    onde: ClassVar[tuple[str, ...]] = (PAINEL,)
    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(self.onde):
            return super().__call__(request)  # type: ignore[misc]
        return self.get_response(request)


class Sessao(_SoNasPaginas, SessionMiddleware):
    """A sessão de quem entrou no painel."""


class Comum(_SoNasPaginas, CommonMiddleware):
    """Barra final e hospedeiro; fora do painel as rotas são exatas."""


class Csrf(_SoNasPaginas, CsrfViewMiddleware):
    """A proteção dos formulários do painel; as outras rotas não usam cookies."""

    def process_view(self, request: HttpRequest, *args: object) -> HttpResponseBase | None:  # type: ignore[override]
        """Confere o token só nas telas."""
        if request.path_info.startswith(PAINEL):
            return super().process_view(request, *args)  # type: ignore[arg-type]
        return None


class Usuario(_SoNasPaginas, AuthenticationMiddleware):
    """Quem entrou no painel."""


class SegundoFator(_SoNasPaginas, OTPMiddleware):
    """Com que segundo fator a pessoa entrou, se entrou com um."""


class Mensagens(_SoNasPaginas, MessageMiddleware):
    """Os avisos de uma tela para a seguinte."""


class Tranca(_SoNasPaginas, AxesMiddleware):
    """A resposta a quem errou a senha vezes demais."""


class Politica(_SoNasPaginas, CSPMiddleware):
    """A política de segurança de conteúdo, que só faz sentido em HTML."""

    onde = (PAINEL, DOCUMENTACAO)


class Cabecalhos(_SoNasPaginas):
    """O que uma página do painel diz ao navegador: não guarde, e não ofereça aparelhos."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        resposta = self.get_response(request)
        if request.path_info.startswith(PAINEL):
            resposta["Permissions-Policy"] = SEM_APARELHOS
            if resposta.get("Cache-Control") != SO_CONFERINDO:
                resposta["Cache-Control"] = "no-store, private"
        return resposta
