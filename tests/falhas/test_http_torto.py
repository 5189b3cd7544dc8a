"""Pedidos tortos, grandes, cortados: resposta honesta ou conexão fechada, nunca 500, nunca processo morto."""

import json

import pytest

from tests.caos.envio import Canal, cortar_no_meio, mandar_cru, montar_cabeca
from tests.caos.lotes import CABECALHOS, Site
from tests.caos.servidor import ServidorLocal
from tests.falhas.carga import contas_de, em_paralelo, esperar_esvaziar, mandar, montar, totais

MIB = 1024 * 1024
CORPO_MINIMO = b"{}"


def test_corpo_em_pedacos_acima_de_1_mib_da_413_em_json(servidor: ServidorLocal, site: Site) -> None:
    corpo = montar(site, ["grande"], payload="x" * MIB)
    canal = Canal(servidor.porta)

    resposta = canal.postar(corpo, CABECALHOS, em_pedacos=True)
    seguinte = canal.postar(montar(site, ["pequeno"]), CABECALHOS)
    canal.fechar()
    esperar_esvaziar(servidor)

    assert (resposta.status, resposta.codigo) == (413, "corpo_grande")
    assert resposta.cabecalhos["content-type"].startswith("application/json")
    assert resposta.cabecalhos["access-control-allow-origin"] == "*"
    assert seguinte.status == 202  # a mesma conexão continua servindo
    assert totais(servidor, site) == contas_de(1)


@pytest.mark.parametrize("abrupto", [False, True], ids=["fechado", "com_rst"])
def test_corpo_cortado_no_meio_nao_deixa_nada(servidor: ServidorLocal, site: Site, abrupto: bool) -> None:
    corpos = [montar(site, [f"{n}-{i}" for i in range(10)], sessao=f"s{n}") for n in range(40)]

    em_paralelo(
        lambda par: cortar_no_meio(
            servidor.porta, par[1], CABECALHOS, fracao=par[0] / len(corpos), abrupto=abrupto
        ),
        list(enumerate(corpos)),
        threads=10,
    )
    depois = mandar(servidor, montar(site, ["inteiro"], sessao="inteira"))
    esperar_esvaziar(servidor)

    assert depois.status == 202
    assert totais(servidor, site) == contas_de(1)
    sessoes = servidor.consultar(
        "SELECT sessao_externa FROM ingestao_sessao WHERE aplicativo_id = %s", [site.id]
    )
    assert sessoes == [("inteira",)]


def test_pedidos_em_fila_na_mesma_conexao_sao_todos_respondidos(servidor: ServidorLocal, site: Site) -> None:
    corpos = [montar(site, [f"fila-{n}"]) for n in range(5)]
    pedidos = [montar_cabeca(corpo, CABECALHOS) + corpo for corpo in corpos[:-1]]
    pedidos.append(montar_cabeca(corpos[-1], CABECALHOS, extras=["Connection: close"]) + corpos[-1])

    recebido = mandar_cru(servidor.porta, b"".join(pedidos))
    esperar_esvaziar(servidor)

    assert recebido.count(b"HTTP/1.1 202") == 5
    assert totais(servidor, site) == contas_de(5)


