"""Telefones mascarados: o painel mostra o bastante para reconhecer, e o número só a quem o pede e pode."""

import re
from collections.abc import Iterable
from typing import Any

from painel.admin.texto_alheio import neutralizar

INICIO, FIM = 3, 4  # `+55…0000`: o país e o final, que é o que uma pessoa dita ao telefone
ALGARISMOS_MINIMOS = 8  # abaixo disto é código curto ou nome: não é de ninguém
_ALGARISMO = re.compile(r"\d")
# Com o sinal de mais é telefone, mesmo onde o leitor não o reconheceu; sem ele pode ser um id.
_INTERNACIONAL = re.compile(r"(?:\+|%2[Bb])\d{8,15}(?!\d)")
PERMISSAO = "dlr.change_mensagem"


def pode_ver(usuario: Any) -> bool:
    """Diz se o usuário pode ver números inteiros."""
    return bool(usuario.has_perm(PERMISSAO))


def mascarar(endereco: str | None) -> str | None:
    """`+5511999990000` → `+55•••••••0000`; código curto e remetente por nome ficam. None se vazio."""
    if not endereco:
        return None
    if len(_ALGARISMO.findall(endereco)) < ALGARISMOS_MINIMOS:
        return neutralizar(endereco)
    meio = "•" * max(4, len(endereco) - INICIO - FIM)
    return neutralizar(endereco[:INICIO] + meio + endereco[-FIM:])


def mascarar_no_texto(texto: str, enderecos: Iterable[str | None] | None) -> str:
    """O texto com os números dados, e os escritos com `+` ou `%2B`, mascarados; None não mascara nada."""
    if enderecos is None:
        return texto
    numeros = {endereco.strip().lstrip("+") for endereco in enderecos if endereco}
    for numero in sorted(numeros, key=len, reverse=True):
        if len(_ALGARISMO.findall(numero)) >= ALGARISMOS_MINIMOS:
            texto = texto.replace(numero, str(mascarar(numero)))
    return _INTERNACIONAL.sub(lambda achado: str(mascarar(achado[0])), texto)
