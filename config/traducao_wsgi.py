"""Do escopo ASGI para o que o Django (WSGI) e as rotas diretas leem: cabeçalhos e ambiente. Puro."""

import os
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

Escopo = dict[str, Any]
Ambiente = dict[str, Any]

_CHARSET = re.compile(r";\s*charset\s*=[^;]*", re.IGNORECASE)


def juntar_cabecalhos(escopo: Escopo) -> dict[str, str]:
    """Nome em minúsculas → valor; repetidos são juntados como a RFC 9110 manda.

    Ficam de fora o tamanho (vale o do corpo recebido) e os nomes com "_": na forma da PEP 3333, eles se
    passariam por um cabeçalho com "-".
    """
    lidos: dict[str, str] = {}
    for nome_cru, valor_cru in escopo["headers"]:
        nome, valor = nome_cru.decode("latin-1"), valor_cru.decode("latin-1")
        if nome == "content-length" or "_" in nome:
            continue
        anterior = lidos.get(nome)
        if anterior is not None:
            valor = f"{anterior}{'; ' if nome == 'cookie' else ','}{valor}"
        lidos[nome] = valor
    return lidos


def para_wsgi(cabecalhos: Mapping[str, str]) -> Ambiente:
    """Os cabeçalhos (nomes em minúsculas) com os nomes da PEP 3333."""
    return {
        "CONTENT_TYPE" if nome == "content-type" else f"HTTP_{nome.upper().replace('-', '_')}": valor
        for nome, valor in cabecalhos.items()
    }


def montar_ambiente(escopo: Escopo, corpo: bytes) -> Ambiente:
    """Traduz o escopo ASGI para o dicionário WSGI (PEP 3333) que o Django espera.

    O `charset` do tipo de conteúdo fica de fora. O Django leria a consulta e o formulário com o codec que o remetente
    nomeasse, antes de haver quem trate o erro: com um que não é de texto (`bz2_codec`), todo pedido era um 500. As
    telas e as rotas só falam UTF-8; o corpo de um recibo, que pode ser outra coisa, não passa por aqui.
    """
    servidor = escopo.get("server") or ("localhost", 80)
    cliente = escopo.get("client") or ("", 0)
    ambiente: Ambiente = {
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
        "wsgi.errors": ErrosNoRegistro(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    ambiente.update(para_wsgi(juntar_cabecalhos(escopo)))
    ambiente["CONTENT_LENGTH"] = str(len(corpo))
    if "CONTENT_TYPE" in ambiente:
        ambiente["CONTENT_TYPE"] = _CHARSET.sub("", ambiente["CONTENT_TYPE"])
    return ambiente


class ErrosNoRegistro:
    """`wsgi.errors`: o Django quase não escreve aqui; vai para a saída de erro."""

    def write(self, texto: str) -> int:
        """Escreve na saída de erro do processo."""
        return os.write(2, texto.encode())

    def flush(self) -> None:
        """Nada a fazer: não há memória intermediária."""
