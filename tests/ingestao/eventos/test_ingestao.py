"""A rota de um lote: o corpo que ela lê, a sessão que guarda, e o 202 que só sai depois de gravado."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from ingestao.eventos import gravacao, recepcao
from ingestao.models import Aplicativo, Evento, Lote, Sessao, Uso
from tests.ingestao.conftest import Postar, Processar, evento, recusas


@pytest.mark.parametrize(
    "tipo_de_conteudo", ["application/json", "text/plain;charset=UTF-8", "", "x/y", "multipart/form-data"]
)
def test_qualquer_tipo_de_conteudo_e_lido_como_json(postar: Postar, tipo_de_conteudo: str) -> None:
    resposta = postar(evento(), tipo_de_conteudo=tipo_de_conteudo)
    assert (resposta.status_code, resposta.json()) == (202, {"aceitos": 1, "recusados": 0, "recusas": []})


def test_gzip_e_aceito(postar: Postar, processar: Processar) -> None:
    assert postar(evento(mensagem="olá"), comprimir=True).status_code == 202
    processar()
    assert Evento.objects.get().mensagem == "olá"


@pytest.mark.parametrize(
    ("corpo", "status", "codigo"),
    [
        (b"", 400, "json_invalido"),
        (b"\xff", 400, "json_invalido"),
        (b"[" * 20_000, 400, "json_invalido"),
        (b'{"chave": NaN}', 400, "json_invalido"),
        (b"[]", 400, "lote_invalido"),
        (b'"x"', 400, "lote_invalido"),
        (b"{}", 400, "chave_ausente"),
        (b'{"chave": "pk_x", "eventos": {}}', 400, "eventos_ausentes"),
        (b" " * (1024 * 1024 + 1), 413, "corpo_grande"),
    ],
    ids=lambda v: repr(v)[:24],
)
def test_corpo_ruim_e_recusado_contado_e_visivel(
    postar: Postar, processar: Processar, corpo: bytes, status: int, codigo: str
) -> None:
    resposta = postar(corpo=corpo)
    assert (resposta.status_code, resposta.json()["codigo"]) == (status, codigo)
    assert resposta.headers["access-control-allow-origin"] == "*"
    processar()
    assert recusas() == {codigo: (1, 0)}
    assert not Sessao.objects.exists()


def test_outra_codificacao_e_415(postar: Postar) -> None:
    resposta = postar(corpo=b"{}", cabecalhos={"content-encoding": "br"})
    assert (resposta.status_code, resposta.json()["codigo"]) == (415, "codificacao_desconhecida")


def test_sessao_invalida_e_400_e_conta_no_aplicativo(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    resposta = postar(evento(), evento(), sessao={"sessao_externa": ""})
    assert (resposta.status_code, resposta.json()["codigo"]) == (400, "sessao_invalida")
    processar()
    assert Uso.objects.get(aplicativo=aplicativo).quantidade_recusados == 2


@pytest.mark.parametrize(
    ("cabecalhos", "pais"),
    [
        ({"cf-ipcountry": "br"}, "BR"),
        ({"x-vercel-ip-country": "PT"}, "PT"),
        ({"cf-ipcountry": "BR", "x-vercel-ip-country": "PT"}, "BR"),
        ({"cf-ipcountry": "<script>"}, "DESCONHECIDO"),
        ({}, "DESCONHECIDO"),
    ],
)
def test_pais_vem_da_borda_senao_e_desconhecido(
    postar: Postar, processar: Processar, cabecalhos: dict[str, str], pais: str
) -> None:
    postar(evento(), cabecalhos=cabecalhos)
    processar()
    assert Sessao.objects.get().pais == pais


def test_ip_nao_e_guardado_em_lugar_nenhum(client: Client, postar: Postar, processar: Processar) -> None:
    postar(evento(), cabecalhos={"x-forwarded-for": "203.0.113.77"})
    assert b"203.0.113.77" not in bytes(Lote.objects.get().conteudo)
    processar()
    guardado = json.dumps([*Sessao.objects.values(), *Evento.objects.values()], default=str)
    assert "203.0.113.77" not in guardado and "127.0.0.1" not in guardado


def test_dados_de_sessao_existente_nao_mudam(postar: Postar, processar: Processar) -> None:
    postar(evento(), sessao={"sessao_externa": "s", "navegador": "Firefox", "usuario_id": "ana"})
    processar()
    postar(
        evento(),
        sessao={"sessao_externa": "s", "navegador": "Chrome", "usuario_id": "rui", "resolucao": "1x1"},
    )
    processar()
    sessao = Sessao.objects.get()
    assert (sessao.navegador, sessao.usuario_id, sessao.resolucao) == ("Firefox", "ana", None)
    assert sessao.quantidade_eventos == 2


def test_o_202_so_sai_depois_de_gravado(postar: Postar) -> None:
    postar(evento(), evento(tipo="PULSO"))
    lote = Lote.objects.get()
    assert lote.peso == 2
    assert [e["tipo"] for e in json.loads(bytes(lote.conteudo))["eventos"]] == ["CLIQUE", "PULSO"]


def test_aceitos_conta_o_pulso(postar: Postar) -> None:
    assert postar(evento(tipo="PULSO"), evento()).json()["aceitos"] == 2


def test_banco_fora_do_ar_e_503_e_nada_foi_contado(
    postar: Postar, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LIMITE_POR_MINUTO = 10
    with monkeypatch.context() as remendo:

        def falhar(lotes: Any) -> None:
            raise OperationalError("servidor fechou a conexão")

        remendo.setattr(gravacao, "gravar_lotes", falhar)
        for _ in range(5):
            resposta = postar(*[evento() for _ in range(8)])
            assert (resposta.status_code, resposta.json()["codigo"]) == (503, "armazenamento_indisponivel")
            assert resposta.headers["Retry-After"] == "5"
            assert resposta.headers["access-control-allow-origin"] == "*"
            assert "servidor fechou" not in resposta.content.decode()
    assert not Lote.objects.exists()
    assert postar(*[evento() for _ in range(8)]).status_code == 202, "a janela foi devolvida"


def test_erro_que_nao_e_do_banco_nao_vira_503(
    postar: Postar, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class LimiteDoPrograma(Exception):
        sqlstate = "54000"

    def falhar(lotes: Any) -> None:
        raise OperationalError("linha de índice grande demais") from LimiteDoPrograma()

    monkeypatch.setattr(gravacao, "gravar_lotes", falhar)
    resposta = postar(evento())
    assert (resposta.status_code, resposta.json()["codigo"]) == (500, "erro_interno")
    assert "indice" not in resposta.content.decode() and "defeito ao receber" in caplog.text
    assert not Lote.objects.exists()


def test_franquia_que_nao_se_pode_consultar_devolve_a_janela(
    postar: Postar, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.LIMITE_POR_MINUTO = 10
    with monkeypatch.context() as remendo:

        def falhar(*_: Any) -> bool:
            raise OperationalError("servidor fechou a conexão")

        remendo.setattr(recepcao, "franquia_estourada", falhar)
        assert postar(*[evento() for _ in range(8)]).status_code == 503
    assert postar(*[evento() for _ in range(8)]).status_code == 202


def test_valkey_fora_do_ar_nao_derruba_a_ingestao(postar: Postar, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.LIMITE_POR_MINUTO = 3
    recepcao.janela = recepcao.Janela()
    try:
        assert postar(evento(), evento()).status_code == 202
        assert postar(evento(), evento()).status_code == 429, "a janela da memória vale"
        assert postar(evento()).status_code == 202
    finally:
        settings.REDIS_URL = chaves_redis()
        recepcao.janela = recepcao.Janela()


def chaves_redis() -> str:
    from config import ambiente

    return ambiente.url_do_redis()
