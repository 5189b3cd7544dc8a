"""Um POST de evento, da chegada à resposta: conferir, gravar, acordar, responder.

A porta chama `atender` sem passar pelas camadas do Django (docs/decisoes/0008); a view do DRF chama a mesma
função, para os testes, a documentação e quem servir por WSGI.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from config.banco.falhas import e_do_banco
from config.erros import ErroDaApi, sem_armazenamento
from ingestao.caixa import PortaFechada
from ingestao.eventos.recepcao import Recusado, receber, recusar
from ingestao.tasks import despertador_de_lotes

registro = logging.getLogger("lastro.eventos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """O que sai: status HTTP, JSON em bytes e, se for o caso, `Retry-After` em segundos."""

    status: int
    corpo: bytes
    espera_s: int | None = None


def atender(corpo: bytes, cabecalhos: Mapping[str, Any]) -> Resposta:
    """Devolve 202 só depois do COMMIT do lote; toda recusa também é gravada antes de responder.

    `cabecalhos` na forma WSGI (`HTTP_ORIGIN`…). Não levanta por causa do remetente nem do banco: o que deu
    errado é a resposta.
    """
    recebido_em = timezone.now()
    try:
        try:
            recibo = receber(corpo, cabecalhos, recebido_em)
        except Recusado as recusa:
            recusar(recusa, recebido_em)
            despertador_de_lotes.acordar()
            return _erro(ErroDaApi(recusa.status, recusa.codigo, recusa.detalhe, espera_s=recusa.espera_s))
    except PortaFechada as fechada:
        return _erro(
            ErroDaApi(503, "fila_cheia", "A fila está cheia; reenvie depois.", espera_s=fechada.espera_s)
        )
    except (OperationalError, InterfaceError) as erro:
        if not e_do_banco(erro):
            raise
        # Sem o traço: com o banco fora, ele se repetiria a cada requisição até encher o disco.
        registro.error("banco indisponivel", extra={"erro": str(erro).partition("\n")[0]})
        return _erro(sem_armazenamento())
    if recibo.gravou:
        despertador_de_lotes.acordar()
    return Resposta(status=202, corpo=orjson.dumps(recibo.resposta))


def contar_recusa(status: int, codigo: str, detalhe: str) -> None:
    """Conta o que a porta recusou sem chegar aqui (corpo cortado, mudo); sem banco, só o registro o diz."""
    try:
        recusar(Recusado(status, codigo, detalhe), timezone.now())
    except (OperationalError, InterfaceError) as erro:
        registro.error("recusa nao contada", extra={"codigo": codigo, "erro": type(erro).__name__})
        return
    despertador_de_lotes.acordar()


def _erro(erro: ErroDaApi) -> Resposta:
    return Resposta(
        status=erro.status_code,
        corpo=orjson.dumps({"detail": str(erro.detail), "codigo": erro.codigo}),
        espera_s=erro.espera_s,
    )
