"""A caixa presa ao quadro: para fora no arredondamento, nunca fora do quadro, e um evento para toda detecção."""

import io
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ingestao.cliente.captura import Deteccao, RegraDeRecorte, detectar, ler_quadro
from ingestao.cliente.erros import CapturaInvalida
from ingestao.cliente.recorte import Caixa, Corte, SemRecorte, ler_caixa, prender, unir
from tests.ingestao.cliente.conftest import desenhar_quadro

REGRA = RegraDeRecorte(margem_px=4, lado_minimo_px=8, qualidade=85, uniao=False)
UNIAO = RegraDeRecorte(margem_px=4, lado_minimo_px=8, qualidade=85, uniao=True)

finitos = st.floats(allow_nan=False, allow_infinity=False)
quaisquer = st.floats(allow_nan=True, allow_infinity=True)
lados_do_quadro = st.integers(1, 5_000)


def prender_em(caixa: Caixa, margem: int = 0, minimo: int = 1) -> Corte:
    return prender(caixa, largura_quadro=100, altura_quadro=80, margem_px=margem, lado_minimo_px=minimo)


@pytest.mark.parametrize(
    ("caixa", "margem", "minimo", "esperado"),
    [
        (Caixa(10, 20, 30, 40), 0, 1, (10, 20, 30, 40)),
        (Caixa(10, 20, 30, 40), 5, 1, (5, 15, 40, 50)),
        (Caixa(10.6, 20.2, 30.1, 10.3), 0, 1, (10, 20, 31, 11)),  # para fora dos dois lados
        (Caixa(-15, -5, 30, 20), 0, 1, (0, 0, 15, 15)),
        (Caixa(90, 70, 50, 50), 8, 1, (82, 62, 18, 18)),
        (Caixa(-1000, -1000, 5000, 5000), 16, 1, (0, 0, 100, 80)),
        (Caixa(0, 0, 100, 80), 16, 1, (0, 0, 100, 80)),
        (Caixa(50, 40, 2, 2), 0, 20, (41, 31, 20, 20)),  # o mínimo cresce dos dois lados
        (Caixa(0, 0, 2, 2), 0, 20, (0, 0, 20, 20)),  # encostado: cresce para onde cabe
        (Caixa(99, 79, 1, 1), 0, 20, (80, 60, 20, 20)),
        (Caixa(50, 40, 1, 1), 0, 500, (0, 0, 100, 80)),  # mínimo maior que o quadro: o quadro
        (Caixa(99.9999, 10, 0.00001, 5), 0, 1, (99, 10, 1, 5)),
    ],
)
def test_caixa_e_presa_ao_quadro_e_arredondada_para_fora(
    caixa: Caixa, margem: int, minimo: int, esperado: tuple[int, int, int, int]
) -> None:
    corte = prender_em(caixa, margem, minimo)

    assert (corte.x, corte.y, corte.largura, corte.altura) == esperado
    assert corte.margem == margem


@pytest.mark.parametrize(
    "caixa",
    [
        Caixa(10, 10, 0, 5), Caixa(10, 10, 5, 0), Caixa(10, 10, -5, 5), Caixa(10, 10, 5, -5),
        Caixa(math.nan, 10, 5, 5), Caixa(10, 10, math.nan, 5), Caixa(10, math.inf, 5, 5),
        Caixa(-math.inf, 10, 5, 5), Caixa(10, 10, math.inf, 5),
    ],
)  # fmt: skip
def test_caixa_que_nao_e_caixa_tem_motivo(caixa: Caixa) -> None:
    with pytest.raises(SemRecorte, match="caixa_invalida"):
        prender_em(caixa)


@pytest.mark.parametrize(
    "caixa", [Caixa(100, 10, 5, 5), Caixa(10, 80, 5, 5), Caixa(-5, 10, 5, 5), Caixa(10, -9, 5, 5)]
)
def test_caixa_toda_fora_do_quadro_tem_motivo_mesmo_que_a_margem_o_alcance(caixa: Caixa) -> None:
    with pytest.raises(SemRecorte, match="caixa_fora_do_quadro"):
        prender_em(caixa, margem=50)


