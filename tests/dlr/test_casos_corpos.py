"""Corpos que quebraram outros produtos: listas com um item ruim, bytes tortos, GET no lugar de POST."""

import json
from collections import Counter
from typing import Any

import pytest
from django.test import Client

from dlr.formatos.registro import FORMATOS
from dlr.models import EventoLogico, Excecao, Ocorrencia, Projecao, Recepcao
from tests.dlr.conftest import Chamar, abertas, criar, em_ordem, enviada, estado_de, recibo


@pytest.mark.parametrize("ruim", [3, None, "x", [], {}, {"estado": "DELIVERED"}, {"id_externo": "x9"}])
def test_item_ruim_vira_excecao_e_os_bons_da_lista_sao_aplicados(
    callback: Chamar, registrar: Chamar, processar: Any, ruim: Any
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    assert callback([recibo("x1", "DELIVERED"), ruim, recibo("x2", "EXPIRED")]).status_code == 202
    processar()
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", "EXPIRED")
    excecao = Excecao.objects.get()
    assert excecao.alvo == f"ocorrencia:{Recepcao.objects.get().pk}#1"
    assert excecao.tipo == ("recibo_parcial" if isinstance(ruim, dict) else "formato_nao_reconhecido")
    assert list(Ocorrencia.objects.order_by("indice").values_list("indice", "evento__id_externo")) == [
        (0, "x1"),
        (1, None),
        (2, "x2"),
    ]


def test_results_com_um_item_ruim_tem_a_resposta_de_sucesso_do_formato(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    infobip = criar("infobip", "infobip")
    registrar(enviada("m1", "x1"), em=infobip)
    bom = {"messageId": "x1", "status": {"groupName": "DELIVERED", "name": "DELIVERED_TO_HANDSET"}}
    assert callback({"results": [bom, 7]}, em=infobip).status_code == 200
    processar()
    assert estado_de("m1")[0] == "DELIVERED"
    assert abertas() == ["formato_nao_reconhecido"]


def test_a_mesma_chamada_por_get_formulario_ou_json_da_um_evento_so(
    client: Client, registrar: Chamar, processar: Any
) -> None:
    vonage = criar("vonage", "vonage")
    registrar(enviada("m1", "v1"), em=vonage)
    campos = {"messageId": "v1", "status": "delivered", "err-code": "0", "scts": "2601020304"}
    for resposta in (
        client.get(vonage.url, campos),
        client.post(
            vonage.url,
            "&".join(f"{k}={v}" for k, v in campos.items()),
            content_type="application/x-www-form-urlencoded",
        ),
        client.post(vonage.url, json.dumps(campos), content_type="application/json"),
    ):
        assert resposta.status_code == 200
    processar()
    evento = EventoLogico.objects.get()
    assert (evento.qtd_recepcoes, evento.codigo_erro) == (3, "0")
    assert estado_de("m1") == ("DELIVERED", True, "final")


@pytest.mark.parametrize(
    "corpo",
    [
        b"",
        b'{"id_externo": "x1", ',
        b'{"id_externo": "\xff\xfe"}',
        b"\x00\x00",
        b'{"a": NaN}',
        b"[" * 100_000,
        b'{"id_externo": 1e999999999, "estado": }',
        "não é json".encode("utf-16"),
    ],
    ids=lambda v: repr(v)[:24],
)
@pytest.mark.parametrize("formato", FORMATOS, ids=lambda formato: formato.slug)
def test_o_que_nao_se_le_e_guardado_byte_a_byte_confirmado_e_vira_excecao(
    client: Client, db: None, processar: Any, formato: Any, corpo: bytes
) -> None:
    outra = criar("torta", formato.slug)
    metodo = client.get if formato.metodos == ("GET",) else client.post
    url = f"{outra.url}?x=%FF%00" if formato.metodos == ("GET",) else outra.url
    resposta = metodo(url, corpo, content_type="application/json") if metodo == client.post else metodo(url)
    assert (resposta.status_code, resposta.content) == (formato.resposta.status, formato.resposta.corpo)
    processar()
    recepcao = Recepcao.objects.get()
    assert bytes(recepcao.corpo) == (corpo if metodo == client.post else b"")
    assert not EventoLogico.objects.exists()
    assert set(abertas()) <= {"formato_nao_reconhecido", "recibo_parcial"} and len(abertas()) == 1


def test_nul_e_meio_emoji_no_json_viram_substituto_e_os_bytes_ficam_na_recepcao(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"))
    corpo = (
        rb'{"id_externo": "x1", "estado": "DELIVERED", "erro": "a\u0000b\ud800", "origem": "\ud83d\ude00"}'
    )
    assert callback(corpo).status_code == 202
    processar()
    evento = EventoLogico.objects.get()
    assert (evento.codigo_erro, evento.origem) == ("a\ufffdb\ufffd", "😀")
    assert bytes(Recepcao.objects.get().corpo) == corpo
    assert estado_de("m1")[0] == "DELIVERED"


@pytest.mark.parametrize("campo", ["id_externo", "evento_id", "estado", "erro", "origem", "concluido_em"])
@pytest.mark.parametrize("valor", ["\u0000", "x" * 100_000, "é" * 300, "\ud800", {"a": [1]}])
def test_campo_absurdo_nao_derruba_o_worker_nem_estaciona_a_recepcao(
    callback: Chamar, processar: Any, campo: str, valor: Any
) -> None:
    assert callback({**recibo("x1", "DELIVERED"), campo: valor}).status_code == 202
    processar()
    assert Ocorrencia.objects.count() == 1


def test_id_longo_demais_e_recibo_parcial_e_nunca_um_id_cortado(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x" * 200))
    callback(recibo("x" * 201, "DELIVERED"))
    processar()
    assert (estado_de("m1")[0], abertas()) == (None, ["recibo_parcial"])


def test_item_repetido_no_lote_seguinte_tem_um_efeito_so(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"), enviada("m3", "x3"))
    callback([recibo("x1", "DELIVERED"), recibo("x2", "DELIVERED")])
    processar()
    callback([recibo("x2", "DELIVERED"), recibo("x3", "DELIVERED"), recibo("x2", "DELIVERED")])
    processar()
    assert list(em_ordem().values_list("id_externo", "qtd_recepcoes", "indice")) == [
        ("x1", 1, 0),
        ("x2", 3, 1),
        ("x3", 1, 1),
    ]
    repetidas = Ocorrencia.objects.filter(repeticao=True).order_by("indice")
    assert list(repetidas.values_list("indice", "evento__id_externo")) == [(0, "x2"), (2, "x2")]
    assert not Excecao.objects.exists()


def test_leitor_que_nao_acha_item_nenhum_nao_faz_a_recepcao_sumir(
    callback: Chamar, processar: Any, monkeypatch: pytest.MonkeyPatch, integracao: Any
) -> None:
    from dataclasses import replace

    from dlr.formatos import padrao, registro

    calado = replace(padrao.FORMATO, ler=lambda chamada, contexto: [])
    monkeypatch.setitem(registro.POR_SLUG, "padrao", calado)
    callback(recibo("x1", "DELIVERED"))
    processar()
    assert abertas() == ["formato_nao_reconhecido"]


def test_vetor_infobip_de_cem_com_itens_ruins_aplica_os_bons_e_isola_os_outros(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    infobip = criar("infobip-cem", "infobip")
    registrar(*[enviada(f"m{n}", f"x{n}") for n in range(90)], em=infobip)
    entregue = {"groupName": "DELIVERED", "name": "DELIVERED_TO_HANDSET"}
    bons = [{"messageId": f"x{n}", "status": entregue, "to": "5511999990000"} for n in range(90)]
    ruins: list[Any] = [
        7,
        None,
        "x",
        [],
        {},
        {"messageId": ""},
        {"status": entregue},
        {"messageId": "x1"},
        [1],
        {"a": 1},
    ]
    itens = [item for pedaco in range(10) for item in [*bons[pedaco * 9 : pedaco * 9 + 9], ruins[pedaco]]]
    assert callback({"results": itens}, em=infobip).status_code == 200
    processar()
    estados = Projecao.objects.filter(mensagem__integracao__slug="infobip-cem").values_list(
        "estado", flat=True
    )
    assert list(estados) == ["DELIVERED"] * 90
    abertas_por_tipo = Counter(Excecao.objects.values_list("tipo", flat=True))
    assert sum(abertas_por_tipo.values()) == 10
    assert set(abertas_por_tipo) <= {"formato_nao_reconhecido", "recibo_parcial"}
