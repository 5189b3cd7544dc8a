"""Um JPEG inteiro passa; o que não é, está cortado ou mente sobre o tamanho é recusado sem alocar nada."""

import os
import tracemalloc
from io import BytesIO

import pytest
from PIL import Image

from ingestao.capturas.recortes import RECORTE_MAXIMO_BYTES, RecorteInvalido, ler_recorte
from tests.ingestao.capturas.aparelho import jpeg, resumir


def com_dimensoes(imagem: bytes, largura: int, altura: int) -> bytes:
    """O mesmo JPEG, dizendo no cabeçalho ter outro tamanho."""
    inicio = imagem.index(b"\xff\xc0") + 5
    return imagem[:inicio] + altura.to_bytes(2, "big") + largura.to_bytes(2, "big") + imagem[inicio + 4 :]


def com_miniatura(imagem: bytes) -> bytes:
    """O mesmo JPEG com um segmento APP1 que traz outro JPEG inteiro dentro, como as câmeras fazem."""
    miniatura = b"Exif\x00\x00" + jpeg(16, 16)
    return imagem[:2] + b"\xff\xe1" + (len(miniatura) + 2).to_bytes(2, "big") + miniatura + imagem[2:]


def codigo_de(imagem: bytes) -> str:
    with pytest.raises(RecorteInvalido) as erro:
        ler_recorte(imagem)
    return erro.value.codigo


@pytest.mark.parametrize("progressivo", [False, True])
def test_um_jpeg_inteiro_e_medido(progressivo: bool) -> None:
    imagem = jpeg(320, 240, progressivo=progressivo)
    recorte = ler_recorte(memoryview(imagem))
    assert (recorte.largura, recorte.altura, recorte.bytes) == (320, 240, len(imagem))
    assert recorte.sha256 == resumir(imagem)


def test_miniatura_dentro_e_sobra_depois_nao_enganam() -> None:
    recorte = ler_recorte(com_miniatura(jpeg(320, 240)) + b"\x00" * 100)
    assert (recorte.largura, recorte.altura) == (320, 240)


@pytest.mark.parametrize("progressivo", [False, True])
def test_cortado_em_qualquer_ponto_e_recusado(progressivo: bool) -> None:
    imagem = com_miniatura(jpeg(96, 64, progressivo=progressivo))
    assert {codigo_de(imagem[:fim]) for fim in range(2, len(imagem))} == {"imagem_cortada"}


def png() -> bytes:
    saida = BytesIO()
    Image.new("RGB", (4, 4)).save(saida, "PNG")
    return saida.getvalue()


@pytest.mark.parametrize("imagem", [b"", b"\xff", b"nao e imagem", png(), b"GIF89a" + bytes(30)])
def test_o_que_nao_e_jpeg_e_recusado(imagem: bytes) -> None:
    assert codigo_de(imagem) == "imagem_nao_jpeg"


def test_lixo_no_meio_dos_dados_e_recusado() -> None:
    inteira = bytearray(jpeg(320, 240))
    meio = inteira.index(b"\xff\xda") + 100
    inteira[meio : meio + 2] = b"\xff\x01"
    assert codigo_de(bytes(inteira)) == "imagem_cortada"


def test_grande_demais_em_bytes_e_recusado() -> None:
    assert codigo_de(jpeg() + os.urandom(RECORTE_MAXIMO_BYTES)) == "imagem_grande"


def test_bomba_de_pixels_e_recusada_sem_alocar() -> None:
    bomba = com_dimensoes(jpeg(), 60_000, 60_000)
    ler_recorte(jpeg())  # o que o Pillow carrega na primeira vez não conta
    tracemalloc.start()
    assert codigo_de(bomba) == "imagem_pixels_demais"
    _, maximo_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert maximo_bytes < 200_000


def test_dimensao_zero_e_recusada() -> None:
    assert codigo_de(com_dimensoes(jpeg(), 0, 10)) == "imagem_cortada"


@pytest.mark.parametrize("progressivo", [False, True])
def test_so_cabecalhos_sem_os_dados_da_imagem_e_recusado(progressivo: bool) -> None:
    imagem = jpeg(96, 64, progressivo=progressivo)
    assert codigo_de(imagem[: imagem.index(b"\xff\xda")] + b"\xff\xd9") == "imagem_cortada"
