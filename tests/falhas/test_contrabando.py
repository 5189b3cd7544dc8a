"""Molduras ambíguas e pedidos escondidos: nenhum 5xx, nada guardado por engano, e o vizinho na conexão é atendido."""

import gzip
from collections.abc import Callable

import pytest

from tests.caos.envio import Canal, mandar_cru, montar_cabeca
from tests.caos.lotes import CABECALHOS, Site
from tests.caos.servidor import ServidorLocal
from tests.falhas.carga import contas_de, esperar_esvaziar, mandar, montar, totais

SILENCIO_S = 1.0


def sem_tamanho(corpo: bytes, **cabecalhos: str) -> bytes:
    """Linha e cabeçalhos de um POST de eventos sem Content-Length; os dados vão no lugar."""
    com = montar_cabeca(corpo, {**CABECALHOS, **{n.replace("_", "-"): v for n, v in cabecalhos.items()}})
    return com.replace(b"Content-Length: %d\r\n" % len(corpo), b"")


def em_pedacos(corpo: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(corpo), corpo)


def pedido(corpo: bytes, *extras: str) -> bytes:
    return montar_cabeca(corpo, CABECALHOS, extras=extras) + corpo


PEDACOS = {"Transfer_Encoding": "chunked"}
# Os dados de um corpo em pedaços, cada jeito errado de escrevê-los.
DADOS_TORTOS: dict[str, Callable[[bytes], bytes]] = {
    "pedaco_negativo": lambda c: b"-" + em_pedacos(c),
    "pedaco_com_0x": lambda c: b"0x" + em_pedacos(c),
    "pedaco_com_sublinhado": lambda c: b"1_" + em_pedacos(c),
    "pedaco_so_com_lf": lambda c: em_pedacos(c).replace(b"\r\n", b"\n"),
    "pedaco_que_passa_do_dito": lambda c: b"%x\r\n%sXX\r\n0\r\n\r\n" % (len(c), c),
    "extensao_com_lf": lambda c: b"%x;\n%s\r\n0\r\n\r\n" % (len(c), c),
    "extensao_imensa": lambda c: b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(c), b"a" * 200_000, c),
    "fim_imenso": lambda c: em_pedacos(c)[:-2] + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
}
# O Content-Length, cada jeito errado de o escrever; `n` é o tamanho de verdade.
TAMANHOS_TORTOS: dict[str, Callable[[int], str]] = {
    "lista_de_tamanhos": lambda n: f"{n}, {n + 9}",
    "lista_de_tamanhos_iguais": lambda n: f"{n}, {n}",
    "tamanho_com_sinal": lambda n: f"+{n}",
    "tamanho_negativo": lambda n: f"-{n}",
    "tamanho_em_hexadecimal": hex,
    "tamanho_imenso": lambda n: "9" * 30,
}
TRANSPORTES_TORTOS = ["gzip", "\x0bchunked", "xchunked", "chunked, identity", "chunked;q=1", "CHUNKED\x00"]
LINHAS_TORTAS = {
    "dois_tamanhos_diferentes": "Content-Length: 1",
    "linha_dobrada": "X-A: b\r\n Content-Length: 1",
    "volta_de_carro_sozinha": "X-A: b\rContent-Length: 1",
    "espaco_depois_do_nome": "Transfer-Encoding : chunked",
}


# Nome → (lote que não deve entrar) → bytes. A moldura pode ser lida de dois jeitos; ler de um deles é adivinhar.
AMBIGUAS: dict[str, Callable[[bytes], bytes]] = {
    **{
        nome: lambda c, dados=dados: sem_tamanho(c, **PEDACOS) + dados(c)
        for nome, dados in DADOS_TORTOS.items()
    },
    **{
        nome: lambda c, escrever=escrever: sem_tamanho(c, Content_Length=escrever(len(c))) + c
        for nome, escrever in TAMANHOS_TORTOS.items()
    },
    "espaco_no_nome_do_tamanho": lambda c: pedido(c).replace(b"Content-Length:", b"Content-Length :"),
    **{t: lambda c, t=t: sem_tamanho(c, Transfer_Encoding=t) + em_pedacos(c) for t in TRANSPORTES_TORTOS},
    **{nome: lambda c, linha=linha: pedido(c, linha) for nome, linha in LINHAS_TORTAS.items()},
    "pedacos_em_http_1_0": lambda c: (
        sem_tamanho(c, **PEDACOS).replace(b"HTTP/1.1", b"HTTP/1.0") + em_pedacos(c)
    ),
}


