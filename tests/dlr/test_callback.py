"""A porta dos callbacks: quem entra, quem não entra, o que se guarda e o que se responde."""

import logging
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from config.chegada import Chegada, Pedido
from dlr import atendimento, gravacao, porta
from dlr.models import Recepcao, RecepcaoPendente
from tests.dlr.conftest import Chamar, Ligada, criar, esquecer, recibo
from tests.dlr.porta import CORPO, postar, recusada, recusas


def test_a_recepcao_guarda_os_bytes_a_consulta_a_hora_e_so_os_cabecalhos_da_lista(
    client: Client, integracao: Ligada
) -> None:
    antes = timezone.now()
    postar(
        client,
        f"{integracao.url}?a=1&a=%FF",
        b"\x00\xff{",
        user_agent="Transp/1",
        authorization="Bearer x",
        cookie="s=1",
        x_twilio_signature="seg",
    )
    recepcao = Recepcao.objects.get()
    assert (bytes(recepcao.corpo), bytes(recepcao.consulta)) == (b"\x00\xff{", b"a=1&a=%FF")
    assert recepcao.cabecalhos == {"content-type": "application/json", "user-agent": "Transp/1"}
    assert antes <= recepcao.recebida_em <= timezone.now()
    assert recepcao.metodo == "POST"


def test_segredo_nunca_fica_na_recepcao(client: Client, integracao: Ligada) -> None:
    postar(
        client, f"{integracao.url}?token={integracao.token}&x=1", authorization=f"Bearer {integracao.token}"
    )
    recepcao = Recepcao.objects.get()
    assert integracao.token not in recepcao.url + str(recepcao.cabecalhos)
    assert recepcao.url == "http://testserver/dlr/callback/op/***?token=***&x=1"


@pytest.mark.parametrize(
    ("erro", "status"), [(OperationalError("fora"), 503), (RuntimeError("defeito"), 500)]
)
def test_segredo_nunca_vai_para_o_registro_nem_num_erro(
    client: Client,
    integracao: Ligada,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    erro: Exception,
    status: int,
) -> None:
    def falhar(recepcoes: Any) -> None:
        raise erro

    monkeypatch.setattr(gravacao, "gravar_recepcoes", falhar)
    client.raise_request_exception = False
    with caplog.at_level(logging.DEBUG):
        assert postar(client, integracao.url).status_code == status
    assert caplog.records
    assert integracao.token not in "".join(caplog.handler.format(linha) for linha in caplog.records)


@pytest.mark.parametrize("onde", ["gravacao.gravar_recepcoes", "porta.buscar_integracao"])
def test_banco_fora_e_503_com_prazo_e_nada_pela_metade(
    client: Client, integracao: Ligada, monkeypatch: pytest.MonkeyPatch, onde: str
) -> None:
    def cair(*args: Any, **campos: Any) -> Any:
        raise OperationalError("fora")

    modulo, nome = onde.split(".")
    monkeypatch.setattr({"gravacao": gravacao, "porta": porta}[modulo], nome, cair)
    resposta = postar(client, integracao.url)
    assert (resposta.status_code, resposta["Retry-After"]) == (503, "5")
    assert resposta.json()["codigo"] == "armazenamento_indisponivel"
    assert not Recepcao.objects.exists() and recusas() == {}


def test_caixa_cheia_e_503_com_prazo(client: Client, integracao: Ligada, settings: Any) -> None:
    postar(client, integracao.url)
    settings.TETO_DA_CAIXA_DE_RECEPCOES = 1
    esquecer()
    resposta = postar(client, integracao.url)
    assert (resposta.status_code, resposta.json()["codigo"], resposta["Retry-After"]) == (
        503,
        "fila_cheia",
        "5",
    )
    assert Recepcao.objects.count() == 1


@pytest.mark.parametrize("metodo", ["get", "head", "put", "patch", "delete"])
def test_metodo_que_o_formato_nao_usa_e_405(client: Client, integracao: Ligada, metodo: str) -> None:
    resposta = getattr(client, metodo)(integracao.url)
    assert resposta.status_code == 405
    assert not Recepcao.objects.exists()
    if metodo == "get":
        assert (resposta.json()["codigo"], recusas()) == ("metodo_nao_permitido", {"metodo_nao_permitido": 1})


@pytest.mark.parametrize("bytes_demais", [4 * 1024 * 1024 + 1, 17 * 1024 * 1024])
def test_corpo_grande_e_413_e_conta(callback: Chamar, bytes_demais: int) -> None:
    recusada(callback(b" " * bytes_demais), 413, "corpo_grande")


@pytest.mark.parametrize("aceita", ["text/xml", "application/xml;q=1", "image/png", ""])
def test_accept_estranho_e_parametro_format_nao_recusam_a_transportadora(
    client: Client, integracao: Ligada, callback: Chamar, aceita: str
) -> None:
    assert callback(recibo("x1", "DELIVERED"), headers={"accept": aceita}).status_code == 202
    assert postar(client, f"{integracao.url}?format=xml", accept=aceita).status_code == 202
    assert Recepcao.objects.count() == 2


