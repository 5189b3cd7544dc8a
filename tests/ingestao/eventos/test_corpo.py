"""Bytes → JSON: cada tipo de corpo ruim tem um código, e nenhum vira exceção solta."""

import gzip
import tracemalloc
import zlib

import pytest

from ingestao.eventos.corpo import CORPO_MAXIMO_BYTES, CorpoRecusado, ler_corpo, ler_json


@pytest.mark.parametrize(
    ("texto", "lido"),
    [
        pytest.param(rb'"\u0000"', "\ufffd", id="nul"),
        pytest.param(rb'"\\u0000"', r"\u0000", id="barra escapada nao e nul"),
        pytest.param(rb'"\\\u0000"', "\\\ufffd", id="nul depois de barra escapada"),
        pytest.param(rb'"ok \ud83d"', "ok \ufffd", id="meio emoji no fim"),
        pytest.param(rb'"\ud83d ok"', "\ufffd ok", id="meio emoji no comeco"),
        pytest.param(rb'"\udE00\uD83D"', "\ufffd\ufffd", id="par invertido"),
        pytest.param(rb'"\ud83d\ud83d\ude00"', "\ufffd😀", id="meio emoji antes de um inteiro"),
        pytest.param(rb'"\uD83D\uDE00 \u00e9"', "😀 é", id="par inteiro e acento ficam"),
        pytest.param(rb'{"a\u0000b": {"\ud83d": 1}}', {"a\ufffdb": {"\ufffd": 1}}, id="chaves tambem"),
        pytest.param(b"\xef\xbb\xbf[1]", [1], id="bom"),
        pytest.param(b'{"a": 1, "a": 2}', {"a": 2}, id="chave repetida vale a ultima"),
        pytest.param(b"[1e999, -1e999]", [float("inf"), float("-inf")], id="infinito passa: custa o evento"),
    ],
)
def test_texto_e_limpo_uma_vez_na_borda(texto: bytes, lido: object) -> None:
    assert ler_json(texto) == lido


@pytest.mark.parametrize(
    "texto",
    [
        b"",
        b" ",
        b"{",
        b"NaN",
        b'{"a": Infinity}',
        b"\xff",
        b'"\xed\xa0\x80"',
        b'"\x00"',
        b"[" * 20_000,
        b"[" * 20_000 + b"]" * 20_000,
        b"1" * 5_000,
        b"{'a': 1}",
        b'{"a": 1} sobra',
    ],
    ids=repr,
)
def test_o_que_nao_e_json_e_400_estavel(texto: bytes) -> None:
    with pytest.raises(CorpoRecusado) as recusa:
        ler_json(texto)
    assert (recusa.value.status, recusa.value.codigo) == (400, "json_invalido")


@pytest.mark.parametrize("codificacao", ["gzip", "GZIP", " x-gzip "])
def test_gzip_inteiro_e_lido(codificacao: str) -> None:
    assert ler_corpo(gzip.compress(b'{"a": 1}'), codificacao) == {"a": 1}


_inteiro = gzip.compress(b'{"a": 1}')


@pytest.mark.parametrize(
    "corpo",
    [
        pytest.param(_inteiro[:-1], id="cortado antes do fim"),
        pytest.param(_inteiro[:-8], id="sem crc nem tamanho"),
        pytest.param(_inteiro[:-8] + b"\x00" * 4 + _inteiro[-4:], id="crc errado"),
        pytest.param(_inteiro + b"lixo", id="sobra depois do fim"),
        pytest.param(_inteiro + _inteiro, id="dois membros"),
        pytest.param(zlib.compress(b'{"a": 1}'), id="zlib"),
        pytest.param(b'{"a": 1}', id="sem compressao"),
        pytest.param(b"", id="vazio"),
    ],
)
def test_gzip_estragado_e_400_e_nunca_meia_leitura(corpo: bytes) -> None:
    with pytest.raises(CorpoRecusado) as recusa:
        ler_corpo(corpo, "gzip")
    assert (recusa.value.status, recusa.value.codigo) == (400, "gzip_invalido")


@pytest.mark.parametrize("codificacao", ["br", "deflate", "zstd", "gzip, gzip", "x"])
def test_outra_codificacao_e_415(codificacao: str) -> None:
    with pytest.raises(CorpoRecusado) as recusa:
        ler_corpo(_inteiro, codificacao)
    assert (recusa.value.status, recusa.value.codigo) == (415, "codificacao_desconhecida")


def test_corpo_no_teto_passa_e_um_byte_alem_e_413() -> None:
    cheio = b'"' + b"a" * (CORPO_MAXIMO_BYTES - 2) + b'"'
    assert len(ler_corpo(cheio, "")) == CORPO_MAXIMO_BYTES - 2
    with pytest.raises(CorpoRecusado) as recusa:
        ler_corpo(cheio + b" ", "")
    assert (recusa.value.status, recusa.value.codigo) == (413, "corpo_grande")


def test_bomba_de_gzip_e_413_com_memoria_limitada() -> None:
    compressor = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    zeros = b"\x00" * (1024 * 1024)
    bomba = b"".join(compressor.compress(zeros) for _ in range(256)) + compressor.flush()
    assert len(bomba) < 300_000
    tracemalloc.start()
    with pytest.raises(CorpoRecusado) as recusa:
        ler_corpo(bomba, "gzip")
    pico_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (recusa.value.status, recusa.value.codigo) == (413, "corpo_inflado_grande")
    assert pico_bytes < 32 * 1024 * 1024
