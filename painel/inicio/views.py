"""A primeira página do admin e o retrato que a mantém atualizada."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from painel.inicio.pagina import montar_blocos

INTERVALO_S = 5


def montar_contexto(request: HttpRequest, contexto: dict[str, Any]) -> dict[str, Any]:
    """O que o tema chama ao mostrar a primeira página (`UNFOLD["DASHBOARD_CALLBACK"]`)."""
    agora = timezone.now()
    return contexto | {
        "blocos": montar_blocos(request, agora),
        "gerado_em": agora,
        "url_do_retrato": reverse("inicio_retrato"),
        "intervalo_s": INTERVALO_S,
    }


@require_GET
@never_cache
@gzip_page
def retratar(request: HttpRequest) -> JsonResponse:
    """Os blocos como estão agora: `{"gerado_em": "14:05:31", "blocos": {nome: html}}`; 403 a quem não entra."""
    if not admin.site.has_permission(request):
        detalhe = "A sua sessão terminou; entre de novo."
        return JsonResponse({"detail": detalhe, "codigo": "nao_autenticado"}, status=403)
    agora = timezone.now()
    return JsonResponse(
        {
            "gerado_em": f"{timezone.localtime(agora):%H:%M:%S}",
            "blocos": {bloco.nome: bloco.html for bloco in montar_blocos(request, agora)},
        }
    )
