"""As regras do laço, sem rede: o que cada resposta quer dizer, quanto se espera, quantos vão por lote."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestao.cliente.agenda import Rampa, Rumo, decidir, recusa_definitiva
from ingestao.cliente.espera import calcular_pausa_s, calcular_recuo_s, ler_retry_after_s

AGORA = datetime(2026, 11, 30, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "codigo", "rumo"),
    [
        (200, None, Rumo.CONFERIR),
        (413, "corpo_grande", Rumo.DIVIDIR),
        (413, None, Rumo.DIVIDIR),  # o proxy da frente também tem teto
        (401, "token_desconhecido", Rumo.SEGURAR),
        (403, "dispositivo_revogado", Rumo.SEGURAR),
        (429, None, Rumo.ESPERAR),
        (503, "armazenamento_indisponivel", Rumo.ESPERAR),
        (None, None, Rumo.LINK),
        (302, None, Rumo.LINK),
        (404, None, Rumo.LINK),  # portal, ou URL errada: não é o Lastro que fala
        (408, "corpo_incompleto", Rumo.LINK),
        (502, None, Rumo.LINK),
        (504, None, Rumo.LINK),
        (400, "lote_invalido", Rumo.FALHOU),
        (500, None, Rumo.FALHOU),
        (507, None, Rumo.FALHOU),
        (204, None, Rumo.FALHOU),
    ],
)
def test_cada_resposta_tem_um_rumo(status: int | None, codigo: str | None, rumo: Rumo) -> None:
    assert decidir(status, codigo=codigo) is rumo


def test_so_um_evento_sozinho_e_recusado_de_vez() -> None:
    assert recusa_definitiva(400, qtd_eventos=1)
    assert not recusa_definitiva(400, qtd_eventos=2)
    assert not recusa_definitiva(500, qtd_eventos=1)
    assert not recusa_definitiva(None, qtd_eventos=1)


@given(st.integers(0, 10**9), st.floats(0.001, 60), st.floats(0.001, 3600), st.floats(0, 1, exclude_max=True))
def test_recuo_fica_entre_zero_e_o_teto(falhas: int, base_s: float, teto_s: float, sorte: float) -> None:
    recuo_s = calcular_recuo_s(falhas, base_s=base_s, teto_s=teto_s, sorteio=lambda: sorte)

    assert 0 <= recuo_s <= teto_s


def test_recuo_dobra_ate_o_teto_e_o_sorteio_usa_o_intervalo_inteiro() -> None:
    def recuo(falhas: int, sorte: float) -> float:
        return calcular_recuo_s(falhas, base_s=1, teto_s=60, sorteio=lambda: sorte)

    assert [recuo(n, 1.0) for n in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert [recuo(n, 0.0) for n in range(9)] == [0] * 9
    assert recuo(5, 0.5) == 8


def test_quinhentos_que_voltam_juntos_se_espalham() -> None:
    """Com full jitter nenhuma janela de um décimo do intervalo junta muito mais que um décimo deles."""
    import random

    sorteio = random.Random(7).random
    horas_s = [calcular_recuo_s(8, base_s=1, teto_s=100, sorteio=sorteio) for _ in range(500)]
    por_janela = [sum(1 for hora_s in horas_s if n * 10 <= hora_s < n * 10 + 10) for n in range(10)]

    assert sum(por_janela) == 500
    assert max(por_janela) < 90


@pytest.mark.parametrize(
    ("texto", "esperado_s"),
    [
        ("120", 120), ("0", 0), (" 7 ", 7), ("99999999999999999999", 900), (None, 5), ("logo", 5), ("-3", 5),
        ("1.5", 5), ("Mon, 30 Nov 2026 18:01:00 GMT", 60), ("Mon, 30 Nov 2026 17:00:00 GMT", 0),
        ("Fri, 31 Dec 2027 23:59:59 GMT", 900), ("", 5), ("٣", 5),
    ],
)  # fmt: skip
def test_retry_after_em_segundos_ou_data_e_sempre_com_teto(texto: str | None, esperado_s: float) -> None:
    assert ler_retry_after_s(texto, teto_s=900, padrao_s=5, agora=AGORA) == esperado_s


@given(st.text())
def test_retry_after_qualquer_nunca_levanta_nem_passa_do_teto(texto: str) -> None:
    assert 0 <= ler_retry_after_s(texto, teto_s=900, padrao_s=5, agora=AGORA) <= 900


@given(st.floats(0, 900), st.floats(0, 1, exclude_max=True))
def test_pausa_nunca_e_menor_que_a_pedida(pedida_s: float, sorte: float) -> None:
    assert pedida_s <= calcular_pausa_s(pedida_s, sorteio=lambda: sorte) <= pedida_s * 1.5


@given(st.lists(st.sampled_from(["subir", "descer", "dividir"]), max_size=60), st.integers(1, 100))
def test_rampa_fica_sempre_entre_um_e_o_maximo(passos: list[str], maximo: int) -> None:
    rampa = Rampa(maximo)
    for passo in passos:
        mandados = rampa.limite(0)
        rampa.subir() if passo == "subir" else getattr(rampa, passo)(mandados)
        assert 1 <= rampa.limite(0) <= maximo


def test_quem_volta_de_uma_queda_comeca_pequeno_e_dobra() -> None:
    rampa = Rampa(50)
    rampa.descer(50)
    tamanhos = [rampa.limite(0)]
    for _ in range(5):
        rampa.subir()
        tamanhos.append(rampa.limite(0))

    assert tamanhos == [4, 8, 16, 32, 50, 50]


def test_tamanho_que_o_413_ensinou_nao_se_esquece_no_primeiro_sucesso() -> None:
    rampa = Rampa(40)
    rampa.dividir(40)
    rampa.subir()
    assert rampa.limite(0) == 20
    for _ in range(20):
        rampa.subir()
    assert rampa.limite(0) == 40


def test_quem_falhou_viaja_em_grupos_cada_vez_menores_ate_ir_sozinho() -> None:
    assert [Rampa(50).limite(falhas) for falhas in range(8)] == [50, 25, 12, 6, 3, 1, 1, 1]
