"""Os callbacks, da chegada à resposta: conferir, gravar, acordar, responder.

A porta chama `atender` com os que chegaram juntos, sem passar pelas camadas do Django (docs/decisoes/0015); a
view do DRF chama a mesma função com um só.
"""

import logging
from collections.abc import Sequence

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from config.chegada import Pedido, Resposta
from dlr import gravacao, porta
from dlr.gravacao import RecusaNova
from dlr.tasks import despertador_de_recepcoes
from ingestao.caixa import responder

registro = logging.getLogger("lastro.dlr")


def atender(pedidos: Sequence[Pedido]) -> list[Resposta]:
    """Devolve o que cada transportadora espera ouvir, só depois do COMMIT da recepção dela.

    Não levanta por causa de uma chamada nem do banco: o que deu errado com uma é a resposta dela.
    """
    itens = [porta.Callback(pedido) for pedido in pedidos]
    if porta.receber(itens, timezone.now()):
        despertador_de_recepcoes.acordar()
    return responder(itens)


def contar_recusa(status: int, codigo: str, detalhe: str) -> None:
    """Conta uma recusa sem integração conhecida; sem banco, só o registro a diz."""
    try:
        gravacao.contar_recusas([RecusaNova(integracao_id=None, dia=timezone.localdate(), motivo=codigo)])
    except (OperationalError, InterfaceError) as erro:
        registro.error("recusa nao contada", extra={"codigo": codigo, "erro": type(erro).__name__})
