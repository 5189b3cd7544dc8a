"""Texto que veio de fora: mostrado inteiro, visível e inerte.

O escape do HTML é dos templates; aqui se trata do que sobrevive a ele: caracteres de controle (ANSI),
direção de texto forçada e endereços que executam.
"""

import json
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.utils.html import format_html
from django.utils.safestring import SafeString

from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar_texto

COLUNA_CARACTERES = 120  # numa lista, o bastante para reconhecer; o texto inteiro está na página
JSON_CARACTERES = 200_000  # acima disto o navegador trava antes de alguém conseguir ler
PROTOCOLOS_DE_LINK = frozenset({"http", "https"})


def resumir(texto: str | None, maximo: int = COLUNA_CARACTERES) -> SafeString | None:
    """Uma linha para listas, cortada em `maximo` caracteres, com o começo do resto na dica; None se vazio.

    Sempre mascarada: o inteiro está na página do registro, para quem pode revelá-lo.
    """
    if not texto:
        return None
    inteiro = mascarar_texto(neutralizar(texto))
    linha = " ".join(inteiro.split())
    visivel = linha if len(linha) <= maximo else linha[: maximo - 1].rstrip() + "…"
    return format_html('<span class="lastro-texto" dir="auto" title="{}">{}</span>', inteiro[:1_000], visivel)


def ligar(url: str | None, ler: Callable[[str], str] = neutralizar) -> SafeString | str | None:
    """O endereço como link quando é http(s) com host; senão como texto. None se vazio.

    `ler` diz como mostrar; um endereço que ele muda (controles, segredos mascarados) não vira link.
    """
    if not url:
        return None
    visivel = ler(url)
    if visivel != url or not _abre_pagina(url):
        return visivel
    return format_html(
        '<a href="{}" class="text-link lastro-endereco" target="_blank" '
        'rel="noopener noreferrer nofollow">{}</a>',
        url,
        url,
    )


def escrever_json(valor: Any) -> str:
    """JSON recuado e legível, cortado em `JSON_CARACTERES` com aviso de quanto ficou de fora."""
    texto = neutralizar(json.dumps(valor, indent=2, ensure_ascii=False, default=str))
    if len(texto) <= JSON_CARACTERES:
        return texto
    return f"{texto[:JSON_CARACTERES]}\n… cortado: mostrando {JSON_CARACTERES} de {len(texto)} caracteres"


def _abre_pagina(url: str) -> bool:
    """Diz se o navegador abriria uma página http(s): sem espaço ou controle que ele ignoraria ao ler."""
    if any(caractere.isspace() or unicodedata.category(caractere) in {"Cc", "Cf"} for caractere in url):
        return False
    try:
        partes = urlsplit(url)
    except ValueError:
        return False
    return partes.scheme.lower() in PROTOCOLOS_DE_LINK and bool(partes.netloc)
