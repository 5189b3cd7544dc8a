"""O laço contra um servidor que responde de tudo: nada se apaga sem o ACK certo, nada segura os outros."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.ingestao.cliente.conftest import CAIXA, TOKEN, Bancada, RelogioFalso, desenhar_quadro
from tests.ingestao.cliente.servidor import Ato, Cortar, Recebido, Responder, Trocar

Montar = Callable[..., Bancada]
ERRO_500 = Responder(status=500, codigo="erro_interno")


def recusar(alvo: str, ato: Ato) -> Callable[[Recebido], Ato]:
    """O ato para todo lote que leva o alvo; os outros são atendidos."""
    return lambda recebido: ato if alvo in recebido.ids else None


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


def test_quem_nunca_falhou_nao_viaja_com_quem_falhou(bancada: Bancada) -> None:
    antigos = bancada.capturar(4)
    bancada.servidor.mundo.roteiro.append(ERRO_500)
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)
    novos = bancada.capturar(4)
    assert bancada.esvaziar()

    for recebido in bancada.servidor.mundo.recebidos[1:]:
        assert not (set(recebido.ids) & set(antigos) and set(recebido.ids) & set(novos))
    assert len(bancada.servidor.mundo.gravados) == 8


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


@pytest.mark.parametrize(
    ("status", "codigo"),
    [(401, "token_desconhecido"), (401, "token_ausente"), (403, "dispositivo_revogado")],
)
def test_token_recusado_segura_a_fila_alarma_e_reconfere_devagar(
    bancada: Bancada, status: int, codigo: str, caplog: pytest.LogCaptureFixture
) -> None:
    ids = bancada.capturar(5)
    recusa = Responder(status=status, codigo=codigo)
    bancada.servidor.mundo.sempre = lambda recebido: recusa
    bancada.servidor.mundo.no_pulso = lambda pulso: recusa
    comeco_ms = bancada.relogio.mono
    bancada.andar(lambda: len(bancada.servidor.mundo.pulsos) == 10)

    assert bancada.por_enviar == 5
    assert bancada.quarentena == {}
    assert bancada.remetente.autenticacao_recusada
    assert codigo in str(bancada.cliente.fila.ler_anotacao("autenticacao_recusada"))
    assert bancada.relogio.mono - comeco_ms >= 9 * 150_000  # de dois em dois minutos e meio, no mínimo
    assert len(bancada.servidor.mundo.recebidos) <= 1  # quem sonda é o pulso: nenhuma imagem à toa
    assert [r.message.count("recusou o token") for r in caplog.records if r.levelname == "ERROR"] == [1]
    assert TOKEN not in caplog.text

    bancada.servidor.mundo.sempre = lambda recebido: None
    bancada.servidor.mundo.no_pulso = lambda pulso: None
    assert bancada.esvaziar()
    assert sorted(bancada.servidor.mundo.gravados) == sorted(ids)
    assert bancada.cliente.fila.ler_anotacao("autenticacao_recusada") == ""


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_e_respeitado_e_nao_conta_para_o_teto(bancada: Bancada, status: int) -> None:
    bancada.capturar(3)
    cheio = Responder(status=status, cabecalhos=(("Retry-After", "40"),))
    bancada.servidor.mundo.roteiro.extend([cheio] * 30)
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar()

    passou_s = (bancada.relogio.mono - comeco_ms) / 1000
    assert passou_s >= 30 * 40
    assert len(bancada.servidor.mundo.recebidos) == 31
    assert bancada.quarentena == {}


def test_retry_after_absurdo_tem_teto(bancada: Bancada) -> None:
    bancada.capturar()
    cheio = Responder(status=503, cabecalhos=(("Retry-After", "99999999"),))
    bancada.servidor.mundo.roteiro.append(cheio)
    comeco_ms = bancada.relogio.mono
    assert bancada.esvaziar()

    assert (bancada.relogio.mono - comeco_ms) / 1000 < 900 * 1.5 + 60


@pytest.mark.parametrize(
    "ato",
    [
        Cortar(depois_de_gravar=False),
        Responder(status=502, corpo=b"<html>"),
        Responder(status=302, corpo=b""),
    ],
    ids=["corte", "proxy", "portal"],
)
def test_dias_sem_link_nao_condenam_ninguem_e_os_mais_antigos_saem_primeiro(
    bancada: Bancada, ato: Ato
) -> None:
    ids = bancada.capturar(60)
    mundo = bancada.servidor.mundo
    mundo.sempre = lambda recebido: ato
    fora = Responder(status=502, corpo=b"")
    mundo.no_pulso = lambda pulso: fora
    comeco_ms = bancada.relogio.mono
    bancada.andar(lambda: bancada.relogio.mono - comeco_ms > 2 * 3600 * 1000, passos=5000)

    assert bancada.relogio.mono - comeco_ms > 2 * 3600 * 1000
    assert (bancada.por_enviar, bancada.quarentena) == (60, {})
    antes = len(mundo.recebidos)
    assert antes < 2 * 3600 / 30  # o recuo chegou ao teto: nada de laço quente

    mundo.sempre, mundo.no_pulso = lambda recebido: None, lambda pulso: None
    assert bancada.esvaziar()
    tamanhos = [len(r.ids) for r in mundo.recebidos[antes:]]
    assert max(tamanhos[:2]) <= 8  # recomeça pequeno
    aceitos = [id_ for r in mundo.recebidos[antes:] for id_ in r.ids]
    # Só o que ainda esperava a sua vez, cortado sozinho, pode ter cedido o lugar.
    adiantados = [id_ for id_ in aceitos if id_ != ids[0]]
    assert adiantados[:40] == [id_ for id_ in ids if id_ in adiantados][:40]


def test_sem_ninguem_escutando_nada_se_perde_nem_conta(montar: Montar, servidor: Any) -> None:
    url = servidor.url
    servidor.url = "http://127.0.0.1:1"  # porta que ninguém abre
    bancada = montar(prazo_conexao_s=0.5)
    servidor.url = url
    bancada.capturar(3)
    bancada.andar(lambda: False, passos=60)

    (lote,) = [bancada.cliente.fila.medir()]
    assert (lote.prontos + lote.esperando, lote.quarentena) == (3, 0)
    assert max(bancada.dormidas_s) > 100  # o recuo cresceu


@pytest.mark.parametrize(
    "corpo",
    [
        b"", b"<html>Bem-vindo ao hotel</html>", b"[]", b"null", b'{"resultados": []}', b'{"resultados": {}}',
        b'{"resultados": [{"situacao": "gravado"}]}', b'{"resultados": [7]}', b'{"resultados": [null]}',
        b'{"resultados": [{"id_evento": "00000000-0000-4000-8000-000000000000", "situacao": "gravado",'
        b' "gravado_em": "2026-11-30T18:00:00Z"}]}',
        b"\xff\xfe{}", b"[" * 100_000,
    ],
)  # fmt: skip
def test_resposta_ilegivel_nao_confirma_nada(bancada: Bancada, corpo: bytes) -> None:
    (id_evento,) = bancada.capturar()
    bancada.servidor.mundo.roteiro.append(Responder(status=200, corpo=corpo))
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)
    assert bancada.por_enviar == 1

    assert bancada.esvaziar()
    assert list(bancada.servidor.mundo.gravados) == [id_evento]


def trocar_resultados(troca: Callable[[list[dict[str, Any]]], Any]) -> Trocar:
    return Trocar(troca=lambda r: json.dumps({**r, "resultados": troca(r["resultados"])}).encode())


@pytest.mark.parametrize(
    ("troca", "confirmados"),
    [
        (lambda rs: rs[:-1], 0),
        (lambda rs: [*rs, rs[0]], 0),
        (lambda rs: [rs[1], rs[0], rs[2]], 1),  # fora de ordem: só quem está no seu lugar
        (lambda rs: [{**rs[0], "situacao": "gravada"}, *rs[1:]], 2),
        (lambda rs: [{**rs[0], "gravado_em": None}, *rs[1:]], 2),
        (lambda rs: [{**rs[0], "id_evento": None}, *rs[1:]], 2),
        (lambda rs: [rs[0], {"id_evento": rs[1]["id_evento"], "situacao": "talvez"}, rs[2]], 2),
    ],
)
def test_so_o_ack_do_proprio_id_apaga(
    bancada: Bancada, troca: Callable[[list[dict[str, Any]]], Any], confirmados: int
) -> None:
    bancada.capturar(3)
    bancada.servidor.mundo.roteiro.append(trocar_resultados(troca))
    bancada.andar(lambda: len(bancada.servidor.mundo.recebidos) == 1)

    assert bancada.por_enviar == 3 - confirmados
    assert bancada.esvaziar()
    assert len(bancada.servidor.mundo.gravados) == 3
    assert bancada.quarentena == {}


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
