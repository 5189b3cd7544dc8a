"""De onde um lote diz vir, e se essa origem pode usar a chave. Puro: sem banco, sem Django."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

import idna

_PORTA = re.compile(r":(\d{1,5})?\Z")
_ROTULO = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\Z")
HOST_MAXIMO_CARACTERES = 253  # RFC 1035


class PadraoInvalido(ValueError):
    """O padrão de domínio não pode ser guardado; a mensagem diz o que corrigir."""


@lru_cache(maxsize=4096)
def ler_origem(origin: str | None, referer: str | None) -> str | None:
    """Devolve `host` ou `host:porta` em minúsculas, IDNA e sem ponto final; None se não há origem.

    `Origin` vale sobre `Referer` mesmo quando é `null` (página em sandbox ou arquivo local): aí a
    origem foi dita e é nenhuma.
    """
    texto = origin if origin is not None else referer
    if not texto or texto.strip().lower() == "null":
        return None
    try:
        partes = urlsplit(texto.strip() if "//" in texto else f"//{texto.strip()}")
        host, porta = partes.hostname, partes.port
    except ValueError:  # colchetes ou porta impossíveis
        return None
    host = _normalizar_host(host or "")
    if host is None:
        return None
    return host if porta is None else f"{host}:{porta}"


def conferir_padrao(padrao: str) -> str:
    """Devolve o padrão na forma em que é comparado. Levanta `PadraoInvalido` dizendo o que corrigir.

    Aceita `host`, `host:porta` e `*.raiz`; um endereço inteiro é recusado para que ninguém pense que
    o caminho conta.
    """
    texto = padrao.strip().lower()
    if not texto:
        raise PadraoInvalido("Domínio vazio: escreva, por exemplo, exemplo.com.br.")
    if "/" in texto or "@" in texto or any(c.isspace() for c in texto):
        raise PadraoInvalido(f"“{padrao}”: escreva só o domínio, sem protocolo, caminho ou espaços.")
    curinga = texto.startswith("*.")
    resto = texto[2:] if curinga else texto
    if "*" in resto:
        raise PadraoInvalido(f"“{padrao}”: o curinga só vale no começo, como em *.exemplo.com.br.")
    origem = ler_origem(f"//{resto}", None)
    if origem is None or resto.endswith(":"):
        raise PadraoInvalido(
            f"“{padrao}” não é um domínio: use exemplo.com.br, localhost:3000 ou *.exemplo.com.br."
        )
    if curinga and (":" in origem or "." not in origem):
        raise PadraoInvalido(
            f"“{padrao}”: o curinga pede uma raiz com ponto e sem porta, como *.exemplo.com.br."
        )
    return f"*.{origem}" if curinga else origem


def origem_autorizada(origem: str, padroes: tuple[str, ...]) -> bool:
    """Diz se a origem é um dos domínios, tem o mesmo host ignorando a porta, ou casa com `*.raiz`.

    O curinga respeita o limite do rótulo: `*.exemplo.com.br` aceita `a.b.exemplo.com.br`, não
    `malexemplo.com.br` nem a própria raiz. Fonte: contrato da ingestão, etapa 3.
    """
    host = _sem_porta(origem)
    for padrao in padroes:
        if padrao.startswith("*."):
            if host.endswith(padrao[1:]) and len(host) > len(padrao) - 1:
                return True
        elif host == _sem_porta(padrao):
            return True
    return False


def _sem_porta(origem: str) -> str:
    return _PORTA.sub("", origem) if not origem.endswith("]") else origem


def _normalizar_host(host: str) -> str | None:
    """Minúsculas, IDNA, sem ponto final; IPv6 entre colchetes. None se não é um host possível."""
    host = host.removesuffix(".").lower()
    if ":" in host:  # urlsplit já conferiu e tirou os colchetes do IPv6
        return f"[{host}]"
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            return None
    if len(host) > HOST_MAXIMO_CARACTERES or not all(map(_ROTULO.match, host.split("."))):
        return None
    return host
