"""O que sai da fila sem ter sido gravado: só o culpado, com o motivo, contado uma vez e com volta."""

from collections.abc import Callable

import pytest

from tests.ingestao.cliente.conftest import Bancada, Montar
from tests.ingestao.cliente.servidor import ERRO_500, Ato, Cortar, Recebido, Responder


def recusar(alvo: str, ato: Ato) -> Callable[[Recebido], Ato]:
    """O ato para todo lote que leva o alvo; os outros são atendidos."""
    return lambda recebido: ato if alvo in recebido.ids else None


@pytest.mark.parametrize("situacao", ["conflito", "invalido"])
def test_evento_recusado_na_cabeca_vai_para_a_quarentena_e_os_outros_passam(
    bancada: Bancada, situacao: str
) -> None:
    primeiro, *outros = bancada.capturar(5)
    recusa = {"situacao": situacao, "codigo": "conteudo_diferente", "detail": "Já existe com outro conteúdo."}
    bancada.servidor.mundo.julgar = lambda evento: recusa if evento["id_evento"] == primeiro else None
    assert bancada.esvaziar()

    assert sorted(bancada.servidor.mundo.gravados) == sorted(outros)
    (item,) = bancada.cliente.fila.quarentena.listar()
    assert (item.id_evento, item.motivo) == (primeiro, situacao)
    assert item.detalhe == "conteudo_diferente: Já existe com outro conteúdo."


def test_veneno_que_derruba_o_lote_inteiro_acaba_sozinho_e_na_quarentena(montar: Montar) -> None:
    bancada = montar(espera_teto_s=10)
    ids = bancada.capturar(30)
    veneno = ids[0]
    bancada.servidor.mundo.sempre = recusar(veneno, ERRO_500)
    assert bancada.esvaziar()

    assert bancada.quarentena == {veneno: "teto_de_tentativas"}
    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids[1:])
    tentativas = [e["tentativa"] for r in bancada.servidor.mundo.recebidos for e in r.lote["eventos"]
                  if e["id_evento"] == veneno]  # fmt: skip
    assert tentativas == list(range(1, 13))  # o teto padrão, cada vez com o seu número


def test_lote_ilegivel_para_o_servidor_isola_o_culpado(bancada: Bancada) -> None:
    ids = bancada.capturar(6)
    bancada.servidor.mundo.sempre = recusar(ids[2], Responder(status=400, codigo="lote_invalido"))
    assert bancada.esvaziar()

    assert bancada.quarentena == {ids[2]: "invalido"}
    assert len(bancada.servidor.mundo.gravados) == 5


def test_413_divide_ao_meio_ate_passar(bancada: Bancada) -> None:
    ids = bancada.capturar(40)
    bancada.servidor.mundo.sempre = lambda r: (
        Responder(status=413, codigo="corpo_grande") if len(r.ids) > 6 else None
    )
    assert bancada.esvaziar()

    tamanhos = [len(r.ids) for r in bancada.servidor.mundo.recebidos]
    assert tamanhos[:4] == [40, 20, 10, 5]
    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids)
    assert bancada.quarentena == {}


def test_evento_grande_demais_sozinho_vai_para_a_quarentena(bancada: Bancada) -> None:
    ids = bancada.capturar(5)
    bancada.servidor.mundo.sempre = recusar(ids[1], Responder(status=413, codigo="corpo_grande"))
    assert bancada.esvaziar()

    assert bancada.quarentena == {ids[1]: "grande_demais"}
    assert len(bancada.servidor.mundo.gravados) == 4


def test_resposta_ilegivel_para_sempre_acaba_na_quarentena_devagar(montar: Montar) -> None:
    bancada = montar(espera_teto_s=60)
    bancada.capturar()
    bancada.servidor.mundo.sempre = lambda recebido: Responder(status=200, corpo=b"<html>")
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar(passos=2000)

    assert list(bancada.quarentena.values()) == ["teto_de_tentativas"]
    assert len(bancada.servidor.mundo.recebidos) == 12
    assert (bancada.relogio.mono - comeco_ms) / 1000 > 300


def test_contagem_do_teto_chega_ao_servidor_uma_vez_so(montar: Montar) -> None:
    bancada = montar(teto_tentativas=2)
    mundo = bancada.servidor.mundo
    mundo.sempre = lambda recebido: ERRO_500
    bancada.capturar(3)
    # Enquanto os pulsos caem, o relato espera; e o processo reabre no meio.
    mundo.no_pulso = lambda pulso: Cortar(depois_de_gravar=True)
    assert bancada.esvaziar()
    assert bancada.cliente.fila.ler_descartes() == {"teto_de_tentativas": 3}
    antes = len(mundo.pulsos)
    bancada.andar(lambda: len(mundo.pulsos) >= antes + 2)

    reaberta = montar(teto_tentativas=2)
    reaberta.andar(lambda: len(mundo.pulsos) >= antes + 4)
    mundo.no_pulso = lambda pulso: None
    antes = len(mundo.pulsos)
    reaberta.andar(lambda: len(mundo.pulsos) >= antes + 3)

    assert mundo.descartados() == {"teto_de_tentativas": 3}
    assert mundo.pulsos[-1]["descartados"] == {}
    assert "relato_id" not in mundo.pulsos[-1]
    assert mundo.pulsos[-1]["quarentena"] == 3
    assert reaberta.cliente.fila.ler_descartes() == {"teto_de_tentativas": 3}


def test_relato_tambem_vai_com_o_lote_e_o_novo_delta_espera_o_ack_do_anterior(montar: Montar) -> None:
    bancada = montar(teto_tentativas=1, pulso_s=100_000)
    mundo = bancada.servidor.mundo
    bancada.andar(lambda: len(mundo.pulsos) == 1)
    mundo.roteiro.append(ERRO_500)
    bancada.capturar()
    assert bancada.esvaziar()
    mundo.roteiro.extend([Cortar(depois_de_gravar=True), Cortar(depois_de_gravar=True)])
    bancada.capturar()
    assert bancada.esvaziar()

    relatos = [r.lote.get("relato_id") for r in mundo.recebidos[1:]]
    assert len(set(relatos)) == 1 and relatos[0] is not None
    assert mundo.descartados() == {"teto_de_tentativas": 1}
    bancada.capturar()
    assert bancada.esvaziar()
    assert mundo.recebidos[-1].lote["descartados"] == {}


def test_reenfileirar_da_um_ciclo_novo_com_a_mesma_identidade(montar: Montar) -> None:
    bancada = montar(teto_tentativas=3)
    (id_evento,) = bancada.capturar()
    bancada.servidor.mundo.roteiro.extend([ERRO_500] * 5)
    assert bancada.esvaziar()
    assert bancada.quarentena == {id_evento: "teto_de_tentativas"}

    assert bancada.cliente.fila.quarentena.reenfileirar([id_evento, "outro"]) == 1
    assert bancada.esvaziar()

    assert list(bancada.servidor.mundo.gravados) == [id_evento]
    tentativas = [r.lote["eventos"][0]["tentativa"] for r in bancada.servidor.mundo.recebidos]
    assert tentativas == [1, 2, 3, 4, 5, 6]
    assert bancada.quarentena == {}
