"""O que um formato é: uma tabela de estados, um leitor puro, um jeito de autenticar e uma resposta."""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from dlr.dominio.estados import FINAIS_PADRAO, Estado
from dlr.dominio.recibo import Chamada, Item, Resposta

RECEBIDO = Resposta(status=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexto:
    """O que a integração diz ao leitor: o fuso das datas sem fuso."""

    fuso: tzinfo = UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class Credencial:
    """Os segredos da integração, já decifrados. `token` vale em todo formato (cabeçalho ou caminho).

    `segredo` é o da assinatura do fornecedor (chave de HMAC, chave pública Ed25519 em base64…);
    `usuario` e `senha` são os do Basic.
    """

    token: str
    segredo: str = ""
    usuario: str = ""
    senha: str = ""


Leitor = Callable[[Chamada, Contexto], list[Item]]
# Devolve True (autêntica), False (falsa) ou None (a chamada não traz esta prova).
Conferidor = Callable[[Chamada, Credencial, datetime], bool | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formato:
    """Um formato de callback.

    - `slug`: o nome no contrato (`--formato`). `versao`: do leitor; sobe quando ele passa a ler diferente.
    - `ler`: pura; nunca levanta: o que não se lê vira `Ilegivel`, item a item.
    - `estados`: estado bruto, na caixa em que o formato o compara → estado SMPP.
    - `finais`: os que encerram, por padrão, neste formato.
    - `conferir_assinatura`: a prova própria do fornecedor, além do token, do Basic e da lista de IP.
    - `resposta`: o que ele espera ouvir.
    - `metodos`: os que ele usa; outro método é 405.
    """

    slug: str
    versao: int
    nome: str
    ler: Leitor
    estados: Mapping[str, Estado]
    finais: frozenset[Estado] = FINAIS_PADRAO
    conferir_assinatura: Conferidor | None = None
    resposta: Resposta = RECEBIDO
    metodos: tuple[str, ...] = ("POST",)


def iguais(um: str, outro: str) -> bool:
    """Comparação em tempo constante de segredos em texto; vazio nunca é igual a nada."""
    return bool(um) and hmac.compare_digest(
        um.encode("utf-8", "surrogatepass"), outro.encode("utf-8", "surrogatepass")
    )