@pytest.mark.parametrize("nome", AMBIGUAS)
def test_moldura_ambigua_e_recusada_e_o_que_vem_atras_nao_e_lido(
    servidor: ServidorLocal, site: Site, nome: str
) -> None:
    escondido = pedido(montar(site, ["escondido"]))
    cru = AMBIGUAS[nome](montar(site, ["ambiguo"])) + escondido
    recebido = mandar_cru(servidor.porta, cru, prazo_s=SILENCIO_S)
    assert recebido[:12] in (b"HTTP/1.1 400", b"HTTP/1.0 400"), recebido[:200]
    assert recebido.count(b"HTTP/1.") == 1, recebido[:600]
    assert mandar(servidor, montar(site, ["vizinho"])).status == 202
    esperar_esvaziar(servidor)
    assert totais(servidor, site) == contas_de(1)


@pytest.mark.parametrize("primeiro", ["tamanho", "pedacos"])
@pytest.mark.parametrize("diferenca", [-9, 0, 400])
def test_tamanho_e_pedacos_juntos_valem_os_pedacos_e_a_conexao_fecha(
    servidor: ServidorLocal, site: Site, primeiro: str, diferenca: int
) -> None:
    """RFC 9112, 6.3: o tamanho é ignorado e nada mais se lê da conexão, diga ele o que disser."""
    corpo = montar(site, ["um"])
    tamanho = {"Content_Length": str(len(em_pedacos(corpo)) + diferenca)}
    cabecalhos = {**tamanho, **PEDACOS} if primeiro == "tamanho" else {**PEDACOS, **tamanho}
    escondido = pedido(montar(site, ["escondido"]))
    recebido = mandar_cru(
        servidor.porta, sem_tamanho(corpo, **cabecalhos) + em_pedacos(corpo) + escondido, prazo_s=10
    )
    esperar_esvaziar(servidor)
    assert recebido.startswith(b"HTTP/1.1 202") and b"connection: close" in recebido, recebido[:300]
    assert recebido.count(b"HTTP/1.1 ") == 1
    assert totais(servidor, site) == contas_de(1)


# Rotas que não leem o corpo, ou o recusam: o que vem nele é corpo, nunca outro pedido.
RECUSADAS = {
    "rota_que_nao_existe": ("POST /nada HTTP/1.1", 404),
    "metodo_errado": ("PUT /evento/ingestao HTTP/1.1", 405),
    "get_com_corpo": ("GET /saude HTTP/1.1", 200),
    "arquivo_estatico": ("GET /estaticos/painel/painel.css HTTP/1.1", 200),
    "sem_token": ("GET /captura/pedidos HTTP/1.1", 401),
    "painel_sem_csrf": ("POST /admin/login/ HTTP/1.1", 403),
    "callback_sem_integracao": ("POST /dlr/callback/ninguem HTTP/1.1", 404),
}


@pytest.mark.parametrize("moldura", ["tamanho", "pedacos"])
@pytest.mark.parametrize("nome", RECUSADAS)
def test_pedido_escondido_no_corpo_e_so_corpo(
    servidor: ServidorLocal, site: Site, nome: str, moldura: str
) -> None:
    linha, status = RECUSADAS[nome]
    escondido = pedido(montar(site, ["escondido"]))
    tamanho = (
        b"Transfer-Encoding: chunked" if moldura == "pedacos" else b"Content-Length: %d" % len(escondido)
    )
    corpo = em_pedacos(escondido) if moldura == "pedacos" else escondido
    primeiro = linha.encode() + b"\r\nHost: localhost\r\n" + tamanho + b"\r\n\r\n" + corpo
    vizinho = pedido(montar(site, ["vizinho"]), "Connection: close")

    recebido = mandar_cru(servidor.porta, primeiro + vizinho, prazo_s=10)
    esperar_esvaziar(servidor)

    assert recebido.startswith(b"HTTP/1.1 %d" % status), recebido[:200]
    assert (recebido.count(b"HTTP/1.1 "), recebido.count(b"HTTP/1.1 202")) == (2, 1), recebido[:600]
    assert totais(servidor, site) == contas_de(1)


