"""Segue os números da página até as listas e conta de novo, linha por linha."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

from django.test import Client

NUMERO = re.compile(r"^\d{1,3}(\.\d{3})*$")
# Onde uma linha vale mais que um, quanto ela vale.
PESOS: dict[str, Callable[[Any], int]] = {
    "uso": lambda linha: linha.quantidade_eventos,
    "recusa": lambda linha: max(linha.quantidade_requisicoes, linha.quantidade_eventos),
    "usoporminuto": lambda linha: (
        max(linha.quantidade_requisicoes, linha.quantidade_eventos)
        if linha.motivo
        else linha.quantidade_eventos
    ),
    "recepcaoporminuto": lambda linha: linha.quantidade,
    "recepcaopordia": lambda linha: linha.quantidade,
    "recusadecallback": lambda linha: linha.quantidade,
    "recusadecaptura": lambda linha: linha.quantidade,
    "medidadecaptura": lambda linha: linha.quantidade,
}


class Links(HTMLParser):
    """Os `<a href>` de uma página com o texto de cada um; `bloco` é o que os contém."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.achados: list[tuple[str, str]] = []
        self._href: str | None = None
        self._texto = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._href, self._texto = dict(attrs).get("href"), ""

    def handle_data(self, data: str) -> None:
        self._texto += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._href is not None:
            self.achados.append((self._href, self._texto.strip()))
            self._href = None


def blocos_de(cliente: Client) -> dict[str, str]:
    """O retrato: nome do bloco → HTML."""
    resposta = cliente.get("/admin/inicio/retrato")
    assert resposta.status_code == 200
    return resposta.json()["blocos"]


def numeros_com_link(html: str) -> list[tuple[str, int]]:
    """Os números que levam a algum lugar: (endereço, número)."""
    return [(href, int(texto.replace(".", ""))) for href, texto in Links(html).achados if NUMERO.match(texto)]


def contar_lista(cliente: Client, endereco: str) -> int:
    """Abre a lista como a pessoa abriria e soma o que ela mostra, com os filtros do endereço."""
    resposta = cliente.get(endereco)
    assert resposta.status_code == 200, f"{endereco} → {resposta.status_code} {resposta.get('Location', '')}"
    lista = resposta.context["cl"]
    peso = PESOS.get(lista.opts.model_name)
    return int(lista.result_count) if peso is None else sum(peso(linha) for linha in lista.queryset)
