"""As visitas: um alvo por grupo de rotas. Cada fábrica devolve o teste do hypothesis, pronto para rodar."""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.caos.envio import Resposta, montar_cabeca
from tests.fuzz.preparo import CONTEUDO_DO_QUADRO, DOMINIO
from tests.fuzz.sorteio import cabecalhos, consultas, escapados, escrever, estragados, quase
from tests.fuzz.visitante import Visitante
from tests.ingestao.capturas.aparelho import TIPO_MULTIPART, com_caixa, jpeg, montar_multipart

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")

Preparado = Mapping[str, Any]
Teste = Callable[[], None]
Fabrica = Callable[[Visitante, Preparado], Teste]

AMOSTRAS = Path(__file__).resolve().parents[1] / "dlr" / "amostras"
ORIGENS = [f"https://{DOMINIO}", f"https://{DOMINIO}", "null", "https://outro.exemplo", "\xff"]
TIPOS_DE_CONTEUDO = [
    "application/json", "text/plain", "application/x-www-form-urlencoded", TIPO_MULTIPART, "multipart/form-data",
    "application/json; charset=bz2_codec", "application/json; charset=utf-7", "text/plain; charset=nenhum", "/", "",
]  # fmt: skip
CODIFICACOES = ["", "gzip", "x-gzip", "identity", "gzip, gzip", "gzip, identity", "deflate", "br", "GZIP "]
METODOS = ["GET", "GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "XYZ"]
MODOS = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)

EVENTO = {
    "evento_id": "e1", "tipo": "ERRO_JS", "nome": "TypeError", "mensagem": "x is undefined", "pilha": "at f (a.js:1:2)",
    "arquivo": "https://a/b.js", "linha": 1, "coluna": 2, "url": "https://a/", "metodo": "GET", "status": 500,
    "duracao_ms": 12, "nivel": "error", "seletor": "#a", "texto": "t", "metrica": "CARREGAMENTO", "valor": 3.5,
    "usuario_id": "u", "payload": {"a": [1]}, "ocorrido_em": "2026-11-30T12:00:00Z",
}  # fmt: skip
TIPOS = [
    "ERRO_JS", "PROMISE_REJEITADA", "CONSOLE", "REQUISICAO", "CLIQUE", "PAGINA", "DESEMPENHO", "IDENTIFICACAO",
    "PULSO", "PERSONALIZADO", "INVENTADO",
]  # fmt: skip


def eventos(visitante: Visitante, preparado: Preparado) -> Teste:
    """Lotes quase bons, às vezes comprimidos, às vezes com os bytes estragados."""
    sessao = {
        "sessao_externa": "s",
        "anonimo_id": "a",
        "usuario_id": None,
        "navegador": "n",
        "resolucao": "1x1",
    }
    modelo = {"chave": preparado["site"]["chave"], "sessao": sessao, "eventos": [EVENTO]}
    de_todo_tipo = st.builds(
        lambda evento, id_, tipo: {**evento, "evento_id": id_, "tipo": tipo} if isinstance(evento, dict) else evento,
        quase(EVENTO), st.text(max_size=20), st.sampled_from(TIPOS),
    )  # fmt: skip
    lotes = st.one_of(
        quase(modelo),
        st.builds(lambda lista: {**modelo, "eventos": lista}, st.lists(de_todo_tipo, max_size=8)),
    )

    @given(
        lotes,
        st.sampled_from(ORIGENS),
        st.sampled_from(CODIFICACOES),
        st.sampled_from(TIPOS_DE_CONTEUDO),
        st.data(),
    )
    def visitar(lote: Any, origem: str, codificacao: str, tipo: str, dado: Any) -> None:
        corpo = escrever(lote)
        if codificacao in ("gzip", "x-gzip", "GZIP "):
            corpo = gzip.compress(corpo, 1)
        if dado.draw(st.integers(0, 3)) == 0:
            corpo = dado.draw(estragados(corpo))
        cabecas = {"Origin": origem, "Content-Type": tipo, "Content-Encoding": codificacao}
        visitante.pedir("POST", "/evento/ingestao", cabecas, corpo, em_pedacos=dado.draw(st.booleans()))

    return visitar


