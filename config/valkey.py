"""Conectar ao Valkey (ou Redis): um servidor só, ou o mestre que as sentinelas apontarem.

`REDIS_URL` é `redis://`, `rediss://`, `unix://`, ou `sentinel://h1:26379,h2:26379,h3:26379/<mestre>`: nesta forma
cada conexão nova pergunta às sentinelas quem é o mestre, e uma troca de mestre se resolve na reconexão.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import redis
from django.conf import settings
from redis.sentinel import Sentinel

PORTA_DA_SENTINELA = 26_379


class EnderecoInvalido(ValueError):
    """A `REDIS_URL` de sentinelas não diz quais ou não diz o nome do mestre."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentinelas:
    """As sentinelas `(hospedeiro, porta)`, o nome do mestre e a senha dele, se houver."""

    onde: tuple[tuple[str, int], ...]
    mestre: str
    senha: str | None = None


def ler_sentinelas(url: str) -> Sentinelas | None:
    """Lê `sentinel://[:senha@]h1[:p],h2[:p]/<mestre>`; None se a URL é de outro tipo. Levanta `EnderecoInvalido`."""
    if not url.startswith("sentinel://"):
        return None
    partes = urlsplit(url)
    credencial, _, lista = partes.netloc.rpartition("@")
    onde = tuple(_ler_par(par) for par in lista.split(",") if par)
    mestre = partes.path.strip("/")
    if not onde or not mestre:
        raise EnderecoInvalido(
            "REDIS_URL de sentinelas é sentinel://h1:26379,h2:26379/<mestre>; falta um dos dois."
        )
    return Sentinelas(onde=onde, mestre=mestre, senha=unquote(credencial.partition(":")[2]) or None)


def conectar(espera_s: float) -> redis.Redis:
    """Um cliente da `REDIS_URL` que espera no máximo `espera_s` por conexão ou resposta, e não repete."""
    prazos: dict[str, Any] = {"socket_timeout": espera_s, "socket_connect_timeout": espera_s}
    sentinelas = ler_sentinelas(settings.REDIS_URL)
    if sentinelas is None:
        return redis.Redis.from_url(settings.REDIS_URL, retry=None, **prazos)
    vigia = Sentinel(list(sentinelas.onde), sentinel_kwargs=prazos, password=sentinelas.senha, **prazos)
    return vigia.master_for(sentinelas.mestre, retry=None)


def endereco_do_broker(url: str) -> tuple[str, dict[str, Any]]:
    """O que o Celery entende por `url`: o endereço e as opções de transporte que vão com ele."""
    sentinelas = ler_sentinelas(url)
    if sentinelas is None:
        return url.replace("unix://", "redis+socket://").replace("?db=", "?virtual_host="), {}
    senha = f":{quote(sentinelas.senha, safe='')}@" if sentinelas.senha else ""
    endereco = ";".join(f"sentinel://{senha}{quem}:{porta}" for quem, porta in sentinelas.onde)
    return endereco, {"master_name": sentinelas.mestre}


def _ler_par(par: str) -> tuple[str, int]:
    hospedeiro, _, porta = par.partition(":")
    if not hospedeiro or (porta and not porta.isdigit()):
        raise EnderecoInvalido(f"REDIS_URL: “{par}” não é hospedeiro:porta de uma sentinela.")
    return hospedeiro, int(porta or PORTA_DA_SENTINELA)