@given(
    st.builds(Caixa, quaisquer, quaisquer, quaisquer, quaisquer),
    lados_do_quadro,
    lados_do_quadro,
    st.integers(0, 300),
    st.integers(1, 300),
)
def test_qualquer_caixa_da_um_corte_dentro_do_quadro_ou_um_motivo(
    caixa: Caixa, largura: int, altura: int, margem: int, minimo: int
) -> None:
    try:
        corte = prender(
            caixa, largura_quadro=largura, altura_quadro=altura, margem_px=margem, lado_minimo_px=minimo
        )
    except SemRecorte as erro:
        assert erro.motivo in ("caixa_invalida", "caixa_fora_do_quadro")
        return
    assert 0 <= corte.x < corte.x + corte.largura <= largura
    assert 0 <= corte.y < corte.y + corte.altura <= altura
    assert corte.largura >= min(minimo, largura)
    assert corte.altura >= min(minimo, altura)


@given(
    st.floats(-200, 6_000), st.floats(-200, 6_000), st.floats(0.001, 6_000), st.floats(0.001, 6_000),
    st.integers(0, 100),
)  # fmt: skip
def test_o_corte_contem_toda_a_parte_da_caixa_que_esta_no_quadro(
    x: float, y: float, largura: float, altura: float, margem: int
) -> None:
    try:
        corte = prender(
            Caixa(x, y, largura, altura),
            largura_quadro=1920,
            altura_quadro=1080,
            margem_px=margem,
            lado_minimo_px=1,
        )
    except SemRecorte:
        return
    assert corte.x <= max(0.0, x)
    assert corte.y <= max(0.0, y)
    assert corte.x + corte.largura >= min(1920.0, x + largura)
    assert corte.y + corte.altura >= min(1080.0, y + altura)


@given(st.lists(st.builds(Caixa, finitos, finitos, finitos, finitos), min_size=1, max_size=8))
def test_uniao_de_qualquer_coisa_nunca_levanta(caixas: list[Caixa]) -> None:
    assert isinstance(unir(caixas), Caixa)


@pytest.mark.parametrize(
    "ruim", [None, 7, "abc", [1, 2, 3], [1, 2, 3, 4, 5], {"x": 1}, [1, 2, 3, "a"], [[1]] * 4]
)
def test_o_que_nao_se_le_como_caixa_tem_motivo(ruim: Any) -> None:
    with pytest.raises(SemRecorte, match="caixa_invalida"):
        ler_caixa(ruim)


def test_sem_preenchimento_preto_o_recorte_tem_so_pixels_do_quadro() -> None:
    quadro = desenhar_quadro(100, 80, cor=200)

    (deteccao,) = detectar(ler_quadro(quadro), [(-20, -20, 60, 60)], {}, REGRA)

    assert deteccao.corte == Corte(x=0, y=0, largura=44, altura=44, margem=4)
    assert deteccao.recorte is not None
    imagem = Image.open(io.BytesIO(deteccao.recorte))
    assert imagem.size == (44, 44)
    assert imagem.format == "JPEG"
    minimos = [minimo for minimo, _ in imagem.getextrema()]
    assert min(minimos[0], minimos[1]) > 100  # vermelho 200 e verde 120 em todo canto: nenhum preto


def test_varias_deteccoes_sao_um_evento_cada_ou_um_da_uniao() -> None:
    lido = ler_quadro(desenhar_quadro(200, 100))
    caixas = [(10, 10, 20, 20), {"x": 60, "y": 30, "largura": 10, "altura": 10}]

    separadas = detectar(lido, caixas, {"p": 1}, REGRA)
    unidas = detectar(lido, caixas, {"p": 1}, UNIAO)

    assert [d.corte for d in separadas] == [Corte(6, 6, 28, 28, 4), Corte(56, 26, 18, 18, 4)]
    assert [d.corte for d in unidas] == [Corte(6, 6, 68, 38, 4)]


