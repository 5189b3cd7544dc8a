"""Linhas no formato de texto do COPY (PostgreSQL, "Text Format"). Puro.

Escrito à mão porque é uma vez por evento: coluna a coluna, pelo psycopg, custava o dobro. Os textos da linha são
juntados e escapados de uma vez. Os sinais de junção começam por NUL, que não pode vir de fora: a borda já o trocou,
porque o PostgreSQL não o guardaria (`corpo.py`). São ASCII para a linha junta não dobrar de tamanho na memória.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

_ENTRE_CAMPOS = "\x00|"
_NULO = "\x00N"
_NULO_DO_COPY = "\\N"
# A barra primeiro: as dos outros escapes não podem ser dobradas.
_ESCAPES = (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def montar_copia(
    linhas: Iterable[Mapping[str, Any]],
    *,
    textos: Sequence[str],
    numeros: Sequence[str],
    objetos: Sequence[str],
) -> bytes:
    """As linhas em UTF-8, com as colunas nesta ordem: `textos`, `numeros`, `objetos` (JSON).

    Coluna ausente é nula; as presentes nunca são None. Levanta `UnicodeEncodeError` se um texto não é UTF-8.
    """
    prontas: list[str] = []
    for linha in linhas:
        buscar = linha.get
        juntos = _escapar(_ENTRE_CAMPOS.join([buscar(coluna, _NULO) for coluna in textos]))
        campos = [juntos.replace(_ENTRE_CAMPOS, "\t").replace(_NULO, _NULO_DO_COPY)]
        campos += [str(buscar(coluna, _NULO_DO_COPY)) for coluna in numeros]
        for coluna in objetos:
            campos.append(
                _escapar(orjson.dumps(linha[coluna]).decode()) if coluna in linha else _NULO_DO_COPY
            )
        prontas.append("\t".join(campos))
    return "".join([f"{pronta}\n" for pronta in prontas]).encode()


def _escapar(texto: str) -> str:
    for cru, escapado in _ESCAPES:
        if cru in texto:
            texto = texto.replace(cru, escapado)
    return texto