TORTOS = {
    "lixo": b"\x00\xff\xfe lixo \r\n\r\n",
    "lixo_sem_fim": b"A" * 70_000,
    "tls_na_porta_errada": bytes.fromhex("16030100c8010000c40303") + bytes(200),
    "metodo_torto": b"P\x00ST /evento/ingestao HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "versao_inexistente": b"POST /evento/ingestao HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "http_1_0": b"POST /evento/ingestao HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
    "sem_host": b"POST /evento/ingestao HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
    "host_torto": b"POST /evento/ingestao HTTP/1.1\r\nHost: a b\x01\r\nContent-Length: 2\r\n\r\n{}",
    "tamanho_negativo": montar_cabeca(b"", {"Content-Length": "-1"}).replace(b"Content-Length: 0\r\n", b""),
    "tamanho_em_letras": montar_cabeca(b"", {"Content-Length": "dois"}).replace(
        b"Content-Length: 0\r\n", b""
    ),
    "tamanho_imenso": montar_cabeca(b"", {"Content-Length": "9" * 30}).replace(b"Content-Length: 0\r\n", b""),
    "dois_tamanhos": montar_cabeca(CORPO_MINIMO, {"Content-Length": "7"}) + CORPO_MINIMO,
    "tamanho_e_pedacos": montar_cabeca(CORPO_MINIMO, {"Transfer-Encoding": "chunked"})
    + b"2\r\n{}\r\n0\r\n\r\n",
    "pedaco_torto": montar_cabeca(b"", {"Transfer-Encoding": "chunked"}).replace(
        b"Content-Length: 0\r\n", b""
    )
    + b"zz\r\n{}\r\n",
    "pedaco_imenso": montar_cabeca(b"", {"Transfer-Encoding": "chunked"}).replace(
        b"Content-Length: 0\r\n", b""
    )
    + b"ffffffffffffffffff\r\n{}\r\n",
    "cabecalho_com_nulo": montar_cabeca(CORPO_MINIMO, {"X": "a\x00b"}) + CORPO_MINIMO,
    "cabecalho_imenso": montar_cabeca(CORPO_MINIMO, {"X": "a" * 900_000}) + CORPO_MINIMO,
    "muitos_cabecalhos": montar_cabeca(CORPO_MINIMO, {f"X-{n}": "a" for n in range(2_000)}) + CORPO_MINIMO,
    "caminho_torto": b"POST /%ff%00/\xff\xfe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "caminho_utf8_torto": b"GET /%c3%28 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "caminho_imenso": b"GET /"
    + b"a" * 100_000
    + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "consulta_torta": b"POST /evento/ingestao?\xff=%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "connect": b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n",
    "url_absoluta": b"GET http://outro.exemplo/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "asterisco": b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "upgrade": montar_cabeca(CORPO_MINIMO, {"Connection": "Upgrade", "Upgrade": "websocket"}) + CORPO_MINIMO,
    "expect": montar_cabeca(CORPO_MINIMO, {"Expect": "100-continue", "Connection": "close"}) + CORPO_MINIMO,
    "prefacio_http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "gzip_que_nao_e": montar_cabeca(CORPO_MINIMO, {"Content-Encoding": "gzip", "Connection": "close"})
    + CORPO_MINIMO,
}


@pytest.mark.parametrize("nome", TORTOS)
def test_pedido_torto_nao_da_500_nem_mata_o_processo(servidor: ServidorLocal, nome: str) -> None:
    antes = [processo.pid for processo in servidor.grupo("web")]

    recebido = mandar_cru(servidor.porta, TORTOS[nome], prazo_s=0.4)

    status = {int(linha[9:12]) for linha in recebido.split(b"\r\n") if linha.startswith(b"HTTP/1.")}
    assert not any(codigo >= 500 for codigo in status), recebido[:500]
    assert b"Traceback" not in recebido
    assert [processo.pid for processo in servidor.grupo("web")] == antes
    assert mandar(servidor, CORPO_MINIMO).status == 400  # e quem vem direito é atendido


def test_a_recusa_de_quem_chega_a_rota_e_sempre_json_com_codigo(servidor: ServidorLocal, site: Site) -> None:
    casos = {
        "chave_ausente": (CORPO_MINIMO, {}),
        "json_invalido": (b"\xff\xfe", {}),
        "gzip_invalido": (b"\x1f\x8b", {"Content-Encoding": "gzip"}),
        "codificacao_desconhecida": (b"", {"Content-Encoding": "br"}),
        "origem_nao_autorizada": (montar(site, ["a"]), {"Origin": "null"}),
    }

    for codigo, (corpo, mais) in casos.items():
        resposta = Canal(servidor.porta).postar(corpo, {**CABECALHOS, **mais})
        assert resposta.codigo == codigo
        assert set(json.loads(resposta.corpo)) == {"detail", "codigo"}
        assert resposta.cabecalhos["access-control-allow-origin"] == "*"