@pytest.mark.parametrize("hospedeiro", ["203.0.113.9", "outro.nome:8443", "a b"])
def test_transportadora_que_chama_por_outro_nome_nao_perde_o_recibo(
    client: Client, integracao: Ligada, hospedeiro: str
) -> None:
    assert (
        client.post(integracao.url, CORPO, content_type="application/json", HTTP_HOST=hospedeiro).status_code
        == 202
    )
    assert Recepcao.objects.count() == 1


def test_barra_final_no_endereco_e_aceita(client: Client, integracao: Ligada) -> None:
    assert postar(client, f"{integracao.url}/").status_code == 202
    assert postar(client, "/dlr/callback/op/", authorization=f"Bearer {integracao.token}").status_code == 202


def test_metodo_que_ninguem_usa_e_token_errado_de_quem_envia_sao_contados(
    client: Client, integracao: Ligada
) -> None:
    assert client.put(integracao.url).status_code == 405
    assert client.get("/dlr/relatorio", headers={"authorization": "Bearer x"}).status_code == 401
    assert recusas() == {"metodo_nao_permitido": 1, "token_invalido": 1}


def pedido(ligada: Ligada, corpo: bytes, *, token: str | None = None, metodo: str = "POST") -> Pedido:
    """Um callback como a porta o entrega."""
    caminho = f"/dlr/callback/{ligada.slug}/{token or ligada.token}"
    chegada = Chegada(
        metodo=metodo,
        caminho=caminho,
        consulta=b"a=1",
        cabecalhos={"host": "lastro.exemplo", "content-type": "application/json", "cookie": "s=1"},
        corpo=corpo,
        partes={"slug": ligada.slug, "token": token or ligada.token},
    )
    return Pedido(chegada)


def test_um_grupo_de_callbacks_e_um_commit_e_cada_um_ouve_o_seu(
    integracao: Ligada, contar_idas: list[str]
) -> None:
    outra = criar("xml", "bandwidth")
    atendimento.atender([pedido(integracao, CORPO), pedido(outra, CORPO)])  # a porta quente
    contar_idas.clear()
    respostas = atendimento.atender(
        [
            pedido(integracao, b"um"),
            pedido(integracao, b"dois", token="errado"),
            pedido(integracao, b"tres", metodo="GET"),
            pedido(outra, b"quatro"),
            pedido(integracao, b"cinco", token="errado"),
        ]
    )
    esperadas = [integracao.objeto.formato_lido.resposta, outra.objeto.formato_lido.resposta]
    assert [r.status for r in respostas] == [esperadas[0].status, 403, 405, esperadas[1].status, 403]
    assert [(r.corpo, r.tipo) for r in (respostas[0], respostas[3])] == [(e.corpo, e.tipo) for e in esperadas]
    gravadas = Recepcao.objects.order_by("-id")[:2][::-1]
    assert [(r.integracao_id, bytes(r.corpo)) for r in gravadas] == [
        (integracao.id, b"um"),
        (outra.id, b"quatro"),
    ]
    assert gravadas[0].url == "http://lastro.exemplo/dlr/callback/op/***?a=1"
    assert gravadas[0].cabecalhos == {"content-type": "application/json"}
    pendentes = RecepcaoPendente.objects.order_by("-id").values_list("recepcao_id", "peso")[:2][::-1]
    assert pendentes == [(gravadas[0].pk, 1), (gravadas[1].pk, 1)]
    assert recusas() == {"token_invalido": 2, "metodo_nao_permitido": 1}
    assert sum("INSERT INTO dlr_recepcao " in ida for ida in contar_idas) == 1
    assert sum("INSERT INTO dlr_recusadecallback" in ida for ida in contar_idas) == 1


@pytest.mark.parametrize(
    ("proxy", "anotado", "esquema"),
    [
        (None, "https", "http"),
        (("HTTP_X_FORWARDED_PROTO", "https"), "https", "https"),
        (("HTTP_X_FORWARDED_PROTO", "https"), "https, http", "https"),
        (("HTTP_X_FORWARDED_PROTO", "https"), "http", "http"),
        (("HTTP_X_FORWARDED_PROTO", "https"), None, "http"),
    ],
)
def test_a_url_publica_so_acredita_no_proxy_declarado(
    settings: Any, proxy: Any, anotado: str | None, esquema: str
) -> None:
    settings.SECURE_PROXY_SSL_HEADER = proxy
    cabecalhos = {"host": "h:8443"} | ({"x-forwarded-proto": anotado} if anotado else {})
    chegada = Chegada(
        metodo="GET", caminho="/dlr/callback/á b", consulta=b"", cabecalhos=cabecalhos, corpo=b""
    )
    assert porta.montar_chamada(chegada).url == f"{esquema}://h:8443/dlr/callback/%C3%A1%20b"