def test_expect_100_continue_e_respondido_e_o_lote_entra_uma_vez(servidor: ServidorLocal, site: Site) -> None:
    corpo = montar(site, ["um"])
    cabeca = montar_cabeca(corpo, CABECALHOS, extras=["Expect: 100-continue", "Connection: close"])
    recebido = mandar_cru(servidor.porta, cabeca, corpo, prazo_s=10)
    esperar_esvaziar(servidor)
    assert recebido.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202"), recebido[:200]
    assert totais(servidor, site) == contas_de(1)


@pytest.mark.parametrize(
    "codificacao", ["gzip, gzip", "gzip, identity", "identity, gzip", "gzip,", "deflate", "gzip;q=1"]
)
def test_codificacao_repetida_ou_em_lista_e_415_e_nao_entra(
    servidor: ServidorLocal, site: Site, codificacao: str
) -> None:
    corpo = gzip.compress(montar(site, ["comprimido"]))
    if codificacao == "gzip, gzip":
        corpo = gzip.compress(corpo)
    canal = Canal(servidor.porta)
    resposta = canal.postar(corpo, {**CABECALHOS, "Content-Encoding": codificacao})
    vizinho = canal.postar(montar(site, ["vizinho"]), CABECALHOS)
    canal.fechar()
    esperar_esvaziar(servidor)
    assert (resposta.status, resposta.codigo, vizinho.status) == (415, "codificacao_desconhecida", 202)
    assert totais(servidor, site) == contas_de(1)


def test_duas_linhas_de_codificacao_valem_por_uma_lista(servidor: ServidorLocal, site: Site) -> None:
    corpo = gzip.compress(montar(site, ["comprimido"]))
    cru = montar_cabeca(
        corpo,
        CABECALHOS,
        extras=["Content-Encoding: gzip", "Content-Encoding: identity", "Connection: close"],
    )
    assert b"codificacao_desconhecida" in mandar_cru(servidor.porta, cru + corpo, prazo_s=10)
    assert totais(servidor, site) == contas_de(0)


@pytest.mark.parametrize(
    "codec", ["bz2_codec", "hex", "idna", "punycode", "utf-7", "rot13", "undefined", "nenhum"]
)
@pytest.mark.parametrize(
    "caminho", ["/admin/login/?next=%ff", "/api/esquema?lang=%ff", "/dlr/relatorio?de=%ff", "/nada?a=%ff"]
)
def test_codec_torto_no_tipo_de_conteudo_nao_e_defeito_em_rota_nenhuma(
    servidor: ServidorLocal, codec: str, caminho: str
) -> None:
    tipo = f"Content-Type: text/plain; charset={codec}"
    cru = f"GET {caminho} HTTP/1.1\r\nHost: localhost\r\n{tipo}\r\nConnection: close\r\n\r\n"
    recebido = mandar_cru(servidor.porta, cru.encode(), prazo_s=10)
    assert recebido[:9] == b"HTTP/1.1 " and recebido[9:10] in b"24", recebido[:200]


@pytest.mark.parametrize(
    "cabecalhos",
    [
        "Host: mau.exemplo",
        "Host: localhost\r\nHost: mau.exemplo",
        "Host: localhost@mau.exemplo",
        "Host: localhost/mau",
        "X: y",
    ],
)
def test_hospedeiro_falso_nao_abre_o_painel(servidor: ServidorLocal, cabecalhos: str) -> None:
    cru = f"GET /admin/login/ HTTP/1.1\r\n{cabecalhos}\r\nX-Forwarded-Host: localhost\r\nConnection: close\r\n\r\n"
    recebido = mandar_cru(servidor.porta, cru.encode(), prazo_s=10)
    assert recebido.startswith(b"HTTP/1.1 400"), recebido[:200]
    assert b"mau.exemplo" not in recebido
