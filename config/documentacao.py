"""A documentação da API: o esquema e a página que o mostra. Um erro é JSON aqui como em toda parte."""

from typing import Any

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView


class _ErrosEmJson(APIView):
    """Sem isto um 405 sairia em YAML no esquema, e na página, que só sabe desenhar a si mesma, seria um 500."""

    http_method_names = ["get", "head"]  # o OPTIONS do DRF também não sabe desenhar a página

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        """A resposta; a de um erro, escrita em JSON seja qual for o `Accept`."""
        if getattr(response, "exception", False):
            request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class Esquema(_ErrosEmJson, SpectacularAPIView):
    """`/api/esquema`: o OpenAPI, em YAML ou JSON."""


class Documentacao(_ErrosEmJson, SpectacularSwaggerView):
    """`/api/docs`: o esquema para ler e experimentar."""
