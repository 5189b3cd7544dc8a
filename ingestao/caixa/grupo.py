"""Gravar num COMMIT só o que chegou junto, sem que um estrague os outros.

Cada pedido do grupo é um `ItemDoGrupo`, que anda por etapas. O que dá errado com um fica nele (`falha`) e os
vizinhos seguem; só o banco fora do ar falha com todos. O que se responde a cada falha é decidido aqui, igual
para os lotes dos sites e para os callbacks das transportadoras.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from django.db import DatabaseError

from config.banco.falhas import descrever, e_do_banco, onde
from config.chegada import DEFEITO, Pedido, Resposta, responder_erro
from config.erros import sem_armazenamento
from ingestao.caixa.medida import PortaFechada

registro = logging.getLogger("lastro.caixa")

Linha = TypeVar("Linha")


class Desistencia(Exception):
    """O remetente já ouviu um 503 por prazo, ou se foi, antes de o seu item ser gravado."""


class ItemDoGrupo(Generic[Linha]):
    """Um pedido a caminho do COMMIT.

    `linha` é o que gravar (None: nada); `resposta` é o que dizer se der certo; `falha`, o que deu errado.
    """

    __slots__ = ("falha", "linha", "pedido", "resposta")

    def __init__(self, pedido: Pedido) -> None:
        self.pedido = pedido
        self.linha: Linha | None = None
        self.resposta: Resposta | None = None
        self.falha: Exception | None = None


Item = TypeVar("Item", bound=ItemDoGrupo[Any])


def em_cada(itens: Iterable[Item], etapa: Callable[[Item], None]) -> None:
    """Roda a etapa em cada item que ainda não falhou; o que ela levantar fica no item."""
    for item in itens:
        if item.falha is None:
            try:
                etapa(item)
            except Exception as erro:  # noqa: BLE001 - respondido e registrado por `responder`
                item.falha = erro


def gravar_juntos(itens: Sequence[Item], gravar: Callable[[list[Any]], None]) -> int:
    """Grava as linhas num COMMIT só e devolve quantas ficaram gravadas.

    `gravar` recebe as linhas, em ordem de chegada, e só volta depois do COMMIT. Se o banco recusa o conjunto,
    as metades são tentadas à parte, até restar sozinha a linha que ele não aceita. Quem já desistiu de esperar
    não é gravado: ouviu que nada foi guardado.
    """
    prontos = []
    for item in itens:
        if item.falha is None and item.linha is not None:
            if item.pedido.desistiu:
                item.falha = Desistencia()
            else:
                prontos.append(item)
    if not prontos:
        return 0
    try:
        gravar([item.linha for item in prontos])
    except Exception as erro:  # noqa: BLE001 - respondido e registrado por `responder`
        if not e_do_banco(erro) and len(prontos) > 1:
            meio = len(prontos) // 2
            return gravar_juntos(prontos[:meio], gravar) + gravar_juntos(prontos[meio:], gravar)
        for item in prontos:
            item.falha = erro
        return 0
    return len(prontos)


def responder(itens: Sequence[ItemDoGrupo[Any]]) -> list[Resposta]:
    """O que cada um ouve. As falhas são registradas: a do banco uma vez por grupo, os defeitos com o traço."""
    do_banco = [item.falha for item in itens if item.falha is not None and e_do_banco(item.falha)]
    if do_banco:
        # Sem o traço: com o banco fora, ele se repetiria a cada grupo até encher o disco.
        registro.error("banco indisponivel", extra={"erro": str(do_banco[0]).partition("\n")[0]})
    return [_responder(item) for item in itens]


def _responder(item: ItemDoGrupo[Any]) -> Resposta:
    falha = item.falha
    if falha is None:
        assert item.resposta is not None
        return item.resposta
    if isinstance(falha, PortaFechada):
        return responder_erro(503, "fila_cheia", "A fila está cheia; reenvie depois.", falha.espera_s)
    if isinstance(falha, Desistencia) or e_do_banco(falha):
        erro = sem_armazenamento()
        return responder_erro(erro.status_code, erro.codigo, str(erro.detail), erro.espera_s)
    if isinstance(falha, DatabaseError):  # o traço dela traz a linha inteira, com o que foi recebido
        registro.error("defeito ao receber", extra={"erro": descrever(falha), "onde": onde(falha)})
    else:
        registro.error("defeito ao receber", exc_info=falha)
    return DEFEITO
