"""Identificadores que quebraram outros produtos: o que casa, o que não casa e o que vira dica."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlr import amarracao
from dlr.models import EventoLogico, Excecao, IdentificadorExterno, Mensagem
from tests.dlr.conftest import Chamar, Ligada, abertas, criar, enviada, estado_de, recibo


def envelhecer() -> None:
    """Passa a janela de espera de todos os recibos."""
    while amarracao.envelhecer(timezone.now() + timedelta(hours=1)):
        pass


@pytest.mark.parametrize(
    ("opcoes", "atado"),
    [
        ((), False),
        (("id_base=hex_decimal",), False),
        (("id_zeros=ignorar",), False),
        (("id_base=hex_decimal", "id_zeros=ignorar"), True),
    ],
)
def test_decimal_com_zero_a_esquerda_so_casa_com_o_hexadecimal_se_a_integracao_diz_as_duas_coisas(
    db: None, callback: Chamar, registrar: Chamar, processar: Any, opcoes: tuple[str, ...], atado: bool
) -> None:
    outra = criar("hex", "padrao", *opcoes)
    registrar(enviada("m1", "39f99dd5"), em=outra)
    callback(recibo("0972660181", "DELIVERED"), em=outra)
    processar()
    assert estado_de("m1")[0] == ("DELIVERED" if atado else None)
    envelhecer()
    if atado:
        assert abertas() == []
        return
    excecao = Excecao.objects.get()
    mensagem = Mensagem.objects.get()
    assert (excecao.tipo, estado_de("m1")[0]) == ("sem_correlacao", None)
    assert excecao.dicas == [
        {"mensagem": mensagem.pk, "id_externo": "39f99dd5", "diferencas": ["base", "zeros"]}
    ]


@pytest.mark.parametrize("opcoes", [(), ("id_base=hex_decimal", "id_zeros=ignorar", "id_caixa=ignorar")])
def test_id_identico_casa_sempre_sem_que_um_lado_so_perca_os_zeros(
    db: None, callback: Chamar, registrar: Chamar, processar: Any, opcoes: tuple[str, ...]
) -> None:
    outra = criar("igual", "padrao", *opcoes)
    registrar(enviada("m1", "00B8BE19"), em=outra)
    callback(recibo("00B8BE19", "DELIVERED"), em=outra)
    processar()
    assert estado_de("m1")[0] == "DELIVERED"
    assert IdentificadorExterno.objects.get().valor == "00B8BE19"
    assert EventoLogico.objects.get().id_externo == "00B8BE19"


def test_espaco_nas_pontas_e_aparado_dos_dois_lados(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", " x1 "))
    callback(recibo(" x1 ", "DELIVERED"))
    processar()
    assert estado_de("m1")[0] == "DELIVERED"


def test_uuid_que_comeca_por_zero_nao_e_numero(
    db: None, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    outra = criar("uuid", "padrao", "id_base=hex_decimal", "id_zeros=ignorar", "id_caixa=ignorar")
    registrar(enviada("m1", "0a1b2c3d-0000-4000-8000-000000000001"), em=outra)
    callback(recibo("a1b2c3d-0000-4000-8000-000000000001", "UNDELIVERABLE"), em=outra)
    callback(recibo("0a1b2c3d-0000-4000-8000-000000000001", "DELIVERED"), em=outra)
    processar()
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert EventoLogico.objects.get(estado="UNDELIVERABLE").mensagem_id is None


def test_id_do_tlv_vale_mais_que_o_do_texto_e_a_diferenca_fica_anotada(
    db: None, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    outra = criar("smsc", "smpp")
    registrar(enviada("do tlv", "T1"), enviada("do texto", "X1"), em=outra)
    callback(
        {"receipted_message_id": "T1", "message_state": 2, "short_message": "id:X1 stat:UNDELIV err:005"},
        em=outra,
    )
    processar()
    assert (estado_de("do tlv")[0], estado_de("do texto")[0]) == ("DELIVERED", None)
    assert any("X1" in nota for nota in EventoLogico.objects.get().notas)


@pytest.mark.parametrize("vazio", ["", " ", "None", "null", "NULL", "undefined", "nil"])
def test_id_que_diz_que_nao_ha_id_nunca_casa_com_nada(
    callback: Chamar, registrar: Chamar, processar: Any, vazio: str
) -> None:
    assert registrar(enviada("m1", vazio)).json()["resultados"][0]["id_interno"] == "m1"
    assert not IdentificadorExterno.objects.exists()
    callback(recibo(vazio, "DELIVERED"))
    processar()
    assert estado_de("m1")[0] is None
    assert abertas() == ["recibo_parcial"]


def test_mensagem_sem_id_externo_fica_e_se_ata_quando_o_id_e_registrado(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    primeira = registrar(enviada("m1")).json()["resultados"][0]
    callback(recibo("x1", "DELIVERED"))
    processar()
    assert estado_de("m1")[0] is None
    assert registrar(enviada("m1", "x1")).json()["resultados"][0] == primeira
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert Mensagem.objects.count() == 1


def test_recibo_antes_do_registro_espera_e_se_ata_sozinho(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    callback([recibo("x1", "ENROUTE"), recibo("x1", "DELIVERED")])
    processar()
    assert set(EventoLogico.objects.values_list("correlacao", "mensagem")) == {("esperando", None)}
    registrar(enviada("m1", "x1"))
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert set(EventoLogico.objects.values_list("correlacao", "esperar_ate")) == {("unica", None)}
    assert not Excecao.objects.exists()


def test_depois_da_janela_vira_excecao_que_se_fecha_dizendo_por_que_quando_a_mensagem_aparece(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    callback(recibo("x1", "DELIVERED"))
    processar()
    assert amarracao.envelhecer(timezone.now() + timedelta(seconds=899)) == 0
    assert amarracao.envelhecer(timezone.now() + timedelta(seconds=901)) == 1
    excecao = Excecao.objects.get()
    assert (excecao.tipo, excecao.situacao, excecao.dicas) == ("sem_correlacao", "aberta", [])
    assert "x1" in excecao.detalhe
    registrar(enviada("m1", "x1"))
    excecao.refresh_from_db()
    assert (excecao.situacao, excecao.encerramento) == ("resolvida", amarracao.ATADO)
    acoes = list(excecao.acoes.values_list("acao", "autor", "motivo"))
    assert acoes == [("abrir", None, "a causa apareceu"), ("fechar", None, amarracao.ATADO)]
    assert estado_de("m1")[0] == "DELIVERED"


@pytest.mark.parametrize(
    ("registrado", "recebido", "diferencas"),
    [
        ("ab-1", "AB-1", ["caixa"]),
        ("0012", "12", ["zeros"]),
        ("ff", "255", ["base"]),
        ("00FF", "ff", ["caixa", "zeros"]),
    ],
)
def test_quase_acerto_e_dica_para_uma_pessoa_e_nunca_se_aplica(
    callback: Chamar, registrar: Chamar, processar: Any, registrado: str, recebido: str, diferencas: list[str]
) -> None:
    registrar(enviada("m1", registrado))
    callback(recibo(recebido, "DELIVERED"))
    processar()
    envelhecer()
    (dica,) = Excecao.objects.get().dicas
    assert (dica["id_externo"], dica["diferencas"]) == (registrado, diferencas)
    assert estado_de("m1")[0] is None


@pytest.mark.parametrize(
    ("opcao", "registrado", "recebido"),
    [
        ("id_caixa=ignorar", "ab-1", "AB-1"),
        ("id_zeros=ignorar", "0012", "12"),
        ("id_base=hex_decimal", "f" * 32, str(0x_FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF)),
    ],
)
@pytest.mark.parametrize("mensagem_primeiro", [True, False])
def test_forma_autorizada_ata_nos_dois_sentidos_e_nas_duas_ordens(
    db: None, callback: Chamar, registrar: Chamar, processar: Any,
    opcao: str, registrado: str, recebido: str, mensagem_primeiro: bool,
) -> None:  # fmt: skip
    outra = criar("tolerante", "padrao", opcao)
    if mensagem_primeiro:
        registrar(enviada("m1", registrado), enviada("m2", recebido + "x"), em=outra)
    callback(recibo(recebido, "DELIVERED"), em=outra)
    processar()
    if not mensagem_primeiro:
        registrar(enviada("m1", registrado), em=outra)
    assert estado_de("m1")[0] == "DELIVERED"


def test_duas_mensagens_com_o_mesmo_id_na_integracao_nao_mudam_e_abrem_excecao(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    envelhecer()
    assert estado_de("m1") == estado_de("m2") == (None, False, "sem_recibo")
    excecao = Excecao.objects.get()
    assert (excecao.tipo, excecao.situacao) == ("correlacao_ambigua", "aberta")
    assert {dica["mensagem"] for dica in excecao.dicas} == set(Mensagem.objects.values_list("pk", flat=True))
    assert EventoLogico.objects.get().correlacao == "varias"


def test_ambigua_depois_de_envelhecer_nao_diz_que_foi_atada(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    callback(recibo("x1", "DELIVERED"))
    processar()
    envelhecer()
    registrar(enviada("m1", "x1"), enviada("m2", "x1"))
    assert Excecao.objects.get(tipo="sem_correlacao").encerramento == amarracao.AMBIGUO
    assert abertas() == ["correlacao_ambigua"]
    assert estado_de("m1")[0] is estado_de("m2")[0] is None


def test_o_mesmo_id_em_duas_integracoes_e_de_cada_uma(
    callback: Chamar, registrar: Chamar, processar: Any, integracao: Ligada
) -> None:
    outra = criar("outra")
    registrar(enviada("m1", "x1"))
    registrar(enviada("m2", "x1"), em=outra)
    callback(recibo("x1", "DELIVERED"))
    callback(recibo("x1", "REJECTED"), em=outra)
    processar()
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", "REJECTED")
    assert not Excecao.objects.exists()


def test_id_de_dezenove_algarismos_e_texto_em_todo_o_caminho(
    client: Client, integracao: Ligada, callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    numero = "9007199254740993123"  # em ponto flutuante viraria 9007199254740993000
    (resultado,) = registrar(enviada("m1", numero)).json()["resultados"]
    callback(f'{{"id_externo": {numero}, "estado": "DELIVERED"}}'.encode())
    processar()
    assert estado_de("m1")[0] == "DELIVERED"
    explicada = client.get(
        f"/dlr/mensagens/{resultado['id']}", headers={"authorization": f"Bearer {integracao.token}"}
    ).json()
    assert explicada["mensagem"]["ids_externos"] == [{"valor": numero, "parte": None}]
    assert explicada["eventos"][0]["id_externo"] == numero
    recusada = registrar({"id_interno": "m2", "ids_externos": [{"valor": int(numero)}]})
    assert recusada.json()["resultados"][0]["codigo"] == "id_externo_invalido"