def test_caixa_ruim_no_meio_nao_leva_as_outras() -> None:
    lido = ler_quadro(desenhar_quadro(200, 100))
    caixas = [(10, 10, 20, 20), (5, 5, 0, 3), (900, 900, 5, 5)]

    separadas = detectar(lido, caixas, [{"n": 0}, {"n": 1}, {"n": 2}], REGRA)
    (unida,) = detectar(lido, caixas[:2], {}, UNIAO)

    assert [(d.motivo, d.recorte is not None, d.payload["n"]) for d in separadas] == [
        (None, True, 0), ("caixa_invalida", False, 1), ("caixa_fora_do_quadro", False, 2),
    ]  # fmt: skip
    assert unida.corte == Corte(6, 6, 28, 28, 4)


def com_tamanho_mentido(largura: int, altura: int) -> bytes:
    """Um JPEG cujo cabeçalho diz ter outro tamanho."""
    quadro = bytearray(desenhar_quadro())
    inicio = quadro.index(b"\xff\xc0") + 5  # SOF0: marcador, tamanho, precisão
    quadro[inicio : inicio + 4] = altura.to_bytes(2, "big") + largura.to_bytes(2, "big")
    return bytes(quadro)


@pytest.mark.parametrize(
    ("quadro", "caixas", "motivo"),
    [
        (b"isto nao e uma imagem", [(1, 1, 5, 5)], "quadro_ilegivel"),
        (desenhar_quadro()[:300], [(1, 1, 5, 5)], "quadro_ilegivel"),
        (com_tamanho_mentido(60_000, 60_000), [(1, 1, 5, 5)], "quadro_ilegivel"),
        ("/nao/existe.jpg", [(1, 1, 5, 5)], "quadro_ilegivel"),
        (None, [(1, 1, 5, 5)], "sem_quadro"),
        (desenhar_quadro(), [], "sem_caixa"),
        (desenhar_quadro(), None, "sem_caixa"),
    ],
)
def test_sem_imagem_ou_sem_caixa_o_evento_vai_com_o_motivo(quadro: Any, caixas: Any, motivo: str) -> None:
    (deteccao,) = detectar(ler_quadro(quadro), caixas, {"placa": "ABC1D23"}, REGRA)

    assert deteccao == Deteccao(None, None, motivo, {"placa": "ABC1D23"})


def test_imagem_do_pillow_e_png_viram_quadro_jpeg() -> None:
    imagem = Image.new("RGBA", (90, 60), (10, 200, 30, 255))
    png = io.BytesIO()
    imagem.save(png, "PNG")

    for quadro in (imagem, png.getvalue()):
        lido = ler_quadro(quadro)
        assert lido.conteudo is not None
        assert Image.open(io.BytesIO(lido.conteudo)).format == "JPEG"
        assert detectar(lido, [(1, 1, 30, 30)], {}, REGRA)[0].recorte is not None


def test_jpeg_pronto_fica_byte_a_byte() -> None:
    quadro = desenhar_quadro()

    assert ler_quadro(quadro).conteudo == quadro


@pytest.mark.parametrize(
    "payload",
    [{"n": math.nan}, {"n": math.inf}, {"n": object()}, {"n": "x" * 70_000}, [{}, {}], "texto"],
)
def test_payload_que_nao_serve_e_erro_de_quem_chamou(payload: Any, bancada: Any) -> None:
    with pytest.raises(CapturaInvalida):
        bancada.cliente.capturar(desenhar_quadro(), [(1, 1, 9, 9)], payload)

    assert bancada.por_enviar == 0


def test_recorte_enorme_e_piorado_ate_caber(bancada: Any) -> None:
    ruido = Image.effect_noise((2600, 2000), 90).convert("RGB")

    bancada.cliente.capturar(ruido, [(0, 0, 2600, 2000)], {})
    assert bancada.esvaziar()

    (recorte,) = bancada.servidor.mundo.recortes.values()
    assert 0 < len(recorte) <= 2 * 1024 * 1024
    assert Image.open(io.BytesIO(recorte)).size == (2600, 2000)
    assert json.loads(json.dumps(bancada.servidor.mundo.recebidos[0].lote))["eventos"][0]["caixa"]["x"] == 0
