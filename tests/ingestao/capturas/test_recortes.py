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


SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"


@pytest.mark.parametrize(
    "imagem",
    [SVG, *(antes + jpeg() for antes in (b"<html>", b"\x89PNG\r\n\x1a\n", b"GIF89a;", b"\xef\xbb\xbf"))],
    ids=["svg", "html antes", "png antes", "gif antes", "marca de ordem antes"],
)
def test_o_que_so_tem_um_jpeg_dentro_e_recusado(imagem: bytes) -> None:
    assert codigo_de(imagem) == "imagem_nao_jpeg"


def com_segmento(imagem: bytes, marcador: int, dados: bytes) -> bytes:
    """O JPEG com mais um segmento logo depois do início."""
    return imagem[:2] + bytes([0xFF, marcador]) + (len(dados) + 2).to_bytes(2, "big") + dados + imagem[2:]


@pytest.mark.parametrize(
    "imagem",
    [
        com_segmento(jpeg(320, 240), 0xFE, b"<script>alert(1)</script>" + SVG),
        com_segmento(jpeg(320, 240), 0xE1, b"Exif\0\0" + b"II*\0\x08\0\0\0" + b"\xff" * 65_000),
        jpeg(320, 240) + b"<html><script>alert(1)</script></html>",
        jpeg(320, 240) + png(),
    ],
    ids=["comentário em html", "exif enorme e torto", "html depois", "png depois"],
)
def test_jpeg_que_tambem_e_outra_coisa_e_medido_como_jpeg(imagem: bytes) -> None:
    """Guarda-se como veio; quem o mostra diz `image/jpeg` e `nosniff` (tests/painel/capturas/test_capturas.py)."""
    recorte = ler_recorte(imagem)
    assert (recorte.largura, recorte.altura, recorte.bytes) == (320, 240, len(imagem))


def test_muitos_exif_enormes_passam_do_teto_e_nao_da_memoria() -> None:
    imagem = jpeg()
    for _ in range(40):
        imagem = com_segmento(imagem, 0xE1, b"Exif\0\0" + bytes(65_000))
    assert codigo_de(imagem) == "imagem_grande"
