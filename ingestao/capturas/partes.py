"""multipart/form-data sobre bytes que já estão na memória: onde cada parte começa e acaba. Puro.

O leitor do Django copia cada parte para um arquivo em memória ou em disco e decide tetos por requisição. Aqui o
corpo já chegou inteiro e sob teto, e só se precisa saber onde está cada recorte: nenhum byte de imagem é
copiado, e a mesma peça vai ao PostgreSQL. Estrito: o que não segue a RFC 7578 é recusado, e nada se adivinha.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

PARTES_MAXIMO = 210  # cem eventos com recorte, o lote, e folga para o que um cliente mais novo mandar
CABECALHOS_MAXIMO_BYTES = 2_048  # de uma parte; os de verdade têm cerca de cem
SEPARADOR_CARACTERES = 70  # RFC 2046, 5.1.1

_SEPARADOR = re.compile(r";\s*boundary=(?:\"([^\"]+)\"|([^\s;\"]+))", re.IGNORECASE)
_NOME = re.compile(rb";[ \t]*name=\"([^\"\r\n]*)\"", re.IGNORECASE)
_TRANSPARENTES = frozenset({b"", b"binary", b"8bit", b"7bit"})


class PartesIlegiveis(ValueError):
    """O corpo não é um multipart que se possa ler; a mensagem diz o que há de errado."""


@dataclass(frozen=True, slots=True)
class Trecho:
    """Onde uma parte está no corpo: `corpo[inicio:fim]`."""

    inicio: int
    fim: int


def ler_separador(tipo_de_conteudo: str) -> bytes | None:
    """O `boundary` de um `multipart/form-data`, ou None se o tipo é outro. Levanta `PartesIlegiveis`."""
    if tipo_de_conteudo.partition(";")[0].strip().lower() != "multipart/form-data":
        return None
    achado = _SEPARADOR.search(tipo_de_conteudo)
    separador = (achado[1] or achado[2]) if achado else ""
    if not 0 < len(separador) <= SEPARADOR_CARACTERES or not separador.isascii():
        raise PartesIlegiveis("o Content-Type não traz um boundary utilizável")
    return separador.encode()


def ler_partes(corpo: bytes, separador: bytes) -> Mapping[str, Trecho]:
    """Devolve nome → onde a parte está. Levanta `PartesIlegiveis` (cortado, repetido, malformado)."""
    abertura = b"--" + separador
    if not corpo.startswith(abertura):
        raise PartesIlegiveis("o corpo não começa pelo separador")
    partes: dict[str, Trecho] = {}
    posicao = len(abertura)
    fechamento = b"\r\n" + abertura
    while corpo[posicao : posicao + 2] == b"\r\n":
        if len(partes) == PARTES_MAXIMO:
            raise PartesIlegiveis(f"mais de {PARTES_MAXIMO} partes")
        nome, inicio = _ler_cabecalhos(corpo, posicao + 2)
        fim = corpo.find(fechamento, inicio - 2)  # uma parte vazia: o CRLF do separador é o dos cabeçalhos
        if fim < 0:
            raise PartesIlegiveis(f"a parte “{nome}” não termina: o corpo veio cortado")
        if nome in partes:
            raise PartesIlegiveis(f"a parte “{nome}” veio duas vezes")
        partes[nome] = Trecho(inicio, max(inicio, fim))
        posicao = fim + len(fechamento)
    if corpo[posicao : posicao + 2] != b"--":
        raise PartesIlegiveis("falta o separador final: o corpo veio cortado")
    return partes


def _ler_cabecalhos(corpo: bytes, inicio: int) -> tuple[str, int]:
    """O nome da parte e onde começa o conteúdo dela."""
    fim = corpo.find(b"\r\n\r\n", inicio, inicio + CABECALHOS_MAXIMO_BYTES)
    if fim < 0:
        raise PartesIlegiveis("os cabeçalhos de uma parte não terminam")
    nome: str | None = None
    for linha in corpo[inicio:fim].split(b"\r\n"):
        campo, _, valor = linha.partition(b":")
        campo = campo.strip().lower()
        if campo == b"content-disposition":
            achado = _NOME.search(valor)
            nome = achado[1].decode("utf-8", "replace") if achado else None
        elif campo == b"content-transfer-encoding" and valor.strip().lower() not in _TRANSPARENTES:
            raise PartesIlegiveis("Content-Transfer-Encoding não é aceito: mande os bytes como são")
    if nome is None:
        raise PartesIlegiveis("uma parte não tem nome")
    return nome, fim + 4
