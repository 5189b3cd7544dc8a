"""A rota inteira: cada etapa do contrato, com o status, o código, o CORS e o que ficou no banco."""

import json
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from ingestao.eventos import chaves, gravacao, recepcao
from ingestao.models import Aplicativo, Evento, Lote, Recusa, Sessao, Uso
from tests.ingestao.conftest import evento

Postar = Callable[..., Any]
Processar = Callable[[], Any]


def recusas() -> dict[str, tuple[int, int]]:
    return {r.motivo: (r.quantidade_requisicoes, r.quantidade_eventos) for r in Recusa.objects.all()}


# ---- 1. corpo


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


# ---- 2. chave


@pytest.mark.parametrize("chave", ["pk_live_ninguem", "", "qualquer", "pk_" + "x" * 5000, "pk_\u0000"])
def test_chave_desconhecida_e_401(postar: Postar, processar: Processar, chave: str) -> None:
    resposta = postar(evento(), evento(), chave=chave)
    assert (resposta.status_code, resposta.json()["codigo"]) == (401, "chave_desconhecida")
    processar()
    assert recusas() == {"chave_desconhecida": (1, 2)}
    assert not Uso.objects.exists()


def test_chave_impossivel_nao_consulta_nem_ocupa_memoria(postar: Postar) -> None:
    chaves.memoria.esquecer()
    for chave in ("pk_" + "x" * 200, "sk_live_x"):
        assert postar(evento(), chave=chave).status_code == 401
    assert not chaves.memoria._guardados


def test_aplicativo_excluido_nao_recebe(postar: Postar, aplicativo: Aplicativo) -> None:
    Aplicativo.objects.update(deletado=True)
    assert postar(evento()).status_code == 401


