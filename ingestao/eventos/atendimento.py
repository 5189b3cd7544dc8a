"""Os POSTs de evento, da chegada à resposta: conferir, gravar, acordar, responder.

A porta chama `atender` com os que chegaram juntos, sem passar pelas camadas do Django (docs/decisoes/0008 e
0015); a view do DRF chama a mesma função com um só, para os testes, a documentação e quem servir por WSGI.
"""

import logging
from collections.abc import Sequence

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from config.chegada import Pedido, Resposta
from ingestao.caixa import responder
from ingestao.eventos.gravacao import gravar_lotes
from ingestao.eventos.recepcao import Recebimento, Recusado, linha_da_recusa, receber
from ingestao.tasks import despertador_de_lotes

registro = logging.getLogger("lastro.eventos")


def atender(pedidos: Sequence[Pedido]) -> list[Resposta]:
    """Devolve a resposta de cada um: 202 só depois do COMMIT do lote; toda recusa também é gravada antes.

    Não levanta por causa de um remetente nem do banco: o que deu errado com um é a resposta dele.
    """
    recebido_em = timezone.now()
    itens = [Recebimento(pedido, recebido_em) for pedido in pedidos]
    if receber(itens):
        despertador_de_lotes.acordar()
    return responder(itens)


def contar_recusa(status: int, codigo: str, detalhe: str) -> None:
    """Conta o que a porta recusou sem chegar aqui (corpo cortado, mudo); sem banco, só o registro o diz."""
    try:
        gravar_lotes([linha_da_recusa(Recusado(status, codigo, detalhe), timezone.now())])
    except (OperationalError, InterfaceError) as erro:
        registro.error("recusa nao contada", extra={"codigo": codigo, "erro": type(erro).__name__})
        return
    despertador_de_lotes.acordar()
