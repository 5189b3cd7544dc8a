"""O leitor de multipart: estrito, sem copiar, e um corpo cortado em qualquer byte é recusado."""

import pytest

from ingestao.capturas.partes import PARTES_MAXIMO, PartesIlegiveis, ler_partes, ler_separador
from tests.ingestao.capturas.aparelho import SEPARADOR, montar_multipart

CORPO = montar_multipart(b'{"eventos": []}', {"a": b"\xff\xd8 um \r\n--quase \xff\xd9", "b": b""})


def test_cada_parte_e_achada_onde_esta() -> None:
    partes = ler_partes(CORPO, SEPARADOR.encode())
    achadas = {nome: CORPO[trecho.inicio : trecho.fim] for nome, trecho in partes.items()}
    assert achadas == {
        "lote": b'{"eventos": []}',
        "recorte-a": b"\xff\xd8 um \r\n--quase \xff\xd9",
        "recorte-b": b"",
    }


def test_corpo_cortado_em_qualquer_byte_e_recusado() -> None:
    for fim in range(len(CORPO) - 2):  # os dois últimos são o CRLF depois do separador final, que é opcional
        with pytest.raises(PartesIlegiveis):
            ler_partes(CORPO[:fim], SEPARADOR.encode())


@pytest.mark.parametrize(
    ("estrago", "frase"),
    [
        (lambda c: b"lixo" + c, "não começa"),
        (
            lambda c: c.replace(b'name="recorte-a"', b'nome="x"').replace(b'; filename="recorte-a"', b""),
            "nome",
        ),
        (lambda c: c.replace(b'name="recorte-b"', b'name="recorte-a"'), "duas vezes"),
        (lambda c: c.replace(b"image/jpeg", b"image/jpeg\r\nContent-Transfer-Encoding: base64"), "Transfer"),
        (lambda c: c.replace(b"image/jpeg", b"x" * 5000), "cabeçalhos"),
    ],
)
def test_o_que_foge_da_norma_e_recusado_com_motivo(estrago: object, frase: str) -> None:
    with pytest.raises(PartesIlegiveis, match=frase):
        ler_partes(estrago(CORPO), SEPARADOR.encode())  # type: ignore[operator]


def test_partes_demais_sao_recusadas() -> None:
    corpo = montar_multipart({}, {str(n): b"x" for n in range(PARTES_MAXIMO)})
    with pytest.raises(PartesIlegiveis, match="mais de"):
        ler_partes(corpo, SEPARADOR.encode())


@pytest.mark.parametrize(
    ("tipo", "separador"),
    [
        ("multipart/form-data; boundary=abc", b"abc"),
        ('Multipart/Form-Data; charset=utf-8; boundary="a b:c"', b"a b:c"),
        ("application/json", None),
        ("", None),
        ("text/plain; boundary=abc", None),
    ],
)
def test_o_separador_vem_do_tipo_de_conteudo(tipo: str, separador: bytes | None) -> None:
    assert ler_separador(tipo) == separador


@pytest.mark.parametrize("tipo", ["multipart/form-data", f"multipart/form-data; boundary={'x' * 71}"])
def test_multipart_sem_separador_utilizavel_e_recusado(tipo: str) -> None:
    with pytest.raises(PartesIlegiveis, match="boundary"):
        ler_separador(tipo)
