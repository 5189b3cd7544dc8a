"""O registro do que foi enviado: repetível, isolado por integração, e com cada item por sua conta."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlr.models import EventoLogico, IdentificadorExterno, Mensagem, Verificacao
from dlr.registro import normalizar_e164
from tests.dlr.conftest import Chamar, Ligada, abertas, criar, enviada, estado_de, recibo


def ver(client: Client, integracao: Ligada, id_: int) -> Any:
    return client.get(f"/dlr/mensagens/{id_}", headers={"authorization": f"Bearer {integracao.token}"})


def postar(client: Client, integracao: Ligada, corpo: Any, url: str = "/dlr/mensagens") -> Any:
    cru = corpo if isinstance(corpo, bytes) else json.dumps(corpo).encode()
    return client.post(
        url, cru, content_type="application/json", headers={"authorization": f"Bearer {integracao.token}"}
    )


def test_registrar_de_novo_devolve_o_mesmo_e_nao_troca_o_que_ja_se_sabia(registrar: Chamar) -> None:
    primeira = registrar(enviada("m1", "x1", rota="r1", registered_delivery=1))
    assert primeira.status_code == 200
    resultado = primeira.json()["resultados"]
    assert resultado == [{"indice": 0, "id": Mensagem.objects.get().pk, "id_interno": "m1"}]
    de_novo = registrar(
        enviada("m1", "x1", rota="r2", registered_delivery=2, aceita=False, destino="+351912345678")
    )
    assert de_novo.json()["resultados"] == resultado
    mensagem = Mensagem.objects.get()
    assert (mensagem.rota, mensagem.registered_delivery, mensagem.aceita) == ("r1", 1, True)
    assert (mensagem.destino, mensagem.destino_e164) == ("+5511999990000", "+5511999990000")
    assert IdentificadorExterno.objects.count() == 1


@pytest.mark.parametrize("na_mesma_chamada", [True, False])
def test_registrar_de_novo_completa_o_que_faltava(registrar: Chamar, na_mesma_chamada: bool) -> None:
    vazia = {"id_interno": "m1"}
    cheia = enviada("m1", "x1", origem="LOJA", rota="r1", apresentada_em="2026-01-02T03:04:05-03:00")
    if na_mesma_chamada:
        ids = {resultado["id"] for resultado in registrar(vazia, cheia).json()["resultados"]}
        assert len(ids) == 1
    else:
        registrar(vazia)
        registrar(cheia)
    mensagem = Mensagem.objects.get()
    assert (mensagem.origem, mensagem.rota, mensagem.aceita) == ("LOJA", "r1", True)
    assert (mensagem.destino, mensagem.destino_e164) == ("+5511999990000", "+5511999990000")
    assert mensagem.apresentada_em is not None
    assert mensagem.apresentada_em.isoformat() == "2026-01-02T06:04:05+00:00"
    assert IdentificadorExterno.objects.get().valor == "x1"


def test_sem_id_interno_a_mensagem_e_a_do_seu_id_externo(registrar: Chamar) -> None:
    for _ in range(2):
        registrar({"ids_externos": ["x1"], "destino": "+5511999990000"})
    assert Mensagem.objects.count() == IdentificadorExterno.objects.count() == 1


def test_o_mesmo_id_interno_em_duas_integracoes_sao_duas_mensagens(
    registrar: Chamar, integracao: Ligada
) -> None:
    outra = criar("outra")
    registrar(enviada("m1", "x1"))
    registrar(enviada("m1", "x1"), em=outra)
    assert set(Mensagem.objects.values_list("integracao_id", flat=True)) == {integracao.id, outra.id}


@pytest.mark.parametrize(
    ("ruim", "codigo"),
    [
        (3, "mensagem_invalida"),
        ({}, "sem_identificador"),
        ({"id_interno": ""}, "sem_identificador"),
        ({"ids_externos": ["null"]}, "sem_identificador"),
        ({"id_interno": "x" * 201}, "id_interno_invalido"),
        ({"id_interno": 7}, "id_interno_invalido"),
        ({"id_interno": "a\u0000"}, "id_interno_invalido"),
        ({"id_interno": "a", "ids_externos": "x"}, "ids_externos_invalidos"),
        ({"id_interno": "a", "ids_externos": ["x"] * 256}, "ids_externos_invalidos"),
        ({"id_interno": "a", "ids_externos": [{"valor": 1}]}, "id_externo_invalido"),
        ({"id_interno": "a", "ids_externos": [{"valor": "x" * 201}]}, "id_externo_invalido"),
        ({"id_interno": "a", "ids_externos": [{"valor": "x", "parte": 0}]}, "parte_invalida"),
        ({"id_interno": "a", "ids_externos": [{"valor": "x", "parte": True}]}, "parte_invalida"),
        ({"id_interno": "a", "aceita": "sim"}, "aceita_invalida"),
        ({"id_interno": "a", "registered_delivery": 256}, "registered_delivery_invalido"),
        ({"id_interno": "a", "destino": "9" * 101}, "destino_invalido"),
        ({"id_interno": "a", "apresentada_em": "ontem"}, "data_invalida"),
        ({"id_interno": "a", "apresentada_em": "2026-01-02T03:04:05"}, "data_invalida"),
        ({"id_interno": "a", "apresentada_em": "9999-12-31T23:59:59-03:00"}, "data_invalida"),
        ({"id_interno": "a", "apresentada_em": "0001-01-01T00:00:00+03:00"}, "data_invalida"),
        ({"id_interno": "a", "apresentada_em": 5}, "data_invalida"),
    ],
    ids=lambda v: repr(v)[:40],
)
def test_item_ruim_e_recusado_com_codigo_e_os_vizinhos_sao_gravados(
    registrar: Chamar, ruim: Any, codigo: str
) -> None:
    resultados = registrar(enviada("antes", "x1"), ruim, enviada("depois", "x2")).json()["resultados"]
    assert [resultado["indice"] for resultado in resultados] == [0, 1, 2]
    assert resultados[1]["codigo"] == codigo and resultados[1]["detalhe"]
    assert sorted(Mensagem.objects.values_list("id_interno", flat=True)) == ["antes", "depois"]


def test_mil_mensagens_cabem_e_mil_e_uma_nao(
    client: Client, integracao: Ligada, registrar: Chamar, contar_idas: list[str]
) -> None:
    registrar(enviada("uma", "x"))
    idas_de_uma = len(contar_idas)
    contar_idas.clear()
    resultados = registrar(*[enviada(f"m{n}", f"x{n}") for n in range(1_000)]).json()["resultados"]
    assert len({resultado["id"] for resultado in resultados}) == 1_000
    assert [r["id_interno"] for r in resultados] == [f"m{n}" for n in range(1_000)]
    assert len(contar_idas) == idas_de_uma
    demais = postar(client, integracao, {"mensagens": [{"id_interno": "n"}] * 1_001})
    assert (demais.status_code, demais.json()["codigo"]) == (413, "mensagens_demais")
    assert Mensagem.objects.count() == 1_001


@pytest.mark.parametrize(
    ("corpo", "codigo"),
    [(b"", "json_invalido"), (b"\xff", "json_invalido"), (b"3", "mensagens_ausentes"),
     ({"mensagens": 3}, "mensagens_ausentes")],
)  # fmt: skip
def test_corpo_que_nao_se_le_e_400(client: Client, integracao: Ligada, corpo: Any, codigo: str) -> None:
    resposta = postar(client, integracao, corpo)
    assert (resposta.status_code, resposta.json()["codigo"]) == (400, codigo)


def test_corpo_enorme_e_413(client: Client, integracao: Ligada) -> None:
    assert postar(client, integracao, b" " * (17 * 1024 * 1024)).status_code == 413


@pytest.mark.parametrize("autorizacao", [None, "Bearer ", "Bearer errado", "Basic eDp5"])
@pytest.mark.parametrize("rota", ["mensagens", "mensagens/1", "mensagens/1/verificacoes", "relatorio"])
def test_sem_o_token_da_integracao_e_401(
    client: Client, integracao: Ligada, autorizacao: str | None, rota: str
) -> None:
    headers = {} if autorizacao is None else {"authorization": autorizacao}
    metodo = client.post if rota.endswith(("mensagens", "verificacoes")) else client.get
    resposta = metodo(f"/dlr/{rota}", headers=headers)
    assert (resposta.status_code, resposta.json()["codigo"]) == (401, "token_invalido")


def test_token_de_outra_integracao_nao_ve_nada(client: Client, integracao: Ligada, registrar: Chamar) -> None:
    outra = criar("outra")
    (resultado,) = registrar(enviada("m1", "x1")).json()["resultados"]
    assert ver(client, integracao, resultado["id"]).status_code == 200
    assert ver(client, outra, resultado["id"]).json()["codigo"] == "mensagem_inexistente"
    url = f"/dlr/mensagens/{resultado['id']}/verificacoes"
    prova = {"origem": "otp", "ocorrida_em": "2026-01-02T03:04:05Z"}
    assert postar(client, outra, prova, url).status_code == 404
    assert not Verificacao.objects.exists()
    alheio = client.get("/dlr/relatorio?integracao=op", headers={"authorization": f"Bearer {outra.token}"})
    assert (alheio.status_code, alheio.json()["codigo"]) == (403, "integracao_alheia")


@pytest.mark.parametrize(
    ("destino", "e164"),
    [
        ("+55 (11) 99999-0000", "+5511999990000"),
        ("005511999990000", "+5511999990000"),
        ("5511999990000", "+5511999990000"),
        ("+351912345678", "+351912345678"),
        ("12345", None),
        ("LOJA", None),
        ("", None),
        (None, None),
    ],
)
def test_e164_sem_adivinhar_o_pais(destino: str | None, e164: str | None) -> None:
    assert normalizar_e164(destino) == e164


def test_enderecos_ficam_como_foram_mandados(registrar: Chamar) -> None:
    registrar(enviada("m1", destino="+55 (11) 99999-0000", origem="LOJA 1"))
    mensagem = Mensagem.objects.get()
    assert (mensagem.destino, mensagem.destino_e164) == ("+55 (11) 99999-0000", "+5511999990000")
    assert mensagem.origem == "LOJA 1"


def test_partes_registradas_dao_a_parte_ao_recibo(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar({"id_interno": "m1", "ids_externos": [{"valor": "a", "parte": 1}, {"valor": "b", "parte": 2}]})
    callback([recibo("b", "DELIVERED"), recibo("a", "DELIVERED")])
    processar()
    assert dict(EventoLogico.objects.values_list("id_externo", "parte")) == {"a": 1, "b": 2}
    assert estado_de("m1") == ("DELIVERED", True, "final")


def test_saber_depois_que_nao_foi_aceita_abre_a_excecao(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1", aceita=None))
    callback(recibo("x1", "ENROUTE"))
    processar()
    assert abertas() == []
    registrar(enviada("m1", "x1", aceita=False))
    assert abertas() == ["mensagem_nao_aceita"]


def test_verificacao_repetida_e_uma_so_e_nao_muda_o_estado_do_dlr(
    client: Client, integracao: Ligada, registrar: Chamar
) -> None:
    (resultado,) = registrar(enviada("m1", "x1")).json()["resultados"]
    url = f"/dlr/mensagens/{resultado['id']}/verificacoes"
    prova = {"origem": "código digitado", "ocorrida_em": "2026-01-02T03:04:05Z", "detalhe": "d"}
    assert [postar(client, integracao, prova, url).status_code for _ in range(2)] == [201, 201]
    assert Verificacao.objects.count() == 1
    explicada = ver(client, integracao, resultado["id"]).json()
    assert explicada["dlr"]["estado"] is None
    assert explicada["verificacao_independente"][0]["origem"] == "código digitado"


@pytest.mark.parametrize(
    ("prova", "codigo"),
    [
        (3, "verificacao_invalida"),
        ({"ocorrida_em": "2026-01-02T03:04:05Z"}, "origem_ausente"),
        ({"origem": "otp"}, "ocorrida_em_ausente"),
        ({"origem": "otp", "ocorrida_em": "2026-01-02"}, "data_invalida"),
    ],
)
def test_verificacao_ruim_e_400(
    client: Client, integracao: Ligada, registrar: Chamar, prova: Any, codigo: str
) -> None:
    (resultado,) = registrar(enviada("m1", "x1")).json()["resultados"]
    resposta = postar(client, integracao, prova, f"/dlr/mensagens/{resultado['id']}/verificacoes")
    assert (resposta.status_code, resposta.json()["codigo"]) == (400, codigo)


@pytest.mark.parametrize(
    ("periodo", "status"),
    [("de=2026-01-01&ate=2026-02-01", 200), ("de=x", 400), ("de=2026-02-01&ate=2026-01-01", 400),
     ("de=2020-01-01&ate=2026-01-01", 400), ("de=0001-01-01T00:00:00%2B03:00", 400)],
)  # fmt: skip
def test_periodo_do_relatorio(client: Client, integracao: Ligada, periodo: str, status: int) -> None:
    resposta = client.get(
        f"/dlr/relatorio?{periodo}", headers={"authorization": f"Bearer {integracao.token}"}
    )
    assert resposta.status_code == status


@pytest.mark.parametrize(
    "de", ["2026-11-30T00:00:00%2B23:59", "0001-01-01T00:00:00-23:59", "x", "2026-13-01"]
)
def test_periodo_estranho_nunca_e_500(client: Client, integracao: Ligada, de: str) -> None:
    resposta = client.get(
        f"/dlr/relatorio?de={de}&ate=2026-12-01", headers={"authorization": f"Bearer {integracao.token}"}
    )
    assert resposta.status_code in (200, 400)


def test_data_sem_hora_em_ate_inclui_o_dia_inteiro(
    client: Client, integracao: Ligada, registrar: Chamar
) -> None:
    registrar({"id_interno": "hoje"})
    hoje = timezone.localdate().isoformat()
    resposta = client.get(
        f"/dlr/relatorio?de={hoje}&ate={hoje}", headers={"authorization": f"Bearer {integracao.token}"}
    )
    assert [linha["quantidade"] for linha in resposta.json()["linhas"]] == [1]


def test_verificacao_com_detalhe_no_limite_cabe_e_alem_dele_e_400(
    client: Client, integracao: Ligada, registrar: Chamar
) -> None:
    id_ = registrar({"id_interno": "m"}).json()["resultados"][0]["id"]

    def verificar(detalhe: str) -> int:
        return client.post(
            f"/dlr/mensagens/{id_}/verificacoes",
            {"origem": "口" * 120, "ocorrida_em": "2026-11-30T12:00:00Z", "detalhe": detalhe},
            content_type="application/json",
            headers={"authorization": f"Bearer {integracao.token}"},
        ).status_code

    ideogramas = "".join(chr(0x4E00 + n * 37 % 20_000) for n in range(501))
    assert (verificar(ideogramas[:500]), verificar(ideogramas)) == (201, 400)
