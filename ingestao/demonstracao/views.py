"""`/demonstracao/` e o JSON dela. Fora do modo local as duas rotas não existem (404)."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from config import ambiente
from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from ingestao.demonstracao.consultas import buscar_demonstracao

# A política que a página de um cliente exigente teria: nada embutido, nada de fora.
POLITICA = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@require_safe
def demonstracao(request: HttpRequest) -> HttpResponse:
    """A página com os botões e a lista viva."""
    _so_no_modo_local()
    resposta = render(request, "ingestao/demonstracao.html", {"chave": CHAVE_DE_DEMONSTRACAO})
    resposta["Content-Security-Policy"] = POLITICA
    return resposta


@require_safe
def gravados(request: HttpRequest) -> HttpResponse:
    """O que o servidor já gravou; 404 com o que fazer se o aplicativo de demonstração foi excluído."""
    _so_no_modo_local()
    achado = buscar_demonstracao(request.GET.get("sessao", "").replace("\0", "")[:200])
    if achado is None:
        detalhe = (
            f"Falta o aplicativo de demonstração: restaure no painel o de chave {CHAVE_DE_DEMONSTRACAO}."
        )
        return JsonResponse({"detail": detalhe, "codigo": "sem_demonstracao"}, status=404)
    return JsonResponse(achado, headers={"Cache-Control": "no-store"})


def _so_no_modo_local() -> None:
    if not ambiente.MODO_LOCAL:
        raise Http404
