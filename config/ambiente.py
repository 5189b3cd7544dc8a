"""As variáveis de ambiente do servidor, lidas num lugar só.

`PORTA` (8000) e `LASTRO_ENDERECO` (127.0.0.1) são só do `manage.py local`, que as lê ele mesmo.

| Variável | Padrão | Para quê |
|---|---|---|
| `DATABASE_URL` | servidores do `manage.py local` | PostgreSQL (>= 15) |
| `REDIS_URL` | servidores do `manage.py local` | Valkey >= 8 ou Redis >= 7 |
| `LASTRO_DADOS` | `.local` | pasta do `manage.py local` |
| `LASTRO_LOCAL` | não | ligado pelo `manage.py local`: cookies sem HTTPS, hospedeiros locais |
| `LASTRO_SEGREDO` | sem padrão em produção | `SECRET_KEY` |
| `LASTRO_HOSPEDEIROS` | só os locais, no modo local | nomes que a web atende, separados por vírgula |
| `LASTRO_FUSO` | `America/Sao_Paulo` | fuso do dia do uso e das telas |
| `URL_FRONTEND` | vazio | origem do painel, sempre aceita na ingestão |
| `EMAIL_URL` | `console:` | por onde saem os avisos |
| `EMAIL_REMETENTE` | `lastro@localhost` | remetente dos avisos |
| `LASTRO_LIMITE_POR_MINUTO` | 6000 | eventos por minuto e por chave |
| `LASTRO_TETO_DA_CAIXA` | 20000 | lotes pendentes acima dos quais a porta responde 503 |
| `LASTRO_TETO_DE_RECEPCOES` | 50000 | o mesmo, para os recibos das transportadoras |
| `LASTRO_QUADROS` | `LASTRO_DADOS/quadros` | pasta dos quadros pedidos, no depósito em disco |
| `LASTRO_DEPOSITO` | disco | classe de armazenamento dos quadros (`storages.backends.s3.S3Storage`…) |
| `LASTRO_DEPOSITO_OPCOES` | vazio | opções dela, em JSON (`{"bucket_name": "…", "endpoint_url": "…"}`) |
| `LASTRO_ATRAS_DE_PROXY` | não | confia em `X-Forwarded-Proto` para saber que a visita veio por HTTPS |
| `LASTRO_THREADS` | 6 | threads do Django em cada processo web |
"""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import Env

from config.embutido.enderecos import ler_enderecos

env = Env()
RAIZ = Path(__file__).resolve().parent.parent

DADOS = Path(env.str("LASTRO_DADOS", "") or RAIZ / ".local").resolve()
MODO_LOCAL: bool = env.bool("LASTRO_LOCAL", False)
FUSO: str = env.str("LASTRO_FUSO", "America/Sao_Paulo")
URL_FRONTEND: str = env.str("URL_FRONTEND", "")
EMAIL_REMETENTE: str = env.str("EMAIL_REMETENTE", "lastro@localhost")
LIMITE_POR_MINUTO: int = env.int("LASTRO_LIMITE_POR_MINUTO", 6_000)  # contrato da ingestão, etapa 4
TETO_DA_CAIXA: int = env.int("LASTRO_TETO_DA_CAIXA", 20_000)
TETO_DA_CAIXA_DE_RECEPCOES: int = env.int("LASTRO_TETO_DE_RECEPCOES", 50_000)
ATRAS_DE_PROXY: bool = env.bool("LASTRO_ATRAS_DE_PROXY", False)
EM_DISCO = "ingestao.capturas.deposito.QuadrosEmDisco"
DEPOSITO_DE_QUADROS: str = env.str("LASTRO_DEPOSITO", "") or EM_DISCO
THREADS: int = env.int("LASTRO_THREADS", 6)

HOSPEDEIROS_LOCAIS = ["localhost", "127.0.0.1", "[::1]"]
_enderecos = ler_enderecos(DADOS)


def url_do_banco() -> str:
    """URL do PostgreSQL: a do ambiente, senão a do `manage.py local` que estiver de pé."""
    return env.str("DATABASE_URL", "") or (_enderecos.banco_url if _enderecos else "")


def url_do_redis() -> str:
    """URL do Valkey/Redis: a do ambiente, senão a do `manage.py local` que estiver de pé."""
    return env.str("REDIS_URL", "") or (_enderecos.redis_url if _enderecos else "")


def segredo() -> str:
    """`SECRET_KEY`: a do ambiente, senão a que o `manage.py local` guardou na pasta de dados.

    Levanta `ImproperlyConfigured` quando não há nenhuma: segredo padrão não existe.
    """
    guardado = DADOS / "segredo"
    valor = env.str("LASTRO_SEGREDO", "") or (guardado.read_text().strip() if guardado.is_file() else "")
    if len(valor) >= 32:
        return valor
    if valor:
        raise ImproperlyConfigured("LASTRO_SEGREDO tem menos de 32 caracteres: gere um mais longo.")
    if url_do_banco() and sys.argv[1:2] != ["local"]:  # o `local` cria o segredo antes de subir os filhos
        raise ImproperlyConfigured("Defina LASTRO_SEGREDO (32 caracteres ou mais, guardado em segredo).")
    return "sem-banco-nada-se-assina-" + "0" * 32  # `manage.py local` e a ajuda rodam antes de haver segredo


def opcoes_do_deposito() -> dict[str, Any]:
    """As opções do armazenamento de quadros. Levanta `ImproperlyConfigured` se não são um objeto JSON."""
    try:
        opcoes = json.loads(env.str("LASTRO_DEPOSITO_OPCOES", "") or "{}")
    except ValueError as erro:
        raise ImproperlyConfigured("LASTRO_DEPOSITO_OPCOES não é JSON.") from erro
    if not isinstance(opcoes, dict):
        raise ImproperlyConfigured('LASTRO_DEPOSITO_OPCOES é um objeto JSON: {"opcao": valor}.')
    if DEPOSITO_DE_QUADROS == EM_DISCO:
        opcoes.setdefault("location", env.str("LASTRO_QUADROS", "") or str(DADOS / "quadros"))
        opcoes.setdefault("file_permissions_mode", 0o600)
    return opcoes


def hospedeiros() -> list[str]:
    """`ALLOWED_HOSTS`. Levanta `ImproperlyConfigured` para o curinga `*`."""
    nomes: list[str] = env.list("LASTRO_HOSPEDEIROS", [])
    if "*" in nomes:
        raise ImproperlyConfigured("LASTRO_HOSPEDEIROS não aceita '*': liste os nomes que esta web atende.")
    return nomes + HOSPEDEIROS_LOCAIS if MODO_LOCAL or not nomes else nomes
