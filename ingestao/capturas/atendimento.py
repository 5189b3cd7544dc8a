"""As chamadas dos aparelhos, da chegada à resposta: autenticar, fazer, responder; e contar o que se recusou.

A porta chama `atender_chegadas` sem passar pelas camadas do Django (docs/decisoes/0008); a view
chama `atender_ingestao`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from config.banco.falhas import e_do_banco
from config.chegada import Pedido, Resposta
from config.erros import ErroDaApi, sem_armazenamento
from config.traducao_wsgi import para_wsgi
from ingestao.capturas import gravacao
from ingestao.capturas.autenticacao import autenticar
from ingestao.capturas.recepcao import receber

registro = logging.getLogger("lastro.capturas")

Trabalho = Callable[[UUID, datetime], Any]


def atender_chegadas(pedidos: Sequence[Pedido]) -> list[Resposta]:
    """O que a porta chama: cada pedido por si, na ordem."""
    return [atender_ingestao(p.chegada.corpo, para_wsgi(p.chegada.cabecalhos)) for p in pedidos]


def atender_ingestao(corpo: bytes, cabecalhos: Mapping[str, Any]) -> Resposta:
    """`POST /captura/ingestao`: 200 só depois do COMMIT. Não levanta por causa do aparelho nem do banco."""
    return responder(lambda: atender(cabecalhos, lambda id_, agora: receber(id_, corpo, cabecalhos, agora)))


def responder(chamada: Callable[[], Any]) -> Resposta:
    """Faz a chamada e põe o resultado, ou o erro, na forma de uma resposta."""
    try:
        return Resposta(status=200, corpo=orjson.dumps(chamada()))
    except (ErroDaApi, OperationalError, InterfaceError) as erro:
        return responder_falha(erro)


def responder_falha(erro: Exception) -> Resposta:
    """`{"detail", "codigo"}`, com a espera se há. O banco fora do ar é 503; o que não se conhece sobe."""
    if not isinstance(erro, ErroDaApi):
        if not e_do_banco(erro):
            raise erro
        # Sem o traço: com o banco fora, ele se repetiria a cada requisição até encher o disco.
        registro.error("banco indisponivel", extra={"erro": str(erro).partition("\n")[0]})
        erro = sem_armazenamento()
    return Resposta(
        status=erro.status_code,
        corpo=orjson.dumps({"detail": str(erro.detail), "codigo": erro.codigo}),
        espera_s=erro.espera_s,
    )


def atender(cabecalhos: Mapping[str, Any], trabalho: Trabalho) -> Any:
    """Autentica e faz o trabalho do aparelho; toda chamada recusada inteira é contada antes de responder.

    Levanta `ErroDaApi` ou o erro do banco.
    """
    agora = timezone.now()
    dispositivo_id: UUID | None = None
    try:
        dispositivo_id = autenticar(cabecalhos, agora)
        return trabalho(dispositivo_id, agora)
    except ErroDaApi as erro:
        if erro.status_code < 500:
            gravacao.contar_recusa(dispositivo_id, timezone.localdate(agora), erro.codigo)
        raise


def contar_recusa(status: int, codigo: str, detalhe: str) -> None:
    """Conta o que a porta recusou sem chegar aqui (corpo cortado, mudo); sem banco, só o registro o diz."""
    try:
        gravacao.contar_recusa(None, timezone.localdate(), codigo)
    except (OperationalError, InterfaceError) as erro:
        registro.error("recusa nao contada", extra={"codigo": codigo, "erro": type(erro).__name__})
