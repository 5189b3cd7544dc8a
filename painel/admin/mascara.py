"""O que as telas escondem por padrão: telefones e segredos. Mostrar é de `revelacao.py`.

Sobra o bastante para reconhecer. Erra para mais: um número que só parece telefone também é mascarado, e
quem precisa dele o revela, com trilha.
"""

import re
from collections.abc import Iterable

from dlr.cofre import MASCARA
from painel.admin.inerte import neutralizar

INICIO, FIM = 3, 4  # `+55…0000`: o país e o final, que é o que uma pessoa dita ao telefone
ALGARISMOS_MINIMOS = 8  # abaixo disto é código curto ou nome: não é de ninguém
_ALGARISMO = re.compile(r"\d")
# Com o sinal de mais é telefone, mesmo onde o leitor não o reconheceu; sem ele pode ser um id.
_INTERNACIONAL = re.compile(r"(?:\+|%2[Bb])\d{8,15}(?!\d)")
# Sem o sinal, o formato do Brasil (55, DDD, 8 ou 9 algarismos) ou um campo que diz ser de telefone.
_BRASILEIRO = re.compile(r"(?<!\d)55[1-9][1-9][2-9]\d{7,8}(?!\d)")
_CAMPO_DE_TELEFONE = re.compile(
    r"""(?ix)(?P<campo>["'&?;\s,{<]|^)
    (?P<nome>to|from|msisdn|dest(?:ination|inatario|ino)?|recipient|phone(?:_?number)?|number|numero|mobile
        |telefone|celular|sender|source|origem|remetente|(?:source|destination|dest)_addr(?:ess)?)
    (?P<entre>["']?\s*[:=>]\s*["']?)(?P<valor>\d{8,15})(?!\d)"""
)
_CAMPO_DE_ID = re.compile(r"""(?i)(?:id|uuid|ref)["']?\s*[:=>]\s*["']?$""")
_PORTADOR = re.compile(r"(?i)\b(bearer|basic)(\s+|%20)[a-z0-9._~+/=-]{8,}")
_JWT = re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?")
_TOKEN_NOSSO = re.compile(r"\b(dlr|cap|dev|disp)_[0-9a-zA-Z_-]{20,}")
_NOMES_DE_SEGREDO = (
    r"[\w-]*(?:token|senha|password|passwd|secret|segredo|api[_-]?key|signature|assinatura)|sig|otp|pin|key"
)
_SEGREDO_NO_ENDERECO = re.compile(rf"(?i)([?&#;](?:{_NOMES_DE_SEGREDO})=)[^&#\s\"'<>]+")
_SEGREDO_EM_JSON = re.compile(rf"""(?i)(["'](?:{_NOMES_DE_SEGREDO})["']\s*:\s*["'])[^"']+""")


def mascarar(endereco: str | None) -> str | None:
    """`+5511999990000` → `+55•••••••0000`; código curto e remetente por nome ficam. None se vazio."""
    if not endereco:
        return None
    if len(_ALGARISMO.findall(endereco)) < ALGARISMOS_MINIMOS:
        return neutralizar(endereco)
    meio = "•" * max(4, len(endereco) - INICIO - FIM)
    return neutralizar(endereco[:INICIO] + meio + endereco[-FIM:])


def mascarar_segredos(texto: str) -> str:
    """O texto sem os valores que costumam ser segredo: tokens, senhas, `Bearer …`, JWT."""
    texto = _PORTADOR.sub(rf"\1\2{MASCARA}", texto)
    texto = _JWT.sub(MASCARA, texto)
    texto = _TOKEN_NOSSO.sub(rf"\1_{MASCARA}", texto)
    texto = _SEGREDO_NO_ENDERECO.sub(rf"\1{MASCARA}", texto)
    return _SEGREDO_EM_JSON.sub(rf"\1{MASCARA}", texto)


def mascarar_texto(texto: str) -> str:
    """Texto livre (uma mensagem, um endereço, um payload) sem segredos nem telefones internacionais."""
    return _INTERNACIONAL.sub(_mascarar_achado, mascarar_segredos(texto))


def mascarar_evidencia(texto: str, enderecos: Iterable[str | None] = ()) -> str:
    """O que uma transportadora mandou, sem segredos, sem os endereços dados e sem o que parece telefone."""
    numeros = {endereco.strip().lstrip("+") for endereco in enderecos if endereco}
    for numero in sorted(numeros, key=len, reverse=True):
        if len(_ALGARISMO.findall(numero)) >= ALGARISMOS_MINIMOS:
            texto = texto.replace(numero, str(mascarar(numero)))
    texto = _CAMPO_DE_TELEFONE.sub(_mascarar_campo, mascarar_texto(texto))
    return _BRASILEIRO.sub(_mascarar_brasileiro, texto)


def _mascarar_achado(achado: re.Match[str]) -> str:
    return str(mascarar(achado[0]))


def _mascarar_brasileiro(achado: re.Match[str]) -> str:
    """Num campo que diz ser um id, é um id: é por ele que a operação procura a mensagem."""
    antes = achado.string[max(0, achado.start() - 12) : achado.start()]
    return achado[0] if _CAMPO_DE_ID.search(antes) else _mascarar_achado(achado)


def _mascarar_campo(achado: re.Match[str]) -> str:
    return f"{achado['campo']}{achado['nome']}{achado['entre']}{mascarar(achado['valor'])}"
