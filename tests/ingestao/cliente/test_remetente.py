"""O remetente e o que ele manda: o lote inteiro, a tentativa que cresce, a idade, a latência e o pulso."""

from tests.ingestao.cliente.conftest import CAIXA, Bancada, Montar, RelogioFalso, desenhar_quadro
from tests.ingestao.cliente.servidor import ERRO_500, Cortar


def test_evento_chega_inteiro_e_sai_da_fila(bancada: Bancada) -> None:
    (id_evento,) = bancada.cliente.capturar(desenhar_quadro(), [CAIXA], {"placa": "ABC1D23"})
    bancada.relogio.andar(0.83)
    assert bancada.esvaziar()

    (recebido,) = bancada.servidor.mundo.recebidos
    (evento,) = recebido.lote["eventos"]
    assert recebido.lote["boot_id"] == "boot-1"
    assert {nome: evento[nome] for nome in ("id_evento", "seq", "tentativa", "payload", "caixa")} == {
        "id_evento": id_evento, "seq": 1, "tentativa": 1, "payload": {"placa": "ABC1D23"},
        "caixa": {"x": 4, "y": 0, "largura": 92, "altura": 66, "margem": 16},
    }  # fmt: skip
    assert 830 <= evento["idade_ms"] <= 840
    assert evento["capturado_em"] == "2026-11-30T18:00:00.000Z"
    assert evento["quadro"]["sha256"] and evento["quadro"]["largura"] == 160
    assert recebido.recortes[id_evento][:2] == b"\xff\xd8"
    assert "sem_recorte" not in evento


def test_evento_sem_imagem_vai_como_json_com_o_motivo(bancada: Bancada) -> None:
    bancada.cliente.capturar(desenhar_quadro(), [(5, 5, 0, 0)], {})
    assert bancada.esvaziar()

    (recebido,) = bancada.servidor.mundo.recebidos
    assert recebido.recortes == {}
    assert recebido.lote["eventos"][0]["caixa"] is None
    assert recebido.lote["eventos"][0]["sem_recorte"] == "caixa_invalida"


def test_ack_perdido_depois_do_commit_reenvia_e_a_tentativa_cresce(bancada: Bancada) -> None:
    (id_evento,) = bancada.capturar()
    bancada.servidor.mundo.roteiro.extend(
        [Cortar(depois_de_gravar=True), Cortar(depois_de_gravar=True, bytes_da_resposta=150)]
    )
    assert bancada.esvaziar()

    tentativas = [r.lote["eventos"][0]["tentativa"] for r in bancada.servidor.mundo.recebidos]
    assert tentativas == [1, 2, 3]
    assert list(bancada.servidor.mundo.gravados) == [id_evento]
    primeiro, ultimo = bancada.servidor.mundo.recebidos[0], bancada.servidor.mundo.recebidos[-1]
    mutaveis = {"tentativa": None, "idade_ms": None}
    assert {**primeiro.lote["eventos"][0], **mutaveis} == {**ultimo.lote["eventos"][0], **mutaveis}
    assert primeiro.recortes == ultimo.recortes


def test_tentativa_continua_crescendo_depois_de_reabrir(montar: Montar) -> None:
    bancada = montar()
    bancada.capturar()
    bancada.servidor.mundo.roteiro.append(Cortar(depois_de_gravar=True))
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)

    reaberta = montar()
    assert reaberta.esvaziar()

    assert [r.lote["eventos"][0]["tentativa"] for r in bancada.servidor.mundo.recebidos] == [1, 2]


def test_quem_nunca_falhou_nao_viaja_com_quem_falhou(bancada: Bancada) -> None:
    antigos = bancada.capturar(4)
    bancada.servidor.mundo.roteiro.append(ERRO_500)
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)
    novos = bancada.capturar(4)
    assert bancada.esvaziar()

    for recebido in bancada.servidor.mundo.recebidos[1:]:
        assert not (set(recebido.ids) & set(antigos) and set(recebido.ids) & set(novos))
    assert len(bancada.servidor.mundo.gravados) == 8


def test_latencia_e_monotonica_vai_no_proximo_contato_e_sobrevive_a_corte_e_reinicio(montar: Montar) -> None:
    bancada = montar()
    mundo = bancada.servidor.mundo
    (id_evento,) = bancada.capturar()
    bancada.relogio.andar(2.5)
    bancada.relogio.parede = bancada.relogio.parede.replace(year=1970)  # a parede não importa
    assert bancada.esvaziar()
    mundo.no_pulso = lambda pulso: Cortar(depois_de_gravar=False)
    antes = len(mundo.pulsos)
    bancada.andar(lambda: len(mundo.pulsos) > antes)
    mundo.no_pulso = lambda pulso: None

    reaberta = montar()
    antes = len(mundo.pulsos)
    reaberta.andar(lambda: len(mundo.pulsos) > antes + 1)

    assert 2500 <= mundo.latencias[id_evento] < 2600
    assert mundo.pulsos[-1]["latencias"] == []


def test_depois_de_um_boot_nao_ha_idade_nem_latencia(montar: Montar, relogio: RelogioFalso) -> None:
    bancada = montar()
    (id_evento,) = bancada.capturar()
    bancada.servidor.mundo.roteiro.append(ERRO_500)
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)
    relogio.reiniciar()  # o monotônico voltou para perto de zero: a espera guardada não vale mais

    reaberta = montar()
    assert reaberta.esvaziar(passos=20)
    antes = len(bancada.servidor.mundo.pulsos)
    reaberta.andar(lambda: len(bancada.servidor.mundo.pulsos) > antes)

    assert [r.lote["eventos"][0]["idade_ms"] is None for r in bancada.servidor.mundo.recebidos] == [
        False,
        True,
    ]
    assert list(bancada.servidor.mundo.gravados) == [id_evento]
    assert bancada.servidor.mundo.latencias == {}


def test_pulso_conta_a_fila(bancada: Bancada) -> None:
    bancada.capturar(2)
    bancada.relogio.andar(7)
    bancada.remetente.passo()

    pulso = bancada.servidor.mundo.pulsos[0]
    assert pulso["fila"] == {"qtd": 2, "mais_antigo_s": 7.0}
    assert pulso["quadros"]["qtd"] == 1  # o mesmo quadro duas vezes é um arquivo só
    assert pulso["disco_livre_bytes"] > 0
    assert (pulso["quarentena"], pulso["relogio_suspeito"], pulso["boot_id"]) == (0, False, "boot-1")


def test_lote_respeita_o_limite_de_bytes(montar: Montar) -> None:
    bancada = montar(bytes_por_lote=4_000)
    ids = bancada.capturar(12)
    assert bancada.esvaziar()

    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids)
    assert len(bancada.servidor.mundo.recebidos) > 1
    for recebido in bancada.servidor.mundo.recebidos:
        assert len(recebido.ids) == 1 or sum(map(len, recebido.recortes.values())) <= 4_000