def capturas(visitante: Visitante, preparado: Preparado) -> Teste:
    """Lotes de capturas em JSON e em multipart com os bytes estragados, e pulsos."""
    bom = com_caixa()
    id_evento = str(bom["id_evento"])
    lote = {
        "enviado_em": "2026-11-30T12:00:00Z",
        "boot_id": "b",
        "eventos": [bom],
        "descartados": {"teto": 1},
    }
    pulso = {
        "profundidade": 1,
        "disco_livre_bytes": 2,
        "descartados": {"teto": 1},
        "latencias": [{"id_evento": id_evento, "ms": 9}],
    }
    multipart = montar_multipart(lote, {id_evento: jpeg()})

    @given(st.one_of(quase(lote).map(escrever), estragados(multipart), quase(pulso).map(escrever)), st.data())
    def visitar(corpo: bytes, dado: Any) -> None:
        do_multipart = corpo.startswith(b"--") or dado.draw(st.integers(0, 9)) == 0
        tipo = TIPO_MULTIPART if do_multipart else dado.draw(st.sampled_from(TIPOS_DE_CONTEUDO))
        rota = "/captura/pulso" if b"profundidade" in corpo else "/captura/ingestao"
        visitante.pedir("POST", rota, {**_com_token(preparado, dado), "Content-Type": tipo}, corpo)

    return visitar


def quadros(visitante: Visitante, preparado: Preparado) -> Teste:
    """O envio por pedaços: pedidos que existem e que não, posições, tamanhos e métodos quaisquer."""
    pedidos = st.one_of(st.just(preparado["aparelho"]["pedido"]), escapados.filter(bool))
    posicoes = st.one_of(st.sampled_from(["0", "1", "-1", "+0", " 0", "0x0", "9" * 30, ""]), cabecalhos)

    @given(
        pedidos,
        posicoes,
        estragados(CONTEUDO_DO_QUADRO),
        st.sampled_from(["HEAD", "PATCH", "PATCH", "GET", "POST"]),
        st.data(),
    )
    def visitar(pedido: str, posicao: str, pedaco: bytes, metodo: str, dado: Any) -> None:
        fim = dado.draw(st.sampled_from(["", "", "", "/indisponivel", "/../x"]))
        cabecas = {
            **_com_token(preparado, dado),
            "Tus-Resumable": dado.draw(st.sampled_from(["1.0.0", "1.0.0", "0.2", ""])),
            "Upload-Offset": posicao,
            "Content-Type": dado.draw(
                st.sampled_from(["application/offset+octet-stream", "application/json", ""])
            ),
        }
        corpo = escrever(dado.draw(quase({"motivo": "expirado"}))) if fim else pedaco
        visitante.pedir(
            metodo,
            f"/captura/quadros/{pedido}{fim}",
            cabecas,
            corpo if metodo not in ("HEAD", "GET") else None,
        )

    return visitar


def recibos(visitante: Visitante, preparado: Preparado) -> Teste:
    """As amostras de cada formato, com o JSON quase bom, os bytes ou a consulta estragados, e provas que faltam."""
    amostras = [(slug, json.loads(arquivo.read_text("utf-8"))) for slug in sorted(preparado["integracoes"])
                for arquivo in sorted((AMOSTRAS / slug).glob("*.json"))]  # fmt: skip

    @given(st.sampled_from(amostras), st.data())
    def visitar(amostra: tuple[str, dict[str, Any]], dado: Any) -> None:
        slug, chamada = amostra
        integracao = preparado["integracoes"][slug]
        prova = dado.draw(st.sampled_from(["caminho", "caminho", "cabecalho", "nenhuma", "errada", "basic"]))
        cabecas = {nome: str(valor) for nome, valor in chamada.get("cabecalhos", {}).items()}
        caminho = f"/dlr/callback/{integracao['slug']}"
        if prova == "caminho":
            caminho += "/" + integracao["token"]
        elif prova == "errada":
            caminho += "/" + (dado.draw(escapados) or "x")
        elif prova != "nenhuma":
            cabecas["Authorization"] = ("Bearer " if prova == "cabecalho" else "Basic ") + integracao["token"]
        consulta = dado.draw(estragados(chamada.get("consulta", "").encode())).decode("latin-1")
        caminho += "?" + re.sub(r"[^\w.~!$&'()*+,;=:@/?%-]", "%00", consulta, flags=re.ASCII)
        visitante.pedir(chamada.get("metodo", "POST"), caminho, cabecas, _corpo_da_chamada(chamada, dado))

    return visitar


