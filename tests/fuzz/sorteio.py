"""Valores quase bons: longe o bastante para errar, perto o bastante para passar das primeiras conferências."""

import json
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

CHATOS = [
    "", " ", "0", "-1", "1e999", "NaN", "null", "None", "true", "\x00", "\ud83d".encode("utf-8", "replace").decode(),
    "%00", "%", "'", '"', "\\", "../../etc/passwd", "<script>", "{{7*7}}", "${7}", "\u202e", "\uffff", "🦊" * 9,
    "9" * 40, "2026-02-30", "0000-00-00", "9999-12-31T23:59:59+14:00", "2026-11-30T12:00:00Z", "-infinity",
    "00000000-0000-0000-0000-000000000000", "a" * 3_000, "=1+1", "\r\nX: y", "1,2,,3", "[]", "{}", "__all__",
]  # fmt: skip

textos = st.one_of(st.sampled_from(CHATOS), st.text(max_size=40))
numeros = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -1, 2**31, 2**32, 2**63, -(2**63) - 1]),
)
escalares = st.one_of(st.none(), st.booleans(), numeros, textos)
qualquer = st.recursive(
    escalares,
    lambda dentro: st.one_of(
        st.lists(dentro, max_size=4), st.dictionaries(st.text(max_size=12), dentro, max_size=4)
    ),
    max_leaves=12,
)


def quase(modelo: Any) -> st.SearchStrategy[Any]:
    """Um JSON com a forma de `modelo`: cada parte fica como está, some, ou vira qualquer coisa."""
    if isinstance(modelo, dict):
        partes = {nome: quase(valor) for nome, valor in modelo.items()}
        inteiro = st.fixed_dictionaries({}, optional=partes)
        return _raramente(st.one_of(inteiro, st.fixed_dictionaries(partes)), qualquer)
    if isinstance(modelo, list):
        dentro = st.one_of(*(quase(item) for item in modelo)) if modelo else qualquer
        return _raramente(st.lists(dentro, max_size=4), qualquer)
    return _raramente(st.just(modelo), escalares)


def _raramente(bom: st.SearchStrategy[Any], ruim: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(bom, bom, bom, bom, ruim)


@st.composite
def estragados(draw: st.DrawFn, bom: bytes) -> bytes:
    """Os bytes com até quatro estragos: trocar, tirar, repetir, enfiar, cortar."""
    corpo = bytearray(bom)
    for _ in range(draw(st.integers(0, 4))):
        onde = draw(st.integers(0, len(corpo)))
        ate = min(len(corpo), onde + draw(st.integers(0, 24)))
        estrago = draw(st.sampled_from(["trocar", "tirar", "repetir", "enfiar", "cortar"]))
        if estrago == "cortar":
            del corpo[onde:]
        elif estrago == "tirar":
            del corpo[onde:ate]
        elif estrago == "repetir":
            corpo[onde:onde] = corpo[onde:ate] * draw(st.integers(1, 50))
        else:
            corpo[onde : ate if estrago == "trocar" else onde] = draw(st.binary(max_size=24))
    return bytes(corpo)


def escrever(valor: Any) -> bytes:
    """JSON com os escapes que a rede aceita; meio emoji sai como escape."""
    return json.dumps(valor, allow_nan=True).encode()


# Um pedaço de caminho ou de consulta: escapado, às vezes com um escape que não decodifica.
escapados = st.one_of(
    textos.map(lambda texto: quote(texto.encode("utf-8", "surrogatepass"), safe="")),
    st.sampled_from(["%ff", "%c3%28", "%00", "%zz", "%", "%u0041", "..%2f..", ";", "a;b", "+"]),
)


@st.composite
def consultas(draw: st.DrawFn, nomes: list[str]) -> str:
    """Uma consulta com até cinco parâmetros, de preferência dos nomes dados, com sufixos de busca do Django."""
    pares = []
    for _ in range(draw(st.integers(0, 5))):
        nome = draw(st.one_of(st.sampled_from(nomes), st.sampled_from(nomes), escapados))
        nome += draw(st.sampled_from(["", "", "", "__gte", "__in", "__isnull", "__regex", "__exact", "__id"]))
        pares.append(f"{nome}={draw(escapados)}")
    return "&".join(pares)


# Valores de cabeçalho que o http.client aceita mandar.
cabecalhos = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=60
)
