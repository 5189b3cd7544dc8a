"""A base das rotas de máquina: sempre JSON (ou o que o formato mandar), seja qual for o `Accept`."""

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.views import APIView


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
