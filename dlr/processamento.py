"""Aplica recepções: lê, deduplica, correlaciona, projeta e abre exceções, tudo numa transação.

Não enfileira nada: devolve os eventos que ficaram soltos, para serem conferidos de novo depois do COMMIT.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlr.amarracao import EventoSolto, atar
from dlr.dominio.recibo import Chamada
from dlr.gravacao import (
    SQL_BUSCAR_EVENTOS,
    SQL_GRAVAR_EVENTOS,
    SQL_GRAVAR_OCORRENCIAS,
    executar,
    ler_recepcoes,
)
from dlr.integracoes import Elenco
from dlr.leitura import DETALHE_CARACTERES, ItemLido, RecepcaoLida, ler_recepcao, limpar
from dlr.materializacao import materializar
from dlr.models import RecepcaoPendente, TipoDeExcecao
from dlr.pendencias import abrir, alvo_da_ocorrencia, alvo_do_evento, pendencia
from ingestao.caixa import Caixa

PESO_POR_VEZ = 2_000  # recibos por transação: ~0,3 s de travas

ChaveDoEvento = tuple[int, str]


def aplicar_recepcoes(linhas: Sequence[tuple[Any, ...]]) -> list[int]:
    """Aplica os pendentes `(id, peso, recepcao_id)`; devolve os ids dos eventos que ficaram soltos."""
    agora = timezone.now()
    recepcoes = [montar_recepcao(linha) for linha in ler_recepcoes([linha[2] for linha in linhas])]
    elenco = Elenco(recepcao.integracao_id for recepcao in recepcoes)
    itens = [item for r in recepcoes for item in ler_recepcao(r, elenco.vista(r.integracao_id))]
    gravados, novos = _gravar_eventos(itens)
    _gravar_ocorrencias(itens, gravados, novos)
    abrir(_pendencias(itens, gravados, novos, agora))
    soltos = [
        EventoSolto(gravados[chave][0], chave[0], item.linha["id_externo"])
        for chave, item in _primeiros(itens).items()
        if gravados[chave][0] in novos and item.linha is not None
    ]
    materializar(atar(soltos, elenco, agora), agora)
    return [evento.id for evento in soltos]


def montar_recepcao(linha: tuple[Any, ...]) -> RecepcaoLida:
    """A linha de `ler_recepcoes` na forma que os leitores usam."""
    id_, integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo = linha
    chamada = Chamada(
        metodo=metodo, url=url, consulta=bytes(consulta), cabecalhos=cabecalhos, corpo=bytes(corpo)
    )
    return RecepcaoLida(id=id_, integracao_id=integracao_id, recebida_em=recebida_em, chamada=chamada)


def _primeiros(itens: Sequence[ItemLido]) -> dict[ChaveDoEvento, ItemLido]:
    """O primeiro item de cada evento lógico, em ordem de recepção."""
    primeiros: dict[ChaveDoEvento, ItemLido] = {}
    for item in itens:
        if item.linha is not None:
            primeiros.setdefault((item.linha["integracao_id"], item.linha["chave"]), item)
    return primeiros


def _gravar_eventos(itens: Sequence[ItemLido]) -> tuple[dict[ChaveDoEvento, tuple[int, str]], set[int]]:
    """Grava os eventos que ainda não existem; devolve (id, conteúdo) de todos e os ids dos novos."""
    primeiros = _primeiros(itens)
    novos = {
        id_
        for (id_,) in executar(
            SQL_GRAVAR_EVENTOS, [i.linha for i in primeiros.values() if i.linha is not None]
        )
    }
    chaves = [{"integracao_id": integracao_id, "chave": chave} for integracao_id, chave in primeiros]
    gravados = {
        (integracao_id, chave): (id_, conteudo)
        for id_, integracao_id, chave, conteudo in executar(SQL_BUSCAR_EVENTOS, chaves)
    }
    return gravados, novos


def _gravar_ocorrencias(
    itens: Sequence[ItemLido], gravados: dict[ChaveDoEvento, tuple[int, str]], novos: set[int]
) -> None:
    """Uma linha por item de recepção: o evento de que fala, e se o repetiu."""
    vistos: set[int] = set()
    linhas: list[dict[str, Any]] = []
    for item in itens:
        evento_id = _evento_do(item, gravados)
        ilegivel = item.ilegivel.detalhe if item.ilegivel else ""
        if evento_id is None and item.ilegivel is None:
            ilegivel = "id de evento reutilizado com outro conteúdo"
        linhas.append(
            {
                "recepcao_id": item.recepcao.id,
                "indice": item.indice,
                "evento_id": evento_id,
                "repeticao": evento_id is not None and (evento_id in vistos or evento_id not in novos),
                "versao_do_leitor": item.versao_do_leitor,
                "ilegivel": limpar(ilegivel)[:DETALHE_CARACTERES],
            }
        )
        if evento_id is not None:
            vistos.add(evento_id)
    executar(SQL_GRAVAR_OCORRENCIAS, linhas)


def _evento_do(item: ItemLido, gravados: dict[ChaveDoEvento, tuple[int, str]]) -> int | None:
    """O evento lógico do item; None se ilegível, ou se o id de evento já é de outro conteúdo."""
    if item.linha is None:
        return None
    evento_id, conteudo = gravados[item.linha["integracao_id"], item.linha["chave"]]
    return evento_id if conteudo == item.linha["conteudo"] else None


def _pendencias(
    itens: Sequence[ItemLido],
    gravados: dict[ChaveDoEvento, tuple[int, str]],
    novos: set[int],
    agora: datetime,
) -> list[dict[str, Any]]:
    """As exceções que a leitura já mostra: ilegível, id reutilizado, estado não mapeado."""
    abertas: list[dict[str, Any]] = []
    for item in itens:
        recepcao_id = item.recepcao.id
        alvo = alvo_da_ocorrencia(recepcao_id, item.indice)
        integracao_id = item.recepcao.integracao_id
        evento_id = _evento_do(item, gravados)
        if item.ilegivel is not None:
            tipo, detalhe = TipoDeExcecao(item.ilegivel.motivo.value), limpar(item.ilegivel.detalhe)
            abertas.append(
                pendencia(tipo, alvo, integracao_id, agora, detalhe=detalhe, recepcao_id=recepcao_id)
            )
        elif evento_id is None:
            tipo, detalhe = (
                TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO,
                f"chave {item.linha and item.linha['chave']}",
            )
            abertas.append(
                pendencia(tipo, alvo, integracao_id, agora, detalhe=detalhe, recepcao_id=recepcao_id)
            )
        elif evento_id in novos and item.linha is not None and item.linha["estado"] is None:
            tipo, detalhe = TipoDeExcecao.ESTADO_NAO_MAPEADO, f"estado {item.linha['estado_bruto']}"
            alvo = alvo_do_evento(evento_id)
            abertas.append(
                pendencia(
                    tipo,
                    alvo,
                    integracao_id,
                    agora,
                    evento_id=evento_id,
                    detalhe=detalhe,
                    recepcao_id=recepcao_id,
                )
            )
    return abertas


CAIXA_DE_RECEPCOES = Caixa(
    modelo=RecepcaoPendente,
    colunas=("recepcao_id",),
    aplicar=aplicar_recepcoes,
    peso_por_vez=PESO_POR_VEZ,
    tarefa="dlr.tasks.processar_recepcoes",
)
