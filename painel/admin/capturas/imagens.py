"""As imagens que o painel entrega: sempre como JPEG, inertes, e só a quem pode ver o registro.

O recorte veio de um aparelho e o quadro são bytes quaisquer com o SHA-256 prometido: nenhum dos dois é interpretado
aqui. `nosniff` e uma política que não permite nada impedem que o navegador os tome por outra coisa.
"""

from collections.abc import Iterable
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response

from config.camadas import SO_CONFERINDO
from ingestao.models import Captura

NADA = "default-src 'none'; sandbox; frame-ancestors 'none'"


def responder_recorte(request: HttpRequest, id_evento: UUID) -> HttpResponseBase:
    """O recorte, ou 304 se o navegador já o tem. Levanta `Http404` se a captura não existe ou não tem recorte."""
    resumo = Captura.objects.filter(pk=id_evento).values_list("recorte_sha256", flat=True).first()
    if not resumo:
        raise Http404("Esta captura não tem recorte.")
    etag = f'"{resumo}"'
    resposta = get_conditional_response(request, etag=etag)
    if resposta is None:
        recorte = Captura.objects.values_list("recorte", flat=True).get(pk=id_evento)
        resposta = HttpResponse(bytes(recorte or b""), content_type="image/jpeg")
        resposta["Content-Disposition"] = f'inline; filename="{id_evento}.jpg"'
    resposta["ETag"] = etag
    # O navegador guarda, mas pergunta a cada vez: quem perdeu a permissão, ou saiu, não a vê mais.
    resposta["Cache-Control"] = SO_CONFERINDO
    return proteger(resposta)


def responder_quadro(pedacos: Iterable[bytes], tamanho: int, nome: str) -> HttpResponseBase:
    """O quadro inteiro, aos pedaços, sem que ninguém o guarde: cada vez que se olha fica na trilha."""
    resposta = StreamingHttpResponse(pedacos, content_type="image/jpeg")
    resposta["Content-Length"] = str(tamanho)
    resposta["Content-Disposition"] = f'inline; filename="{nome}.jpg"'
    return proteger(resposta)


def proteger(resposta: HttpResponseBase) -> HttpResponseBase:
    """Os cabeçalhos de uma imagem que não se deve interpretar."""
    resposta["X-Content-Type-Options"] = "nosniff"
    resposta["Content-Security-Policy"] = NADA
    resposta["Cross-Origin-Resource-Policy"] = "same-origin"
    return resposta