def _corpo_da_chamada(chamada: Mapping[str, Any], dado: Any) -> bytes | None:
    corpo = chamada.get("corpo", "").encode()
    if not corpo:
        return None
    try:
        modelo = json.loads(corpo)
    except ValueError:
        return bytes(dado.draw(estragados(corpo)))
    return bytes(dado.draw(st.one_of(quase(modelo).map(escrever), estragados(corpo))))


def envios(visitante: Visitante, preparado: Preparado) -> Teste:
    """As rotas de quem envia mensagens: registro, consulta, verificação, relatório."""
    integracao = preparado["integracoes"]["padrao"]
    mensagem = {
        "id_interno": "m1",
        "ids_externos": [{"valor": "x1", "parte": 1}],
        "origem": "lastro",
        "destino": "+5511999990000",
        "rota": "r",
        "registered_delivery": 1,
        "apresentada_em": "2026-11-30T12:00:00Z",
        "aceita": True,
    }
    verificacao = {"origem": "codigo", "ocorrida_em": "2026-11-30T12:00:00Z", "detalhe": {"a": 1}}
    periodo = consultas(["de", "ate", "integracao", "formato"])

    @given(st.sampled_from(["registro", "consulta", "verificacao", "relatorio"]), st.data())
    def visitar(qual: str, dado: Any) -> None:
        cabecas = {
            "Authorization": f"Bearer {integracao['token']}",
            "Content-Type": dado.draw(st.sampled_from(TIPOS_DE_CONTEUDO)),
        }
        id_ = dado.draw(st.one_of(st.sampled_from(["1", "2", "0", "9" * 19, "9" * 30]), escapados))
        if qual == "registro":
            corpo = escrever(dado.draw(st.one_of(quase({"mensagens": [mensagem]}), quase(mensagem))))
            visitante.pedir("POST", "/dlr/mensagens", cabecas, corpo)
        elif qual == "verificacao":
            visitante.pedir(
                "POST", f"/dlr/mensagens/{id_}/verificacoes", cabecas, escrever(dado.draw(quase(verificacao)))
            )
        elif qual == "consulta":
            visitante.pedir("GET", f"/dlr/mensagens/{id_}", cabecas)
        else:
            visitante.pedir("GET", f"/dlr/relatorio?{dado.draw(periodo)}", cabecas)

    return visitar


def esquema(visitante: Visitante, preparado: Preparado) -> Teste:
    """O que o schemathesis gera a partir do OpenAPI que o próprio servidor publica."""
    base = f"http://127.0.0.1:{visitante.porta}"
    publicado = schemathesis.openapi.from_dict(visitante.pedir("GET", "/api/esquema?format=json").json())
    estrategias = [
        r.ok().as_strategy(generation_mode=m) for r in publicado.get_all_operations() for m in MODOS
    ]
    tokens = [preparado["aparelho"]["token"], preparado["integracoes"]["padrao"]["token"], "outro"]

    @given(st.one_of(estrategias), st.sampled_from(tokens))
    def visitar(visita: Any, token: str) -> None:
        visita.headers["Authorization"] = f"Bearer {token}"
        if visita.query and "espera_s" in visita.query:
            visita.query["espera_s"] = 0  # a espera tem os seus testes; aqui só atrasaria
        ouvida = visita.call(base_url=base)
        visitante.anotar(
            visita.method,
            visita.formatted_path,
            Resposta(
                status=ouvida.status_code,
                cabecalhos={nome.lower(): valores[0] for nome, valores in ouvida.headers.items()},
                corpo=ouvida.content,
            ),
        )

    return visitar


def operacoes(visitante: Visitante, preparado: Preparado) -> Teste:
    """Saúde, prontidão, métricas, documentação, estáticos e caminhos que não existem; cabeçalhos quaisquer."""
    rotas = ["/saude", "/prontidao", "/metricas", "/api/esquema", "/api/docs", "/coletor.js", "/demonstracao/",
             "/demonstracao/eventos", "/", "/estaticos/painel/painel.css", "/estaticos/%2e%2e/manage.py"]  # fmt: skip
    nomes = ["Accept", "Accept-Language", "Range", "If-None-Match", "If-Modified-Since", "Cookie", "X-Forwarded-For",
             "X-Forwarded-Proto", "Authorization", "Content-Type", "X-HTTP-Method-Override"]  # fmt: skip

    @given(
        st.sampled_from(METODOS),
        st.one_of(st.sampled_from(rotas), escapados.map("/".__add__)),
        consultas(["format", "lang", "chave", "v"]),
        st.dictionaries(st.sampled_from(nomes), cabecalhos, max_size=3),
    )
    def visitar(metodo: str, rota: str, consulta: str, cabecas: dict[str, str]) -> None:
        visitante.pedir(
            metodo, f"{rota}?{consulta}", cabecas, b"{}" if metodo in ("POST", "PUT", "PATCH") else None
        )

    return visitar


