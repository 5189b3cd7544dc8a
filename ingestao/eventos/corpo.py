"""Bytes → JSON, com tudo que a rede pode trazer de ruim resolvido na borda. Puro."""

import json
import re
import zlib
from typing import Any, NoReturn

import orjson

CORPO_MAXIMO_BYTES = 1024 * 1024  # contrato da ingestão, etapa 1: como enviado
INFLADO_MAXIMO_BYTES = 8 * 1024 * 1024  # idem, depois do gzip
PEDACO_BYTES = 64 * 1024
SUBSTITUTO = rb"\ufffd"

# A ordem importa: a barra escapada e o par inteiro são consumidos antes, e o que sobra é ruim.
_ESCAPES = re.compile(
    rb"\\\\"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<ruim>\\u0000|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)

# Do tamanho dos que não cabem em 64 bits: o orjson os leria como ponto flutuante, e os algarismos mudariam.
_ALGARISMOS_DEMAIS = re.compile(rb"[0-9]{19}")


class CorpoRecusado(Exception):
    """O corpo inteiro não serve. `status` HTTP, `codigo` estável e a frase do que fazer."""

    def __init__(self, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


def ler_corpo(corpo: bytes, codificacao: str) -> Any:
    """Devolve o JSON do corpo, sem NUL e sem meio emoji, em nenhum texto nem chave.

    `codificacao` é o `Content-Encoding` como veio. Levanta `CorpoRecusado`: 413 acima do teto enviado
    ou inflado, 415 para outra codificação, 400 para o que não se lê. Chave repetida: vale a última.
    """
    if len(corpo) > CORPO_MAXIMO_BYTES:
        raise CorpoRecusado(413, "corpo_grande", "O corpo passa de 1 MiB; divida o lote.")
    return ler_json(_descodificar(corpo, codificacao.strip().lower()))


def ler_json(texto: bytes, *, com_constantes: bool = False, exato: bool = False) -> Any:
    """Devolve o JSON, limpo. Números infinitos (`1e999`) passam: custam o evento, não o lote.

    `com_constantes` deixa passar também `NaN` e `Infinity`, que não são JSON mas muita biblioteca escreve. `exato`
    lê um inteiro de mais de 64 bits como inteiro, para que quem o recebe possa recusá-lo em vez de o arredondar.

    A limpeza é nos bytes, antes de ler: uma passada só quando há o que trocar, e o resto é do orjson.
    Ele recusa o infinito; a segunda leitura, da biblioteca padrão, o deixa passar.
    """
    limpo = _limpar(texto.removeprefix(b"\xef\xbb\xbf"))
    try:
        if not (exato and _ALGARISMOS_DEMAIS.search(limpo)):
            return orjson.loads(limpo)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(
            limpo.decode("utf-8"), parse_constant=float if com_constantes else _recusar_constante
        )
    except (
        ValueError,
        RecursionError,
    ) as erro:  # ValueError: UTF-8, JSON ou inteiro de milhares de algarismos
        raise CorpoRecusado(400, "json_invalido", "O corpo não é JSON em UTF-8 que se possa ler.") from erro


def _descodificar(corpo: bytes, codificacao: str) -> bytes:
    if codificacao in ("", "identity"):
        return corpo
    if codificacao not in ("gzip", "x-gzip"):
        raise CorpoRecusado(415, "codificacao_desconhecida", "Content-Encoding aceito: gzip, ou nenhum.")
    return _inflar(corpo)


def _inflar(corpo: bytes) -> bytes:
    """Infla sob teto. Corpo cortado, CRC errado ou sobra depois do fim são 400: nada de meia leitura.

    Mede antes de guardar: um corpo que passa do teto nunca ocupa mais que um pedaço. Descompactar duas
    vezes um corpo bom custa cerca de 2 ms por MiB.
    """
    try:
        tamanho = _medir_inflado(corpo)
        return zlib.decompress(corpo, wbits=16 + zlib.MAX_WBITS, bufsize=tamanho + 1)
    except zlib.error as erro:
        raise CorpoRecusado(
            400, "gzip_invalido", "O gzip não pôde ser lido; reenvie sem compressão."
        ) from erro


def _medir_inflado(corpo: bytes) -> int:
    """O tamanho descompactado. Levanta `CorpoRecusado` acima do teto ou se o gzip não termina onde devia."""
    tamanho, resto = 0, corpo
    inflador = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    while not inflador.eof:
        pedaco = inflador.decompress(resto, PEDACO_BYTES)
        resto = inflador.unconsumed_tail
        tamanho += len(pedaco)
        if tamanho > INFLADO_MAXIMO_BYTES:
            raise CorpoRecusado(
                413, "corpo_inflado_grande", "O corpo descompactado passa de 8 MiB; divida o lote."
            )
        if not pedaco and not resto:
            break  # acabou a entrada antes do fim do gzip
    if not inflador.eof or inflador.unused_data:
        raise CorpoRecusado(400, "gzip_invalido", "O gzip está cortado ou tem sobra depois do fim; reenvie.")
    return tamanho


def _recusar_constante(nome: str) -> NoReturn:
    raise ValueError(f"{nome} não é JSON")


def _limpar(texto: bytes) -> bytes:
    """Troca por U+FFFD o NUL e a metade solta de um par UTF-16, escritos como escape."""
    if b"\\u0000" in texto or b"\\ud" in texto or b"\\uD" in texto:
        return _ESCAPES.sub(_trocar_escape, texto)
    return texto


def _trocar_escape(achado: re.Match[bytes]) -> bytes:
    return SUBSTITUTO if achado["ruim"] else achado[0]
