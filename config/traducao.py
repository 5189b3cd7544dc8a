"""Do escopo ASGI ao dicionário WSGI (PEP 3333) que o Django espera, sem perder nem forjar cabeçalho."""

import os
from io import BytesIO
from typing import Any

Escopo = dict[str, Any]
Ambiente = dict[str, Any]


def montar_ambiente(escopo: Escopo, corpo: bytes) -> Ambiente:
    """Traduz o escopo ASGI para o dicionário WSGI (PEP 3333) que o Django espera."""
    servidor = escopo.get("server") or ("localhost", 80)
    cliente = escopo.get("client") or ("", 0)
    ambiente_wsgi: Ambiente = {
        "REQUEST_METHOD": escopo["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": escopo["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": escopo["query_string"].decode("latin-1"),
        "SERVER_NAME": servidor[0],
        "SERVER_PORT": str(servidor[1] or ""),
        "SERVER_PROTOCOL": f"HTTP/{escopo.get('http_version', '1.1')}",
        "REMOTE_ADDR": cliente[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": escopo.get("scheme", "http"),
        "wsgi.input": BytesIO(corpo),
        "wsgi.errors": _ErrosNoRegistro(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    ambiente_wsgi.update(ler_cabecalhos(escopo))
    ambiente_wsgi["CONTENT_LENGTH"] = str(len(corpo))
    return ambiente_wsgi


def ler_cabecalhos(escopo: Escopo) -> Ambiente:
    """Os cabeçalhos na forma da PEP 3333; repetidos são juntados como a RFC 9110 manda."""
    lidos: Ambiente = {}
    for nome_cru, valor_cru in escopo["headers"]:
        nome, valor = nome_cru.decode("latin-1"), valor_cru.decode("latin-1")
        if nome == "content-type":
            chave = "CONTENT_TYPE"
        elif nome == "content-length" or "_" in nome:
            continue  # o tamanho é o do corpo recebido; "_" permitiria forjar um cabeçalho com "-"
        else:
            chave = f"HTTP_{nome.upper().replace('-', '_')}"
        anterior = lidos.get(chave)
        juncao = "; " if chave == "HTTP_COOKIE" else ","
        lidos[chave] = valor if anterior is None else f"{anterior}{juncao}{valor}"
    return lidos


class _ErrosNoRegistro:
    """`wsgi.errors`: o Django quase não escreve aqui; vai para a saída de erro."""

    def write(self, texto: str) -> int:
        return os.write(2, texto.encode())

    def flush(self) -> None: ...