def test_mudanca_no_aplicativo_vale_em_segundos(
    postar: Postar, aplicativo: Aplicativo, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert postar(evento()).status_code == 202
    Aplicativo.objects.update(deletado=True)
    agora = chaves.time.monotonic()
    monkeypatch.setattr(chaves.time, "monotonic", lambda: agora + chaves.VALIDADE_S + 0.1)
    assert postar(evento()).status_code == 401


def test_chave_trocada_ainda_vale_na_carencia_e_depois_nao(postar: Postar, aplicativo: Aplicativo) -> None:
    antiga = aplicativo.chave
    aplicativo.trocar_chave()
    aplicativo.save()
    assert postar(evento(), chave=antiga).status_code == 202
    assert postar(evento(), chave=aplicativo.chave).status_code == 202
    chaves.memoria.esquecer()
    Aplicativo.objects.update(chave_anterior_ate=timezone.now() - timedelta(seconds=1))
    assert postar(evento(), chave=antiga).status_code == 401
    assert postar(evento(), chave=aplicativo.chave).status_code == 202


# ---- 3. origem


@pytest.mark.parametrize(
    ("origem", "referer", "status"),
    [
        ("https://exemplo.com.br", None, 202),
        ("https://exemplo.com.br:8443", None, 202),
        ("https://EXEMPLO.com.br.", None, 202),
        ("https://a.b.exemplo.com.br", None, 202),
        (None, "https://exemplo.com.br/pagina", 202),
        ("https://malexemplo.com.br", None, 403),
        ("null", None, 403),
        ("null", "https://exemplo.com.br/", 403),
        (None, None, 403),
        ("https://mal.com", "https://exemplo.com.br/", 403),
    ],
)
def test_origem_e_conferida_contra_os_dominios(
    postar: Postar, processar: Processar, origem: str | None, referer: str | None, status: int
) -> None:
    resposta = postar(evento(), origem=origem, cabecalhos={"referer": referer} if referer else None)
    assert resposta.status_code == status
    processar()
    if status == 403:
        assert resposta.json()["codigo"] == "origem_nao_autorizada"
        assert recusas() == {"origem_nao_autorizada": (1, 1)}
        assert not Evento.objects.exists()


def test_origem_do_painel_sempre_passa(postar: Postar, settings: Any) -> None:
    settings.URL_FRONTEND = "https://painel.lastro.dev/app"
    assert postar(evento(), origem="https://painel.lastro.dev").status_code == 202
    assert postar(evento(), origem="https://outro.lastro.dev").status_code == 403


# ---- 4. limites


def test_lista_vazia_e_202_com_zero_e_sem_sessao(postar: Postar, processar: Processar) -> None:
    assert postar().json() == {"aceitos": 0, "recusados": 0, "recusas": []}
    assert postar(sessao=3).status_code == 202
    assert not Lote.objects.exists()
    processar()
    assert not Sessao.objects.exists()


def test_so_invalidos_e_202_com_zero_aceitos_contados_e_sem_sessao(
    postar: Postar, processar: Processar
) -> None:
    resposta = postar({"tipo": "X"}, 3)
    assert (resposta.status_code, resposta.json()["aceitos"], resposta.json()["recusados"]) == (202, 0, 2)
    processar()
    assert recusas() == {"evento_id_invalido": (0, 1), "evento_invalido": (0, 1)}
    assert not Sessao.objects.exists()


def test_501_eventos_dao_500_aceitos_e_1_recusado(postar: Postar, processar: Processar) -> None:
    resposta = postar(*[evento() for _ in range(501)])
    assert resposta.json() == {
        "aceitos": 500,
        "recusados": 1,
        "recusas": [{"indice": 500, "codigo": "lote_cheio"}],
    }
    processar()
    assert Evento.objects.count() == 500
    assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (500, 1)


def test_recusas_lista_so_as_primeiras_50_mas_conta_todas(postar: Postar) -> None:
    resposta = postar(*[evento(tipo="X") for _ in range(60)]).json()
    assert (resposta["recusados"], len(resposta["recusas"]), resposta["recusas"][-1]["indice"]) == (
        60,
        50,
        49,
    )


def test_mais_de_6000_por_minuto_recusa_o_lote_inteiro_e_o_registra(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    for _ in range(12):
        assert postar(*[evento() for _ in range(500)]).status_code == 202
    resposta = postar(evento(), evento())
    assert (resposta.status_code, resposta.json()["codigo"]) == (429, "limite_por_minuto")
    assert 1 <= int(resposta.headers["Retry-After"]) <= 60
    assert resposta.headers["access-control-expose-headers"] == "Retry-After"
    processar()
    assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (6000, 2)
    assert recusas() == {"limite_por_minuto": (1, 2)}


def test_lote_recusado_pelo_limite_nao_gasta_a_janela(postar: Postar, settings: Any) -> None:
    settings.LIMITE_POR_MINUTO = 10
    assert postar(*[evento() for _ in range(8)]).status_code == 202
    for _ in range(5):
        assert postar(*[evento() for _ in range(3)]).status_code == 429
    assert postar(evento(), evento()).status_code == 202


@pytest.mark.parametrize(("politica", "status"), [("PARAR_INGESTAO", 402), ("SO_AVISAR", 202)])
def test_franquia_estourada_para_ou_so_avisa(
    postar: Postar, processar: Processar, aplicativo: Aplicativo, politica: str, status: int
) -> None:
    Aplicativo.objects.update(franquia=10, politica=politica)
    assert postar(*[evento() for _ in range(10)]).status_code == 202
    processar()
    resposta = postar(evento(), evento())
    assert resposta.status_code == status
    processar()
    if status == 402:
        assert resposta.json()["codigo"] == "franquia_estourada"
        assert Uso.objects.values_list("quantidade_eventos", "quantidade_recusados").get() == (10, 2)
        assert recusas() == {"franquia_estourada": (1, 2)}


def test_reenvio_depois_de_prazo_esgotado_nao_gasta_franquia(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    Aplicativo.objects.update(franquia=3, politica="PARAR_INGESTAO")
    lote = [evento(), evento()]
    for _ in range(4):
        assert postar(*lote).status_code == 202
        processar()
    assert Uso.objects.get().quantidade_eventos == 2
    assert postar(evento()).status_code == 202


# ---- 5. sessão


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


# ---- 6. fila e resposta


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


def test_caixa_acima_do_teto_fecha_a_porta_antes_de_contar(
    postar: Postar, processar: Processar, settings: Any
) -> None:
    settings.TETO_DA_CAIXA = 3
    for _ in range(3):
        recepcao.teto._medido_em = float("-inf")
        assert postar(evento()).status_code == 202
    recepcao.teto._medido_em = float("-inf")
    resposta = postar(evento())
    assert (resposta.status_code, resposta.json()["codigo"]) == (503, "fila_cheia")
    assert resposta.headers["Retry-After"] == "5"
    assert Lote.objects.count() == 3
    processar()
    recepcao.teto._medido_em = float("-inf")
    assert postar(evento()).status_code == 202
    assert not Recusa.objects.exists()


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


# ---- CORS


def test_preflight_e_aceito_por_um_dia_e_nao_custa_consulta(
    client: Client, django_assert_num_queries: Any, db: None
) -> None:
    with django_assert_num_queries(0):
        resposta = client.options(
            "/evento/ingestao",
            headers={
                "origin": "https://qualquer.lugar",
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-encoding,content-type",
            },
        )
    assert resposta.status_code == 200
    assert resposta.headers["access-control-allow-origin"] == "*"
    assert resposta.headers["access-control-max-age"] == "86400"
    assert {"POST", "OPTIONS"} == set(resposta.headers["access-control-allow-methods"].split(", "))
    assert "content-encoding" in resposta.headers["access-control-allow-headers"]


def test_cors_e_so_nesta_rota(client: Client, db: None) -> None:
    for rota in ("/saude", "/admin/login/", "/evento/outra"):
        assert (
            "access-control-allow-origin" not in client.get(rota, headers={"origin": "https://x.com"}).headers
        )


@pytest.mark.parametrize("aceita", ["text/html", "image/png", "nada", ""])
def test_o_accept_do_remetente_nao_perde_o_lote(postar: Postar, aceita: str) -> None:
    assert postar(evento(), cabecalhos={"accept": aceita}).status_code == 202


@pytest.mark.parametrize("metodo", ["get", "put", "patch", "delete"])
def test_outro_metodo_e_405_em_json(client: Client, db: None, metodo: str) -> None:
    resposta = getattr(client, metodo)("/evento/ingestao")
    assert (resposta.status_code, resposta.json()["codigo"]) == (405, "metodo_nao_permitido")


def test_rota_inexistente_e_404_em_json(client: Client, db: None) -> None:
    assert client.get("/evento/outra").json()["codigo"] == "rota_inexistente"


# ---- aceite completo: cada campo com cada valor estranho chega ao fim sem 500 nem veneno


@pytest.mark.parametrize("valor", [None, 0, True, "", [], {}, "\u0000", "\ud83d", 1e308, -1], ids=ascii)
def test_valor_estranho_em_qualquer_campo_atravessa_ate_o_worker(
    postar: Postar, processar: Processar, valor: Any
) -> None:
    campos = (
        "evento_id tipo nome mensagem ocorrido_em pilha arquivo linha coluna url metodo status duracao_ms nivel "
        "seletor texto metrica valor usuario_id payload"
    ).split()
    lote = [{**evento(tipo="ERRO_JS"), campo: valor} for campo in campos]
    resposta = postar(*lote, evento(evento_id="vizinho"), sessao={"sessao_externa": "s", "navegador": valor})
    assert resposta.status_code == 202
    processar()
    assert Evento.objects.filter(evento_id="vizinho").exists()
    assert Evento.objects.count() == resposta.json()["aceitos"]


def test_nul_na_sessao_no_id_e_no_payload_vira_substituto_e_os_vizinhos_ficam(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    postar(
        evento(evento_id="a\u0000b", mensagem="m\u0000", url="u\u0000", payload={"k\u0000": ["\ud83d"]}),
        evento(evento_id="outro"),
        sessao={"sessao_externa": "s\u0000", "navegador": "n\u0000"},
    )
    processar()
    gravado = Evento.objects.get(evento_id="a\ufffdb")
    assert gravado.id == uuid.uuid5(uuid.NAMESPACE_OID, f"{aplicativo.id}:a\ufffdb")
    assert (gravado.mensagem, gravado.url, gravado.payload) == ("m\ufffd", "u\ufffd", {"k\ufffd": ["\ufffd"]})
    assert (gravado.sessao.sessao_externa, gravado.sessao.navegador) == ("s\ufffd", "n\ufffd")
    assert Evento.objects.count() == 2


@pytest.mark.parametrize(
    "texto",
    [
        "<script>alert(1)</script>",
        "javascript:alert(1)",
        "\x1b[31mvermelho",
        "\u202egnp.exe",
        "=1+1",
        "'; DROP TABLE evento; --",
    ],
    ids=ascii,
)
def test_texto_hostil_e_guardado_como_texto(postar: Postar, processar: Processar, texto: str) -> None:
    postar(evento(mensagem=texto, url=texto))
    processar()
    assert Evento.objects.values_list("mensagem", "url").get() == (texto, texto)
