"""Eventos verossímeis de uma loja na internet, e os bytes das requisições que os levam. Puro.

A mistura segue o que um site manda de verdade: requisições, cliques e páginas quase sempre, erros com
pilha de vez em quando, muitas sessões intercaladas. Não há PULSO: ele não vira linha, e aqui se contam
linhas. O sorteio tem semente; duas execuções mandam a mesma coisa.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import orjson

from tests.bancada.aplicativos import DOMINIO, EVENTOS_POR_APLICATIVO, Aplicativo

Evento = dict[str, Any]

RAIZ_DO_SITE = f"https://{DOMINIO}"
PROGRAMA = f"{RAIZ_DO_SITE}/estaticos/app.3f2a91bc.js"
ATRASO_MAXIMO_S = 25  # um coletor junta eventos por segundos antes de mandar
EVENTOS_POR_SESSAO = {1: 10, 10: 60, 50: 200, 500: 1_000}  # por tamanho de lote
EVENTOS_POR_SESSAO_PADRAO = 100

ROTAS = ("/", "/busca", "/carrinho", "/checkout/pagamento", "/conta/pedidos", "/produtos/{n}", "/ofertas/{n}")
APIS = ("/api/v2/produtos/{n}", "/api/v2/carrinho", "/api/v2/frete?cep=0131{n}", "/api/v2/busca?pagina={n}")
ERROS = (
    ("TypeError", "Cannot read properties of undefined (reading 'preco_{n}')"),
    ("RangeError", "Invalid array length: {n}"),
    ("ChunkLoadError", "Loading chunk {n} failed after 3 attempts"),
    ("NetworkError", "A requisição para /api/v2/frete falhou com status 5{n}"),
)
FUNCOES = (
    "calcularTotal",
    "renderizarItem",
    "aplicarCupom",
    "Object.despachar",
    "aoClicar",
    "atualizarFrete",
)
SELETORES = (
    "main > section.vitrine > article:nth-child({n}) > button.comprar",
    "header nav ul.menu > li:nth-child({n}) > a[data-rastreio='menu']",
    "form#pagamento fieldset.cartao input[name='parcelas-{n}']",
)
PARTES_DO_UUID = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
AGENTE = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remessa:
    """As requisições prontas de uma rodada e o que o banco deve mostrar depois delas.

    `corpos` são os mesmos JSON sem o cabeçalho HTTP, para a referência que grava os mesmos bytes.
    """

    requisicoes: tuple[bytes, ...]
    corpos: tuple[bytes, ...]
    por_lote: int
    aplicativos: tuple[UUID, ...]
    eventos: int
    erros: int
    sessoes: int


def montar_remessa(
    aplicativos: Sequence[Aplicativo], *, eventos: int, por_lote: int, porta: int, semente: int
) -> Remessa:
    """Monta `eventos` eventos em lotes de `por_lote`, embaralhados entre aplicativos e sessões.

    Nenhum aplicativo leva mais que `EVENTOS_POR_APLICATIVO`. Levanta `ValueError` se não couberem.
    """
    if eventos > len(aplicativos) * EVENTOS_POR_APLICATIVO:
        raise ValueError(
            f"{eventos} eventos não cabem em {len(aplicativos)} aplicativos sem passar do limite"
        )
    sorteio = random.Random(semente)
    agora = datetime.now(UTC)
    por_sessao = EVENTOS_POR_SESSAO.get(por_lote, EVENTOS_POR_SESSAO_PADRAO)
    corpos: list[bytes] = []
    erros = 0
    sessoes: set[tuple[str, str]] = set()
    for inicio in range(0, eventos, por_lote):
        aplicativo = aplicativos[inicio // EVENTOS_POR_APLICATIVO]
        sessao = _montar_sessao(f"{semente:x}-{inicio // por_sessao:08x}")
        lote = [_montar_evento(sorteio, agora) for _ in range(min(por_lote, eventos - inicio))]
        erros += sum(_conta_como_erro(evento) for evento in lote)
        sessoes.add((aplicativo.chave, sessao["sessao_externa"]))
        corpos.append(orjson.dumps({"chave": aplicativo.chave, "sessao": sessao, "eventos": lote}))
    sorteio.shuffle(corpos)
    return Remessa(
        requisicoes=tuple(_montar_requisicao(corpo, porta) for corpo in corpos),
        corpos=tuple(corpos),
        por_lote=por_lote,
        aplicativos=tuple(aplicativo.id for aplicativo in aplicativos),
        eventos=eventos,
        erros=erros,
        sessoes=len(sessoes),
    )


def _montar_requisicao(corpo: bytes, porta: int) -> bytes:
    """Os cabeçalhos de um navegador: interpretá-los também é custo da porta."""
    cabecalhos = (
        "POST /evento/ingestao HTTP/1.1",
        f"Host: 127.0.0.1:{porta}",
        f"Content-Length: {len(corpo)}",
        "Content-Type: text/plain;charset=UTF-8",
        f"User-Agent: {AGENTE}",
        "Accept: */*",
        "Accept-Language: pt-BR,pt;q=0.9,en;q=0.8",
        f"Origin: {RAIZ_DO_SITE}",
        f"Referer: {RAIZ_DO_SITE}/",
        "CF-IPCountry: BR",
    )
    return "\r\n".join(cabecalhos).encode() + b"\r\n\r\n" + corpo


def _montar_sessao(externa: str) -> dict[str, Any]:
    return {
        "sessao_externa": externa,
        "anonimo_id": f"anonimo-{externa}",
        "usuario_id": None,
        "navegador": "Chrome 140",
        "sistema_operacional": "Linux",
        "dispositivo": "desktop",
        "resolucao": "1920x1080",
        "pagina_inicial": f"{RAIZ_DO_SITE}/?utm_source=boletim&utm_campaign=primavera",
    }


def _montar_evento(sorteio: random.Random, agora: datetime) -> Evento:
    (montar,) = sorteio.choices(_MONTADORES, cum_weights=_PESOS)
    ocorrido_em = agora - timedelta(milliseconds=sorteio.randrange(ATRASO_MAXIMO_S * 1000))
    aleatorio = f"{sorteio.getrandbits(128):032x}"
    return {
        "evento_id": "-".join(aleatorio[a:b] for a, b in PARTES_DO_UUID),
        "ocorrido_em": f"{ocorrido_em:%Y-%m-%dT%H:%M:%S}.{ocorrido_em.microsecond // 1000:03d}Z",
        "url": RAIZ_DO_SITE + _sortear(sorteio, ROTAS) + f"?ref=vitrine&sessao={aleatorio[:20]}",
        **montar(sorteio),
        "payload": {
            "versao_do_site": "2025.11.3+build.4821",
            "rota": "loja/vitrine/produto",
            "viewport": {"largura": 1903, "altura": 969, "rolagem": sorteio.randrange(9000)},
            "conexao": {"tipo": "4g", "descida_mbps": sorteio.randrange(100) / 10, "rtt_ms": 50},
            "experimentos": ["frete-gratis-b", "vitrine-compacta-a"],
            "rastro": aleatorio,
        },
    }


def _erro_js(sorteio: random.Random) -> Evento:
    nome, mensagem = sorteio.choice(ERROS)
    quadros = [
        f"    at {sorteio.choice(FUNCOES)} ({PROGRAMA}:{linha}:{linha * 7 % 900})"
        for linha in sorteio.sample(range(1, 9000), 14)
    ]
    mensagem = mensagem.format(n=sorteio.randrange(100))
    return {
        "tipo": "ERRO_JS",
        "nome": nome,
        "mensagem": mensagem,
        "pilha": "\n".join([f"{nome}: {mensagem}", *quadros]),
        "arquivo": PROGRAMA,
        "linha": sorteio.randrange(1, 9000),
        "coluna": sorteio.randrange(1, 900),
        "nivel": "error",
    }


def _console(sorteio: random.Random) -> Evento:
    return {
        "tipo": "CONSOLE",
        "nivel": sorteio.choices(("warn", "error"), (9, 1))[0],
        "mensagem": f"[carrinho] item {sorteio.randrange(9000)} sem estoque confirmado; usando o do cache",
    }


def _requisicao(sorteio: random.Random) -> Evento:
    return {
        "tipo": "REQUISICAO",
        "nome": "fetch",
        "url": RAIZ_DO_SITE + _sortear(sorteio, APIS),
        "metodo": sorteio.choices(("GET", "POST"), (4, 1))[0],
        "status": sorteio.choices((200, 204, 304, 404, 500), (80, 5, 10, 4, 1))[0],
        "duracao_ms": sorteio.randrange(80_000) / 100,
    }


def _clique(sorteio: random.Random) -> Evento:
    return {
        "tipo": "CLIQUE",
        "seletor": _sortear(sorteio, SELETORES),
        "texto": "Comprar agora com frete grátis",
    }


def _pagina(sorteio: random.Random) -> Evento:
    return {
        "tipo": "PAGINA",
        "nome": f"Produto {sorteio.randrange(9000)} | Loja Exemplo",
        "duracao_ms": sorteio.randrange(300_000) / 10,
    }


def _desempenho(sorteio: random.Random) -> Evento:
    metrica = sorteio.choice(("LCP", "CLS", "INP", "CARREGAMENTO"))
    return {"tipo": "DESEMPENHO", "metrica": metrica, "valor": sorteio.randrange(400_000) / 100}


def _identificacao(sorteio: random.Random) -> Evento:
    return {"tipo": "IDENTIFICACAO", "usuario_id": f"cliente-{sorteio.randrange(1_000_000)}"}


def _sortear(sorteio: random.Random, modelos: Sequence[str]) -> str:
    return sorteio.choice(modelos).format(n=sorteio.randrange(1, 1000))


def _conta_como_erro(evento: Evento) -> bool:
    return evento["tipo"] == "ERRO_JS" or (evento["tipo"] == "CONSOLE" and evento["nivel"] == "error")


# Em cada cem eventos: 3 erros com pilha e meio do console; o resto é movimento.
_MONTADORES: tuple[Callable[[random.Random], Evento], ...]
_MONTADORES, _PESOS = zip(
    (_erro_js, 3), (_console, 8), (_requisicao, 48), (_clique, 73), (_pagina, 93), (_desempenho, 99),
    (_identificacao, 100), strict=True,
)  # fmt: skip
