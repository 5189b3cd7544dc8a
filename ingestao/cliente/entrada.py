"""A pasta vigiada: para câmeras cujo programa não é Python. Cada `nome.json` é uma captura.

O JSON diz as caixas e o payload; a imagem é o arquivo de mesmo nome ao lado, escrito antes dele. Capturado, os dois
são apagados; morto no meio, o recibo gravado com a captura impede a segunda.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from .cliente import Cliente
from .erros import CapturaInvalida

logger = logging.getLogger("lastro_captura")

IMAGENS = (".jpg", ".jpeg", ".png")
RECUSADOS = "recusados"


def colher(cliente: Cliente, pasta: Path) -> int:
    """Captura tudo o que está pronto na pasta; devolve quantos eventos. Levanta SemEspaco e FilaIndisponivel.

    Um JSON que não serve vai para `recusados/`, com a imagem, e não impede os outros.
    """
    colhidos = 0
    for bilhete in sorted(pasta.glob("*.json")):
        imagem = achar_imagem(bilhete)
        try:
            estado = bilhete.stat()
            recibo = f"{bilhete.name}:{estado.st_ino}:{estado.st_mtime_ns}"
            caixas, payload = ler_bilhete(bilhete)
            colhidos += len(cliente.capturar(imagem, caixas, payload, recibo=recibo))
        except FileNotFoundError:
            continue  # outro processo o colheu
        except CapturaInvalida as erro:
            logger.error("captura %s recusada: %s", bilhete.name, erro)
            _recusar(bilhete, imagem)
            continue
        if imagem is not None:
            imagem.unlink()
        bilhete.unlink()
        cliente.fila.esquecer_recibo(recibo)
    return colhidos


def achar_imagem(bilhete: Path) -> Path | None:
    """A imagem de mesmo nome; None se não há."""
    candidatas = (bilhete.with_suffix(sufixo) for sufixo in IMAGENS)
    return next((caminho for caminho in candidatas if caminho.is_file()), None)


def ler_bilhete(bilhete: Path) -> tuple[list[Any] | None, Any]:
    """As caixas e o payload. Levanta CapturaInvalida se não é um objeto JSON com `payload`."""
    try:
        lido = json.loads(bilhete.read_bytes())
        caixas, payload = lido.get("caixas"), lido["payload"]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as erro:
        raise CapturaInvalida("O JSON precisa ser um objeto com `payload` e, se houver, `caixas`.") from erro
    if not isinstance(payload, (dict, list)) or not isinstance(caixas, (list, type(None))):
        raise CapturaInvalida("`payload` é um objeto (ou uma lista deles) e `caixas`, uma lista.")
    return caixas, payload


def _recusar(bilhete: Path, imagem: Path | None) -> None:
    destino = bilhete.parent / RECUSADOS
    destino.mkdir(exist_ok=True)
    for caminho in (imagem, bilhete):
        if caminho is not None:
            with suppress(FileNotFoundError):
                caminho.replace(destino / caminho.name)
