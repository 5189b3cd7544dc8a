"""A base das rotas de máquina: sempre JSON (ou o que o formato mandar), seja qual for o `Accept`."""

from typing import Any

from django.http import HttpRequest
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.views import APIView

from config.chegada import Chegada

CORPO_MAXIMO_BYTES = 16 * 1024 * 1024  # o da porta; cada rota tem o seu, sempre menor que este


class SemNegociacao(BaseContentNegotiation):
    """Não negocia: quem manda telemetria e quem manda recibos não escolhe, e um 406 só perderia dados."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        """O primeiro; o corpo é lido pela própria rota."""
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        """O primeiro, que é o JSON dos erros."""
        return renderers[0], renderers[0].media_type


class RotaDeMaquina(APIView):
    """Uma rota chamada por programas: erros em JSON com `codigo`, nenhuma negociação."""

    content_negotiation_class = SemNegociacao


def chegada_do_django(request: HttpRequest, **partes: str | None) -> Chegada:
    """A requisição do Django na forma que as rotas diretas recebem da porta."""
    return Chegada(
        metodo=request.method or "",
        caminho=request.path,
        consulta=request.META.get("QUERY_STRING", "").encode("latin-1"),
        cabecalhos={nome.lower(): valor for nome, valor in request.headers.items()},
        # Sem o teto do Django, que responderia ele mesmo: um byte além do nosso basta para a rota dizer 413.
        corpo=request.read(CORPO_MAXIMO_BYTES + 1),
        ip=request.META.get("REMOTE_ADDR", ""),
        servidor=request.META.get("SERVER_NAME", ""),
        esquema=request.META.get("wsgi.url_scheme", "http"),
        partes=partes,
    )