def painel_de_fora(visitante: Visitante, preparado: Preparado) -> Teste:
    """O painel sem sessão: nenhuma tela abre, e todo envio é recusado pelo CSRF."""
    rotas = [
        *preparado["listas"],
        *preparado["paginas"],
        "/admin/login/",
        "/admin/login/codigo/",
        "/admin/logout/",
    ]

    @given(
        st.sampled_from(rotas),
        st.sampled_from(METODOS),
        consultas(["next", "q", "p"]),
        cabecalhos,
        st.booleans(),
    )
    def visitar(rota: str, metodo: str, consulta: str, biscoito: str, html: bool) -> None:
        cabecas = {"Accept": "text/html" if html else "*/*", "Cookie": f"sessionid={biscoito}"}
        corpo = consulta.encode() if metodo in ("POST", "PUT", "PATCH") else None
        resposta = visitante.pedir(metodo, f"{rota}?{consulta}", cabecas, corpo)
        assert resposta.status != 200 or "/login/" in rota or metodo in ("OPTIONS", "HEAD"), (metodo, rota)

    return visitar


def painel_de_dentro(visitante: Visitante, preparado: Preparado) -> Teste:
    """O painel com sessão, só lendo: listas, buscas, filtros e páginas com parâmetros e chaves quaisquer."""
    listas = preparado["listas"]

    @given(st.sampled_from(sorted(listas)), st.data())
    def visitar(rota: str, dado: Any) -> None:
        parametros = dado.draw(consultas([*listas[rota], "q", "p", "o", "e", "all", "_popup", "_to_field"]))
        if dado.draw(st.integers(0, 3)) == 0:
            rota = dado.draw(st.sampled_from(preparado["paginas"]))
        elif dado.draw(st.integers(0, 5)) == 0:
            rota += f"{dado.draw(escapados)}/change/"
        cabecas = {"Cookie": f"sessionid={preparado['sessao']}", "Accept": "text/html"}
        visitante.pedir("GET", f"{rota}?{parametros}", cabecas)

    return visitar


def bytes_crus(visitante: Visitante, preparado: Preparado) -> Teste:
    """Pedidos inteiros com os bytes estragados em qualquer lugar: linha, cabeçalhos, moldura, corpo."""
    corpo = escrever(
        {"chave": preparado["site"]["chave"], "sessao": {"sessao_externa": "cru"}, "eventos": []}
    )
    simples = montar_cabeca(corpo, {"Origin": f"https://{DOMINIO}", "Connection": "close"}) + corpo
    pedacos = simples.replace(b"Content-Length: %d" % len(corpo), b"Transfer-Encoding: chunked").replace(
        corpo, b"%x\r\n%s\r\n0\r\n\r\n" % (len(corpo), corpo)
    )
    pagina = b"GET /admin/login/?next=/admin/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    @given(st.one_of(estragados(simples), estragados(pedacos), estragados(pagina), st.binary(max_size=200)))
    def visitar(cru: bytes) -> None:
        visitante.mandar_bytes(cru)

    return visitar


def _com_token(preparado: Preparado, dado: Any) -> dict[str, str]:
    """Quase sempre o token do aparelho; às vezes nenhum, ou outro."""
    token = preparado["aparelho"]["token"]
    qual = dado.draw(st.sampled_from([token, token, token, token, "", "cap_outro"]))
    return {"Authorization": f"Bearer {qual}"} if qual else {}


# Nome → (fábrica, exemplos por vez).
ALVOS: Mapping[str, tuple[Fabrica, int]] = {
    "eventos": (eventos, 60),
    "capturas": (capturas, 40),
    "quadros": (quadros, 40),
    "recibos": (recibos, 60),
    "envios": (envios, 40),
    "esquema": (esquema, 25),
    "operacoes": (operacoes, 40),
    "painel_de_fora": (painel_de_fora, 30),
    "painel_de_dentro": (painel_de_dentro, 25),
}
# À parte, depois das contas: do que chega estragado antes de virar pedido ninguém sabe dizer quantos foram.
CRUS = (bytes_crus, 10)
