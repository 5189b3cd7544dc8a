"""A lista de verificação para produção de callbacks de DLR, item por item."""

import csv
from io import StringIO
from typing import Any

import pytest
from django.test import Client

from dlr.models import EventoLogico, Excecao, Mensagem, Ocorrencia, Projecao, Recepcao
from tests.dlr.conftest import Chamar, Ligada, abertas, em_ordem, enviada, estado_de, recibo


def relatorio(client: Client, integracao: Ligada) -> list[dict[str, Any]]:
    resposta = client.get("/dlr/relatorio", headers={"authorization": f"Bearer {integracao.token}"})
    assert resposta.status_code == 200
    return resposta.json()["linhas"]


def test_callback_repetido_nao_muda_o_estado_calculado_nem_os_contadores(
    client: Client, integracao: Ligada, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED", concluido_em="2026-01-02T03:04:05Z"))
    processar()
    antes = (Projecao.objects.values().get(), relatorio(client, integracao))
    for _ in range(3):
        assert callback(recibo("x1", "DELIVERED", concluido_em="2026-01-02T03:04:05Z")).status_code == 202
    processar()
    assert (Projecao.objects.values().get(), relatorio(client, integracao)) == antes
    evento = EventoLogico.objects.get()
    assert (evento.qtd_recepcoes, evento.papel) == (4, "sustenta")
    assert Recepcao.objects.count() == 4
    assert list(Ocorrencia.objects.order_by("id").values_list("repeticao", flat=True)) == [False] + [True] * 3
    assert not Excecao.objects.exists()


@pytest.mark.parametrize("intermediario", ["ENROUTE", "ACCEPTED", "SCHEDULED", "UNKNOWN"])
def test_evento_intermedio_depois_de_um_final_nao_degrada_o_resultado(
    callback: Chamar, registrar: Chamar, processar: Any, intermediario: str
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    callback(recibo("x1", intermediario))
    processar()
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert list(em_ordem().values_list("papel", flat=True)) == ["sustenta", "tardio"]
    assert not Excecao.objects.exists()


def test_segundo_final_incompativel_e_preservado_e_assinalado(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    for _ in range(2):
        callback(recibo("x1", "UNDELIVERABLE", erro="005"))
        processar()
    assert estado_de("m1") == ("DELIVERED", True, "conflito_mantem_o_primeiro")
    segundo = EventoLogico.objects.get(estado="UNDELIVERABLE")
    assert (segundo.papel, segundo.codigo_erro, segundo.mensagem.id_interno) == ("contradiz", "005", "m1")
    excecao = Excecao.objects.get()
    assert (excecao.tipo, excecao.situacao, excecao.mensagem.id_interno) == ("conflito_final", "aberta", "m1")


def test_callback_sem_id_de_evento_e_deduplicado_pela_impressao_guardada_com_os_componentes(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    for destino in ("+5511999990000", "5511999990000"):  # a forma do destino muda entre reenvios
        callback(recibo("x1", "DELIVERED", erro="000", destino=destino))
    processar()
    evento = EventoLogico.objects.get()
    assert evento.chave.startswith("impressao:v1:") and evento.versao_da_chave == 1
    assert evento.componentes == [["id_externo", "x1"], ["estado_bruto", "DELIVERED"], ["codigo_erro", "000"]]
    assert evento.qtd_recepcoes == 2


def test_callback_com_id_externo_nao_encontrado_espera_sem_se_perder(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    assert callback(recibo("x9", "DELIVERED")).status_code == 202
    processar()
    evento = EventoLogico.objects.get()
    assert (evento.mensagem_id, evento.correlacao) == (None, "esperando")
    assert estado_de("m1") == (None, False, "sem_recibo")


@pytest.mark.parametrize("data", ["ontem", "32/13/2026", "2026-01-02", "", "9" * 40])
def test_formato_de_data_nao_reconhecido_fica_bruto_e_o_recibo_vale(
    callback: Chamar, registrar: Chamar, processar: Any, data: str
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED", concluido_em=data))
    processar()
    evento = EventoLogico.objects.get()
    assert (evento.concluida_bruto, evento.concluida_em) == (data or None, None)
    assert estado_de("m1")[0] == "DELIVERED" and abertas() == []


@pytest.mark.parametrize("corpo", [b"", b"{", b"\xff\xfe", b"<xml/>", b"[]", b"3", b'"x"', b"null"])
def test_payload_nao_reconhecido_e_confirmado_guardado_e_vira_excecao(
    callback: Chamar, registrar: Chamar, processar: Any, corpo: bytes
) -> None:
    registrar(enviada("m1", "x1"))
    assert callback(corpo).status_code == 202
    processar()
    assert bytes(Recepcao.objects.get().corpo) == corpo
    assert abertas() == ["formato_nao_reconhecido"]
    assert not EventoLogico.objects.exists()
    assert estado_de("m1") == (None, False, "sem_recibo")


def test_mensagem_nao_correlacionada_nunca_e_atribuida_por_destino_ou_conteudo(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    """Destino, origem, hora e rota idênticos, e uma mensagem só no banco: nem assim."""
    registrar(enviada("m1", origem="LOJA", rota="r1", apresentada_em="2026-01-02T03:04:05Z"))
    callback(
        recibo(
            "x1",
            "DELIVERED",
            destino="+5511999990000",
            origem="LOJA",
            apresentado_em="2026-01-02T03:04:05Z",
        )
    )
    processar()
    assert EventoLogico.objects.get().mensagem_id is None
    assert estado_de("m1") == (None, False, "sem_recibo")


def test_relatorio_distingue_aceitacao_estado_do_dlr_e_verificacao_independente(
    client: Client, integracao: Ligada, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(
        enviada("entregue", "x1"),
        enviada("entregue e verificada", "x2"),
        enviada("só aceita", "x3"),
        enviada("verificada sem recibo", "x4"),
        enviada("recusada", "x5", aceita=False),
        enviada("não se sabe", "x6", aceita=None),
    )
    callback([recibo("x1", "DELIVERED"), recibo("x2", "DELIVERED")])
    processar()
    cabecalho = {"authorization": f"Bearer {integracao.token}"}
    for nome in ("entregue e verificada", "verificada sem recibo"):
        mensagem = Mensagem.objects.get(id_interno=nome)
        verificada = client.post(
            f"/dlr/mensagens/{mensagem.pk}/verificacoes",
            {"origem": "código digitado", "ocorrida_em": "2026-01-02T03:04:05Z"},
            content_type="application/json",
            headers=cabecalho,
        )
        assert verificada.status_code == 201
    linhas = {
        (li["aceitacao"], li["estado_dlr"], li["final"], li["verificada"]): li["quantidade"]
        for li in relatorio(client, integracao)
    }
    assert linhas == {
        ("aceita", "DELIVERED", True, False): 1,
        ("aceita", "DELIVERED", True, True): 1,
        ("aceita", "SEM_RECIBO", False, False): 1,
        ("aceita", "SEM_RECIBO", False, True): 1,
        ("recusada", "SEM_RECIBO", False, False): 1,
        ("desconhecida", "SEM_RECIBO", False, False): 1,
    }
    tabela = client.get("/dlr/relatorio?formato=csv", headers=cabecalho)
    assert tabela["Content-Type"] == "text/csv; charset=utf-8"
    lidas = list(csv.DictReader(StringIO(tabela.content.decode())))
    assert len(lidas) == 6 and lidas[0]["integracao"] == "op"


def test_a_mensagem_explicada_mostra_as_tres_coisas_e_o_evento_que_sustenta(
    client: Client, integracao: Ligada, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    (resultado,) = registrar(enviada("m1", "x1")).json()["resultados"]
    callback(recibo("x1", "ENROUTE"))
    callback(recibo("x1", "DELIVERED"))
    callback(recibo("x1", "DELIVERED"))
    callback(recibo("x1", "ENROUTE", erro="7"))
    processar()
    explicada = client.get(
        f"/dlr/mensagens/{resultado['id']}", headers={"authorization": f"Bearer {integracao.token}"}
    ).json()
    assert explicada["aceitacao"]["aceita"] is True
    assert explicada["verificacao_independente"] == []
    dlr = explicada["dlr"]
    assert (dlr["estado"], dlr["final"], dlr["motivo"]) == ("DELIVERED", True, "final")
    assert (dlr["houve_tardios"], dlr["houve_repeticoes"]) == (True, True)
    assert dlr["sustentam"] == [EventoLogico.objects.get(estado="DELIVERED").pk]
    assert [e["papel"] for e in explicada["eventos"]] == ["superado", "sustenta", "tardio"]
    assert [r["repeticao"] for r in explicada["recepcoes"]] == [False, False, True, False]
