"""Aplica recepções: lê, deduplica, correlaciona, projeta e abre exceções, tudo numa transação.

Não enfileira nada: devolve os eventos que ficaram soltos, para serem conferidos de novo depois do COMMIT.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlr.contagem import somar_recepcoes
from dlr.dominio.recibo import Chamada
from dlr.gravacao import (
    SQL_DESMENTIR_PRIMEIRAS,
    SQL_GRAVAR_OCORRENCIAS,
    consultar_por_ids,
    executar,
    ler_recepcoes,
)
from dlr.integracoes import Elenco
from dlr.leitura import DETALHE_CARACTERES, ItemLido, RecepcaoLida, ler_recepcao, limpar
from dlr.materializacao import gravar
from dlr.models import RecepcaoPendente, TipoDeExcecao
from dlr.nascimento import EventoGravado, Gravados, Nascimento, evento_do, nascer
from dlr.pendencias import abrir, alvo_da_ocorrencia, alvo_da_reutilizacao, alvo_do_evento, pendencia
from ingestao.caixa import Caixa

PESO_POR_VEZ = 2_000  # recibos por transação: ~0,3 s de travas

REUTILIZADO = "id de evento reutilizado com outro conteúdo"


def aplicar_recepcoes(linhas: Sequence[tuple[Any, ...]]) -> list[int]:
    """Aplica os pendentes `(id, peso, recepcao_id)`; devolve os ids dos eventos que ficaram soltos."""
    agora = timezone.now()
    recepcoes = [montar_recepcao(linha) for linha in ler_recepcoes([linha[2] for linha in linhas])]
    elenco = Elenco(recepcao.integracao_id for recepcao in recepcoes)
    itens = [item for r in recepcoes for item in ler_recepcao(r, elenco.vista(r.integracao_id))]
    nascimento = nascer(itens, elenco, agora)
    _gravar_ocorrencias(itens, nascimento)
    gravar(nascimento.recalculo, agora)
    abrir(_pendencias(itens, nascimento.gravados, nascimento.novos, agora))
    somar_recepcoes((recepcao.integracao_id, recepcao.recebida_em) for recepcao in recepcoes)
    return nascimento.soltos


def montar_recepcao(linha: tuple[Any, ...]) -> RecepcaoLida:
    """A linha de `ler_recepcoes` na forma que os leitores usam."""
    id_, integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo = linha
    chamada = Chamada(
        metodo=metodo, url=url, consulta=bytes(consulta), cabecalhos=cabecalhos, corpo=bytes(corpo)
    )
    return RecepcaoLida(id=id_, integracao_id=integracao_id, recebida_em=recebida_em, chamada=chamada)


def _gravar_ocorrencias(itens: Sequence[ItemLido], nascimento: Nascimento) -> None:
    """Uma linha por item de recepção: o evento de que fala, e se o repetiu."""
    primeira_aqui = nascimento.novos | nascimento.antecipados
    consultar_por_ids(SQL_DESMENTIR_PRIMEIRAS, list(nascimento.antecipados))
    vistos: set[int] = set()
    linhas: list[dict[str, Any]] = []
    for item in itens:
        evento_id = evento_do(item, nascimento.gravados)
        ilegivel = item.ilegivel.detalhe if item.ilegivel else ""
        if evento_id is None and item.ilegivel is None:
            ilegivel = REUTILIZADO
        linhas.append(
            {
                "recepcao_id": item.recepcao.id,
                "indice": item.indice,
                "evento_id": evento_id,
                "repeticao": evento_id is not None
                and (evento_id in vistos or evento_id not in primeira_aqui),
                "versao_do_leitor": item.versao_do_leitor,
                "ilegivel": limpar(ilegivel)[:DETALHE_CARACTERES],
            }
        )
        if evento_id is not None:
            vistos.add(evento_id)
    contas = Counter(linha["evento_id"] for linha in linhas if linha["evento_id"] in nascimento.novos)
    contadas = [{"evento_id": id_, "quantas": quantas} for id_, quantas in contas.items()]
    executar(SQL_GRAVAR_OCORRENCIAS, linhas, contadas=contadas)


def _pendencias(
    itens: Sequence[ItemLido], gravados: Gravados, novos: set[int], agora: datetime
) -> list[dict[str, Any]]:
    """As exceções que a leitura já mostra: ilegível, id reutilizado, estado não mapeado."""
    abertas: list[dict[str, Any]] = []
    for item in itens:
        if item.ilegivel is not None:
            abertas.append(pendencia_ilegivel(item, agora))
            continue
        assert item.linha is not None
        gravado = gravados[item.linha["integracao_id"], item.linha["chave"]]
        if gravado.conteudo != item.linha["conteudo"]:
            abertas.append(pendencia_reutilizado(item, gravado, agora))
        elif gravado.id in novos and item.linha["estado"] is None:
            abertas.append(pendencia_nao_mapeado(item, gravado.id, agora))
    return abertas


def pendencia_ilegivel(item: ItemLido, agora: datetime) -> dict[str, Any]:
    """O item que não se leu."""
    assert item.ilegivel is not None
    return pendencia(
        TipoDeExcecao(item.ilegivel.motivo.value),
        alvo_da_ocorrencia(item.recepcao.id, item.indice),
        item.recepcao.integracao_id,
        agora,
        detalhe=limpar(item.ilegivel.detalhe),
        recepcao_id=item.recepcao.id,
    )


def pendencia_reutilizado(item: ItemLido, gravado: EventoGravado, agora: datetime) -> dict[str, Any]:
    """O id de evento que já era de outro conteúdo. Uma por conteúdo: reenviá-lo igual não abre outra."""
    assert item.linha is not None
    return pendencia(
        TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO,
        alvo_da_reutilizacao(gravado.id, item.linha["conteudo"]),
        item.recepcao.integracao_id,
        agora,
        evento_id=gravado.id,
        detalhe=f"{item.linha['chave']} já contou outra coisa; agora diz {item.linha['estado_bruto']} "
        f"de {item.linha['id_externo']}",
        recepcao_id=item.recepcao.id,
    )


def pendencia_nao_mapeado(item: ItemLido, evento_id: int, agora: datetime) -> dict[str, Any]:
    """O estado que não está na tabela do formato."""
    assert item.linha is not None
    return pendencia(
        TipoDeExcecao.ESTADO_NAO_MAPEADO,
        alvo_do_evento(evento_id),
        item.recepcao.integracao_id,
        agora,
        evento_id=evento_id,
        detalhe=f"estado {item.linha['estado_bruto']}",
        recepcao_id=item.recepcao.id,
    )


CAIXA_DE_RECEPCOES = Caixa(
    modelo=RecepcaoPendente,
    colunas=("recepcao_id",),
    aplicar=aplicar_recepcoes,
    peso_por_vez=PESO_POR_VEZ,
    tarefa="dlr.tasks.processar_recepcoes",
)
