"""`GET /coletor.js`: o script que roda nos sites, com cache e ETag.

O que se serve é o `coletor.min.js`, que `make coletor` faz do `coletor.js` (docs/decisoes/0011). Os dois são lidos
uma vez por processo: uma versão nova chega com o reinício, e aos navegadores em até uma hora.
"""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

MINIFICADO = Path(__file__).parent / "static" / "ingestao" / "coletor.min.js"
# Uma hora: um conserto chega no mesmo dia; depois dela, o navegador usa o que tem enquanto pergunta (304, sem corpo).
CACHE = "public, max-age=3600, stale-while-revalidate=86400"
_ACEITA_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|\Z))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """O script pronto para sair: como está, comprimido, e a ETag (fraca: vale para as duas formas)."""

    puro: bytes
    comprimido: bytes
    etag: str


@cache
def ler_script() -> Script:
    """Lê e comprime o script; levanta `FileNotFoundError` se a instalação está incompleta."""
    puro = MINIFICADO.read_bytes()
    return Script(
        puro=puro,
        comprimido=gzip.compress(puro, 9, mtime=0),
        etag=f'W/"{hashlib.sha256(puro).hexdigest()[:20]}"',
    )


@require_safe
def coletor(request: HttpRequest) -> HttpResponseBase:
    """O script, ou 304 se quem pede já o tem."""
    script = ler_script()
    comprimir = _ACEITA_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
    resposta = HttpResponse(
        script.comprimido if comprimir else script.puro, content_type="text/javascript; charset=utf-8"
    )
    if comprimir:
        resposta["Content-Encoding"] = "gzip"
    resposta["ETag"] = script.etag
    resposta["Cache-Control"] = CACHE
    resposta["Vary"] = "Accept-Encoding"
    # Roda em sites de outras origens, com `crossorigin` ou sem, e também nos que isolam a própria (COEP).
    resposta["Access-Control-Allow-Origin"] = "*"
    resposta["Cross-Origin-Resource-Policy"] = "cross-origin"
    return get_conditional_response(request, etag=script.etag, response=resposta) or resposta
