"""Estados que quebraram outros produtos: desordem, repetição, códigos que ninguém conhece, partes."""

import itertools
from typing import Any

import pytest

from dlr.models import EventoLogico, Excecao, Projecao
from tests.dlr.conftest import Chamar, abertas, criar, em_ordem, enviada, estado_de, recibo


@pytest.mark.parametrize("ordem", list(itertools.permutations(["DELIVERED", "ENROUTE", "ACCEPTED"])))
@pytest.mark.parametrize("juntos", [True, False])
def test_entregue_e_intermediarios_em_qualquer_ordem_dao_entregue_sem_excecao(
    callback: Chamar, registrar: Chamar, processar: Any, ordem: tuple[str, ...], juntos: bool
) -> None:
    registrar(enviada("m1", "x1"))
    for estado in ordem:
        callback(recibo("x1", estado))
        if not juntos:
            processar()
    processar()
    assert estado_de("m1") == ("DELIVERED", True, "final")
    papeis = dict(EventoLogico.objects.values_list("estado", "papel"))
    for nome in ("ENROUTE", "ACCEPTED"):
        depois = ordem.index(nome) > ordem.index("DELIVERED")
        assert papeis[nome] == ("tardio" if depois else "superado")
    assert not Excecao.objects.exists()


def test_entregue_e_depois_nao_entregavel_continua_entregue_com_os_dois_guardados(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    callback([recibo("x1", "DELIVERED"), recibo("x1", "UNDELIVERABLE")])
    processar()
    assert estado_de("m1") == ("DELIVERED", True, "conflito_mantem_o_primeiro")
    assert list(em_ordem().values_list("estado", "papel")) == [
        ("DELIVERED", "sustenta"),
        ("UNDELIVERABLE", "contradiz"),
    ]
    assert abertas() == ["conflito_final"]


def test_o_mesmo_estado_com_tres_ids_de_evento_e_uma_transicao_so(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    for evento_id in ("e1", "e2", "e3"):
        callback(recibo("x1", "DELIVERED", evento_id=evento_id))
        processar()
    assert estado_de("m1") == ("DELIVERED", True, "final")
    papeis = list(em_ordem().values_list("papel", flat=True))
    assert papeis == ["sustenta", "confirma", "confirma"]
    assert Projecao.objects.get().sustentam == sorted(EventoLogico.objects.values_list("pk", flat=True))
    assert not Excecao.objects.exists()


@pytest.mark.parametrize("juntos", [True, False])
def test_id_de_evento_reutilizado_com_outro_conteudo_e_excecao_e_nao_se_aplica(
    callback: Chamar, registrar: Chamar, processar: Any, juntos: bool
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    callback(recibo("x1", "DELIVERED", evento_id="e1"))
    if not juntos:
        processar()
    for _ in range(2):  # reenviar o reutilizado não abre outra exceção
        callback(recibo("x2", "REJECTED", evento_id="e1"))
        processar()
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", None)
    excecao = Excecao.objects.get()
    assert (excecao.tipo, excecao.situacao) == ("id_de_evento_reutilizado", "aberta")
    assert "REJECTED" in excecao.detalhe and "x2" in excecao.detalhe
    assert EventoLogico.objects.get().qtd_recepcoes == 1


def test_o_mesmo_id_de_evento_em_duas_integracoes_e_de_cada_uma(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    outra = criar("outra")
    registrar(enviada("m1", "x1"))
    registrar(enviada("m2", "x1"), em=outra)
    callback(recibo("x1", "DELIVERED", evento_id="e1"))
    callback(recibo("x1", "EXPIRED", evento_id="e1"), em=outra)
    processar()
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", "EXPIRED")
    assert not Excecao.objects.exists()


@pytest.mark.parametrize("bruto", ["BUFFRED", "FAILED", "66", "FOO", "DELIVERED!", "entregue", "\u0000"])
def test_estado_desconhecido_fica_bruto_abre_excecao_e_nao_muda_nada(
    callback: Chamar, registrar: Chamar, processar: Any, bruto: str
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "ENROUTE"))
    callback(recibo("x1", bruto))
    processar()
    assert estado_de("m1") == ("ENROUTE", False, "intermediario")
    evento = EventoLogico.objects.get(estado__isnull=True)
    assert (evento.estado_bruto, evento.papel) == (bruto.replace("\u0000", "\ufffd"), "nao_mapeado")
    assert abertas() == ["estado_nao_mapeado"]


@pytest.mark.parametrize(("estado", "bruto"), [(66, "66"), (2, "2"), (2.0, "2.0"), (True, "true")])
def test_estado_numerico_no_nosso_formato_e_desconhecido_e_nao_message_state(
    callback: Chamar, registrar: Chamar, processar: Any, estado: Any, bruto: str
) -> None:
    registrar(enviada("m1", "x1"))
    callback({"id_externo": "x1", "estado": estado})
    processar()
    assert (EventoLogico.objects.get().estado_bruto, estado_de("m1")[0]) == (bruto, None)
    assert abertas() == ["estado_nao_mapeado"]


def test_aceita_pelo_smsc_e_intermediario_e_nunca_entrega(
    client: Any, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    kannel = criar("kannel", "kannel")
    registrar(enviada("m1", "k1"), em=kannel)
    assert client.get(f"{kannel.url}?id=k1&tipo=8").status_code == 200
    processar()
    assert estado_de("m1") == ("ACCEPTED", False, "intermediario")


def test_codigo_zero_e_um_valor_e_nao_a_falta_dele(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    callback({"id_externo": "x1", "estado": "DELIVERED", "erro": 0})
    callback({"id_externo": "x1", "estado": "DELIVERED"})
    processar()
    codigos = list(em_ordem().values_list("codigo_erro", flat=True))
    assert codigos == ["0", None]
    assert estado_de("m1")[0] == "DELIVERED"


def test_unknown_nao_encerra_e_o_final_depois_dele_se_aplica(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "UNKNOWN"))
    processar()
    assert estado_de("m1") == ("UNKNOWN", False, "intermediario")
    callback(recibo("x1", "UNDELIVERABLE"))
    processar()
    assert estado_de("m1") == ("UNDELIVERABLE", True, "final")
    assert not Excecao.objects.exists()


def de_partes(id_interno: str, *ids: str) -> dict[str, Any]:
    partes = [{"valor": valor, "parte": parte} for parte, valor in enumerate(ids, 1)]
    return {"id_interno": id_interno, "ids_externos": partes}


def test_o_todo_so_e_entregue_com_todas_as_partes_entregues(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(de_partes("m1", "p1", "p2"))
    callback(recibo("p2", "DELIVERED"))
    processar()
    assert estado_de("m1") == ("ENROUTE", False, "partes_incompletas")
    callback(recibo("p1", "DELIVERED"))
    processar()
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert not Excecao.objects.exists()


def test_partes_que_terminam_diferente_abrem_excecao_e_o_todo_nao_se_diz_entregue(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(de_partes("m1", "p1", "p2"))
    callback([recibo("p1", "DELIVERED"), recibo("p2", "EXPIRED")])
    processar()
    assert estado_de("m1") == ("UNKNOWN", False, "partes_divergentes")
    assert abertas() == ["partes_divergentes"]


def test_o_mesmo_id_em_duas_partes_fala_da_mensagem_inteira(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(de_partes("m1", "x1", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    assert EventoLogico.objects.get().parte is None
    assert estado_de("m1") == ("DELIVERED", True, "final")


def test_recibo_de_mensagem_recusada_na_apresentacao_abre_mensagem_nao_aceita(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1", aceita=False))
    assert abertas() == []
    callback(recibo("x1", "DELIVERED"))
    processar()
    assert abertas() == ["mensagem_nao_aceita"]
    assert estado_de("m1")[0] == "DELIVERED"


def test_texto_smpp_nada_depois_de_text_e_campo(callback: Chamar, registrar: Chamar, processar: Any) -> None:
    smsc = criar("smsc", "smpp")
    registrar(enviada("m1", "A1"), enviada("m2", "B2"), em=smsc)
    callback(
        {"short_message": "id:A1 sub:001 stat:UNDELIV err:005 text:id:B2 stat:DELIVRD\n\u0000é"}, em=smsc
    )
    processar()
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("UNDELIVERABLE", None)


@pytest.mark.parametrize(
    ("data", "lida"),
    [
        ("2601020304", "2026-01-02T03:04:00+00:00"),
        ("260102030405", "2026-01-02T03:04:05+00:00"),
        ("20260102030405", "2026-01-02T03:04:05+00:00"),
        ("201212121212", None),  # serve às duas leituras de doze algarismos
        ("ontem", None),
    ],
)
def test_data_smpp_e_lida_sem_adivinhar_e_o_recibo_vale_de_todo_modo(
    callback: Chamar, registrar: Chamar, processar: Any, data: str, lida: str | None
) -> None:
    smsc = criar("smsc", "smpp")
    registrar(enviada("m1", "A1"), em=smsc)
    callback({"short_message": f"stat: DELIVRD id: A1 submit date:{data} err:00B"}, em=smsc)
    processar()
    evento = EventoLogico.objects.get()
    assert evento.apresentada_bruto == data
    assert (evento.apresentada_em and evento.apresentada_em.isoformat()) == lida
    assert (evento.codigo_erro, estado_de("m1")[0]) == ("00B", "DELIVERED")
