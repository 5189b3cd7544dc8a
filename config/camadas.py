"""As camadas (middleware) do Django que só o painel usa.

Sessão, usuário, CSRF e mensagens não servem a quem manda eventos ou recibos, e custavam um sétimo do tempo
de cada POST. São as do Django, com um atalho: fora do painel, a requisição passa direto.
"""

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.deprecation import MiddlewareMixin

PAINEL = "/admin"


class _SoNoPainel(MiddlewareMixin):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(PAINEL):
            return super().__call__(request)  # type: ignore[return-value]
        return self.get_response(request)  # type: ignore[return-value]


class Sessao(_SoNoPainel, SessionMiddleware):
    """A sessão de quem entrou no painel."""


class Comum(_SoNoPainel, CommonMiddleware):
    """Barra final e hospedeiro; fora do painel as rotas são exatas."""


class Csrf(_SoNoPainel, CsrfViewMiddleware):
    """A proteção dos formulários do painel; as outras rotas não usam cookies."""

    def process_view(self, request: HttpRequest, *args: object) -> HttpResponseBase | None:  # type: ignore[override]
        """Confere o token só nas telas."""
        if request.path_info.startswith(PAINEL):
            return super().process_view(request, *args)  # type: ignore[arg-type]
        return None


class Usuario(_SoNoPainel, AuthenticationMiddleware):
    """Quem entrou no painel."""


class Mensagens(_SoNoPainel, MessageMiddleware):
    """Os avisos de uma tela para a seguinte."""
