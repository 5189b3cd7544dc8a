"""O que os leitores têm em comum: JSON, formulário e consulta → dicionários de texto, sem levantar nada."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from dlr.dominio.recibo import Chamada, Ilegivel, MotivoIlegivel

BRUTO_CARACTERES = 2_000  # o bastante para uma pessoa reconhecer; os bytes inteiros estão na recepção
PARAMETROS_MAXIMOS = 1_000


class CorpoIlegivel(ValueError):
    """O corpo não é o que o formato diz; a mensagem diz o que se esperava."""


def ler_json(corpo: bytes) -> Any:
    """JSON em UTF-8 com todo número como texto (um id de 19 algarismos não vira ponto flutuante).

    Levanta `CorpoIlegivel`. NUL e meio emoji ficam como vieram: quem grava é que os troca.
    """
    try:
        return json.loads(
            corpo.decode("utf-8-sig"), parse_int=str, parse_float=str, parse_constant=_recusar_constante
        )
    except (ValueError, RecursionError) as erro:
        raise CorpoIlegivel("o corpo não é JSON em UTF-8") from erro


def ler_parametros(texto: bytes) -> dict[str, str]:
    """`a=1&b=2` → dicionário (o último vale). Bytes fora do UTF-8 são lidos como latin-1.

    Levanta `CorpoIlegivel` com parâmetros demais.
    """
    # Conta antes de separar: o `ValueError` do `parse_qsl` não se distinguiria do erro de UTF-8 (que é um).
    if texto.count(b"&") >= PARAMETROS_MAXIMOS:
        raise CorpoIlegivel("parâmetros demais")
    try:
        return dict(parse_qsl(texto.decode("utf-8"), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        return dict(parse_qsl(texto.decode("latin-1"), keep_blank_values=True, encoding="latin-1"))


def ler_qualquer(chamada: Chamada) -> Mapping[str, Any]:
    """Um objeto, venha ele na consulta (GET), em formulário ou em JSON. Levanta `CorpoIlegivel`."""
    if chamada.metodo == "GET" or not chamada.corpo:
        return ler_parametros(chamada.consulta)
    tipo = chamada.cabecalhos.get("content-type", "")
    if "json" in tipo or chamada.corpo.lstrip()[:1] in (b"{", b"["):
        lido = ler_json(chamada.corpo)
        if not isinstance(lido, dict):
            raise CorpoIlegivel("esperava um objeto JSON")
        return lido
    return {**ler_parametros(chamada.consulta), **ler_parametros(chamada.corpo)}


def ler_itens(corpo: bytes) -> list[Any]:
    """Uma lista JSON, ou um objeto sozinho como lista de um. Levanta `CorpoIlegivel`, também se vazia."""
    lido = ler_json(corpo)
    itens = lido if isinstance(lido, list) else [lido]
    if not itens:
        raise CorpoIlegivel("lista de recibos vazia")
    return itens


def objeto(valor: Any) -> Mapping[str, Any]:
    """O valor se for um objeto; senão um vazio, para descer nos campos sem perguntar a cada passo."""
    return valor if isinstance(valor, dict) else {}


def texto(valor: Any) -> str | None:
    """O valor como texto sem espaço nas pontas; None para ausente, vazio, objeto ou lista."""
    if valor is None or isinstance(valor, dict | list):
        return None
    if isinstance(valor, bool):
        return "true" if valor else "false"
    return str(valor).strip() or None


def inteiro(valor: Any) -> int | None:
    """Um inteiro pequeno escrito como texto ou número; None se não for."""
    limpo = texto(valor)
    return (
        int(limpo) if limpo is not None and limpo.isascii() and limpo.isdigit() and len(limpo) < 10 else None
    )


def ilegivel(detalhe: str, bruto: Any) -> Ilegivel:
    """Um item que não se reconhece, com o pedaço dele."""
    if isinstance(bruto, bytes):
        mostrado = bruto.decode("utf-8", "backslashreplace")
    else:
        mostrado = bruto if isinstance(bruto, str) else _mostrar(bruto)
    return Ilegivel(
        motivo=MotivoIlegivel.FORMATO_NAO_RECONHECIDO, detalhe=detalhe, bruto=mostrado[:BRUTO_CARACTERES]
    )


def _mostrar(bruto: Any) -> str:
    try:
        return json.dumps(bruto, ensure_ascii=False, default=str)
    except RecursionError:  # o que foi lido na beira da recursão não cabe nela na volta
        return "(aninhado demais para mostrar)"


def _recusar_constante(nome: str) -> Any:
    raise ValueError(nome)
