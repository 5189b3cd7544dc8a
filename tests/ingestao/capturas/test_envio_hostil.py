"""Truques no multipart e nos pedaços de quadro: o que não serve é dito, o vizinho é gravado, e nada toca o disco."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingestao.models import Captura, Pedido, RecusaDeCaptura
from tests.ingestao.capturas.aparelho import (
    SEPARADOR,
    TIPO_MULTIPART,
    Aparelho,
    com_caixa,
    evento,
    jpeg,
    montar_multipart,
)

pytestmark = pytest.mark.django_db

BOM = com_caixa()
ID = str(BOM["id_evento"])
LOTE = json.dumps({"eventos": [BOM]}).encode()
INTEIRO = montar_multipart(LOTE, {ID: jpeg()})
PARTE = b"--" + SEPARADOR.encode()


def parte(disposicao: bytes, conteudo: bytes, tipo: bytes = b"image/jpeg") -> bytes:
    return (
        PARTE
        + b"\r\nContent-Disposition: "
        + disposicao
        + b"\r\nContent-Type: "
        + tipo
        + b"\r\n\r\n"
        + conteudo
        + b"\r\n"
    )


def com_partes(*partes: bytes) -> bytes:
    return b"".join(partes) + PARTE + b"--\r\n"


DO_LOTE = parte(b'form-data; name="lote"', LOTE, b"application/json")
DO_RECORTE = b'form-data; name="recorte-' + ID.encode() + b'"'

ILEGIVEIS = {
    "lote repetido": com_partes(DO_LOTE, DO_LOTE),
    "recorte repetido": com_partes(DO_LOTE, parte(DO_RECORTE, jpeg()), parte(DO_RECORTE, jpeg(64, 48, 9))),
    "fronteira que não fecha": INTEIRO.replace(PARTE + b"--", PARTE),
    "parte sem fim": INTEIRO[: INTEIRO.rindex(PARTE)],
    "nome com quebra de linha": com_partes(DO_LOTE, parte(b'form-data; name="re\r\ncorte"', jpeg())),
    "sem nome nenhum": com_partes(DO_LOTE, parte(b"form-data", jpeg())),
    "sem o lote": com_partes(parte(DO_RECORTE, jpeg())),
    "partes demais": com_partes(DO_LOTE, *(parte(b'form-data; name="x%d"' % n, b"") for n in range(300))),
    "cabeçalhos sem fim": com_partes(DO_LOTE, PARTE + b"\r\n" + b"X: a\r\n" * 5_000),
    "base64 de correio": INTEIRO.replace(b"image/jpeg", b"image/jpeg\r\nContent-Transfer-Encoding: base64"),
    "outra fronteira dentro": INTEIRO.replace(SEPARADOR.encode(), b"outra", 1),
}


@pytest.mark.parametrize("nome", ILEGIVEIS)
def test_multipart_torto_e_400_contado_e_nada_fica(aparelho: Aparelho, nome: str) -> None:
    resposta = aparelho.postar_cru(ILEGIVEIS[nome], TIPO_MULTIPART)
    assert (resposta.status_code, resposta.json()["codigo"]) == (400, "corpo_ilegivel")
    assert (Captura.objects.count(), RecusaDeCaptura.objects.get().quantidade) == (0, 1)


INOFENSIVOS = {
    "nome de arquivo que sobe pastas": b'; filename="../../../../etc/cron.d/x"',
    "nome de arquivo com NUL": b'; filename="a\x00.php"',
    "nome de arquivo absoluto": b"; filename=\"/etc/passwd\"; filename*=UTF-8''..%2f..%2fx",
    "nome de arquivo imenso": b'; filename="' + b"a" * 1_500 + b'"',
}


@pytest.mark.parametrize("nome", INOFENSIVOS)
def test_nome_de_arquivo_nao_serve_para_nada(aparelho: Aparelho, deposito: Path, nome: str) -> None:
    corpo = com_partes(DO_LOTE, parte(DO_RECORTE + INOFENSIVOS[nome], jpeg(), b"text/html; charset=x"))
    (resultado,) = aparelho.postar_cru(corpo, TIPO_MULTIPART).json()["resultados"]
    assert resultado["situacao"] == "gravado"
    assert bytes(Captura.objects.get().recorte) == jpeg()  # o tipo dito também não: o que vale são os bytes
    assert not deposito.exists()


@pytest.mark.parametrize(
    "imagem", [b"<svg onload=alert(1)/>", b"\x89PNG\r\n\x1a\n" + jpeg(), b"%PDF-1.7", b"PK\x03\x04"]
)
def test_imagem_que_nao_e_jpeg_custa_so_o_evento_dela(aparelho: Aparelho, imagem: bytes) -> None:
    outro = com_caixa()
    corpo = montar_multipart({"eventos": [BOM, outro]}, {ID: imagem, outro["id_evento"]: jpeg()})
    ruim, bom = aparelho.postar_cru(corpo, TIPO_MULTIPART).json()["resultados"]
    assert (ruim["situacao"], ruim["codigo"], bom["situacao"]) == ("invalido", "imagem_nao_jpeg", "gravado")
    assert list(Captura.objects.values_list("pk", flat=True).order_by()) == [Captura.objects.get().pk]


def test_o_separador_no_meio_da_imagem_so_corta_se_for_inteiro(aparelho: Aparelho) -> None:
    quase = jpeg() + b"\r\n--" + SEPARADOR[:-1].encode() + b"!"
    (resultado,) = aparelho.postar_cru(com_partes(DO_LOTE, parte(DO_RECORTE, quase)), TIPO_MULTIPART).json()[
        "resultados"
    ]
    assert resultado["situacao"] == "gravado"
    assert bytes(Captura.objects.get().recorte) == quase


@pytest.mark.parametrize(
    "tipo",
    ["multipart/form-data", "multipart/mixed; boundary=x", "application/json", "", "\xff"],
)
def test_tipo_de_conteudo_torto_e_400_e_nunca_um_defeito(aparelho: Aparelho, tipo: str) -> None:
    assert aparelho.postar_cru(INTEIRO, tipo).json()["codigo"] == "corpo_ilegivel"
    assert aparelho.postar([evento()]).status_code == 200


@pytest.mark.parametrize(
    "pedido_id", ["..%2f..%2fetc%2fpasswd", "%00", "x%00.jpg", "%2e%2e", "a" * 3_000, "..%5c..%5cx", "%ff%fe"]
)
def test_caminho_torto_no_quadro_e_404_e_nada_vai_ao_disco(
    aparelho: Aparelho, contestar: Callable[[bytes], Pedido], deposito: Path, pedido_id: str
) -> None:
    contestar(jpeg())
    for resposta in (
        aparelho.enviar_pedaco(pedido_id, 0, jpeg()),
        aparelho.declarar_indisponivel(pedido_id, "expirado"),
    ):
        assert (resposta.status_code, resposta.json()["codigo"]) in [
            (404, "pedido_desconhecido"),
            (404, "rota_inexistente"),
        ]
    assert not deposito.exists()


@pytest.mark.parametrize("posicao", ["-1", "+0", "0x0", "1e3", "٠", "9" * 30, "", " ", "0, 0"])
def test_posicao_torta_no_quadro_e_400_e_o_envio_continua_de_onde_estava(
    aparelho: Aparelho, contestar: Callable[[bytes], Pedido], posicao: Any
) -> None:
    pedido = contestar(jpeg())
    assert aparelho.enviar_pedaco(pedido.pk, 0, jpeg()[:10]).status_code == 204
    torta = aparelho.enviar_pedaco(pedido.pk, 0, b"x", **{"upload-offset": posicao})
    assert (torta.status_code, torta.json()["codigo"]) == (400, "campo_invalido")
    assert aparelho.ver_envio(pedido.pk).headers["Upload-Offset"] == "10"
    assert aparelho.enviar_pedaco(pedido.pk, 10, jpeg()[10:]).status_code == 204
