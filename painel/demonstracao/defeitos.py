"""Os erros que os sites da demonstração têm, com o destino de cada um na triagem. Puro."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Destino(Enum):
    """O que se fez do erro."""

    ABERTO = "aberto"
    RESOLVIDO = "resolvido"  # e não voltou
    VOLTOU = "voltou"  # resolvido, e apareceu de novo
    IGNORADO = "ignorado"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defeito:
    """Um erro como o navegador o conta; `pagina` é onde acontece e `chance` a de acontecer a quem passa lá."""

    site: str
    pagina: str
    chance: float
    campos: Mapping[str, Any]
    destino: Destino = Destino.ABERTO
    nota: str = ""
    novo: bool = False  # só existe desde a publicação de ontem

    def acontece_em(self, pagina: str) -> bool:
        """Na própria página ou nas de baixo; o defeito do início só acontece nele."""
        return pagina == self.pagina or (self.pagina != "/" and pagina.startswith(f"{self.pagina}/"))


def _js(nome: str, mensagem: str, arquivo: str, *quadros: str) -> dict[str, Any]:
    """Um `ERRO_JS` com pilha; cada quadro é `função arquivo:linha:coluna`, sem a raiz do site."""
    pilha = [f"    at {q.split()[0]} (https://{{dominio}}/{q.split()[1]})" for q in quadros]
    primeiro = quadros[0].split()[1]
    linha, coluna = primeiro.split(":")[1:]
    return {
        "tipo": "ERRO_JS",
        "nome": nome,
        "mensagem": mensagem,
        "arquivo": f"https://{{dominio}}/{arquivo}",
        "linha": int(linha),
        "coluna": int(coluna),
        "pilha": "\n".join([f"{nome}: {mensagem}", *pilha]),
    }


DEFEITOS = (
    Defeito(
        site="loja-aurora",
        pagina="/checkout",
        chance=0.35,
        campos=_js(
            "TypeError",
            "Cannot read properties of undefined (reading 'total')",
            "assets/checkout.8f21c0de.js",
            "calcularFrete assets/checkout.8f21c0de.js:212:31",
            "atualizarResumo assets/checkout.8f21c0de.js:148:9",
            "HTMLFormElement.aoMudar assets/checkout.8f21c0de.js:77:5",
        ),
    ),
    Defeito(
        site="loja-aurora",
        pagina="/carrinho",
        chance=0.12,
        destino=Destino.VOLTOU,
        nota="O cupom vazio agora é tratado; saiu na versão 4.2.",
        campos=_js(
            "RangeError",
            "Invalid currency code : R$",
            "assets/carrinho.51bb90aa.js",
            "formatarPreco assets/carrinho.51bb90aa.js:33:18",
            "aplicarCupom assets/carrinho.51bb90aa.js:91:12",
        ),
    ),
    Defeito(
        site="loja-aurora",
        pagina="/produto",
        chance=0.08,
        destino=Destino.RESOLVIDO,
        nota="A galeria esperava a imagem antes de medir. Corrigido.",
        campos=_js(
            "TypeError",
            "Cannot read properties of null (reading 'offsetWidth')",
            "assets/galeria.0c77e3f1.js",
            "medir assets/galeria.0c77e3f1.js:58:22",
            "ResizeObserver.aoRedimensionar assets/galeria.0c77e3f1.js:20:7",
        ),
    ),
    Defeito(
        site="loja-aurora",
        pagina="/",
        chance=0.06,
        destino=Destino.IGNORADO,
        nota="Ruído do navegador; não atrapalha ninguém.",
        campos={
            "tipo": "ERRO_JS",
            "nome": "Error",
            "mensagem": "ResizeObserver loop completed with undelivered notifications.",
            "arquivo": "https://{dominio}/assets/inicio.js",
            "linha": 1,
            "coluna": 1,
        },
    ),
    Defeito(
        site="loja-aurora",
        pagina="/pedido",
        chance=0.14,
        campos={
            "tipo": "PROMISE_REJEITADA",
            "nome": "ChunkLoadError",
            "mensagem": "Loading chunk 7 failed (timeout: https://{dominio}/assets/rastreio.{n}.js)",
            "pilha": "ChunkLoadError: Loading chunk 7 failed\n    at carregar (https://{dominio}/assets/base.js:9:11)\n"
            "    at async abrirPedido (https://{dominio}/assets/pedido.77ac10b2.js:14:3)",
        },
    ),
    Defeito(
        site="portal-do-cidadao",
        pagina="/agendamento",
        chance=0.22,
        campos={
            "tipo": "PROMISE_REJEITADA",
            "nome": "HTTPError",
            "mensagem": "504 Gateway Timeout ao buscar horários da unidade {n}",
            "pilha": "HTTPError: 504 Gateway Timeout\n    at pedir (https://{dominio}/js/api.js:40:15)\n"
            "    at async listarHorarios (https://{dominio}/js/agenda.js:112:22)",
        },
    ),
    Defeito(
        site="portal-do-cidadao",
        pagina="/documentos",
        chance=0.1,
        destino=Destino.VOLTOU,
        nota="O leitor de PDF passou a aceitar arquivo sem miolo.",
        campos=_js(
            "InvalidPDFException",
            "Invalid PDF structure.",
            "js/leitor.js",
            "abrir js/leitor.js:310:11",
            "mostrarDocumento js/documentos.js:64:5",
        ),
    ),
    Defeito(
        site="portal-do-cidadao",
        pagina="/",
        chance=0.05,
        destino=Destino.IGNORADO,
        nota="Extensão do navegador, não o site.",
        campos={"tipo": "ERRO_JS", "nome": "", "mensagem": "Script error."},
    ),
    Defeito(
        site="portal-do-cidadao",
        pagina="/agendamento",
        chance=0.15,
        campos={
            "tipo": "CONSOLE",
            "nivel": "error",
            "mensagem": "Falha ao gravar o rascunho: QuotaExceededError no armazenamento do navegador",
            "arquivo": "https://{dominio}/js/rascunho.js",
        },
    ),
    Defeito(
        site="clube-de-pontos",
        pagina="/resgate",
        chance=0.5,
        novo=True,
        campos=_js(
            "ReferenceError",
            "saldoDisponivel is not defined",
            "resgate.js",
            "conferirSaldo resgate.js:27:9",
            "HTMLButtonElement.resgatar resgate.js:12:3",
        ),
    ),
)
