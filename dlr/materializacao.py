"""Recalcular e guardar o estado de mensagens, e abrir ou fechar o que ele implica."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from dlr.dominio.estados import Estado
from dlr.dominio.projecao import Decisao, EventoDaMensagem, Motivo, Projecao, Regras, projetar
from dlr.gravacao import (
    SQL_DECISOES_DAS_MENSAGENS,
    SQL_EVENTOS_DAS_MENSAGENS,
    SQL_GRAVAR_PAPEIS,
    SQL_GRAVAR_PROJECOES,
    SQL_PARTES_DAS_MENSAGENS,
    SQL_TRAVAR_MENSAGENS,
    consultar_por_ids,
    executar,
)
from dlr.integracoes import Elenco
from dlr.models import TipoDeExcecao
from dlr.pendencias import abrir, alvo_da_mensagem, buscar_abertas, fechar, pendencia


class Travada(NamedTuple):
    """Uma mensagem travada nesta transação: ninguém mais ata nem projeta nela até o COMMIT."""

    id: int
    integracao_id: int
    aceita: bool | None


class EventoNaOrdem(NamedTuple):
    """Um evento da mensagem, onde ele está na ordem de recepção e o papel que o banco guarda dele."""

    recepcao_id: int
    indice: int
    evento: EventoDaMensagem
    papel: str | None


EventosPorMensagem = dict[int, list[EventoNaOrdem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalculo:
    """As projeções recalculadas e ainda não gravadas, e o papel que o banco guarda de cada evento."""

    travadas: Sequence[Travada]
    projecoes: dict[int, Projecao]
    papeis_gravados: dict[Hashable, str | None]

    @property
    def papeis(self) -> dict[Hashable, str]:
        """O papel de cada evento destas mensagens."""
        return {id_: papel for projecao in self.projecoes.values() for id_, papel in projecao.papeis}


def materializar(ids: Collection[int], agora: datetime) -> list[int]:
    """Recalcula as mensagens, na transação aberta; devolve as que mudaram."""
    return gravar(recalcular(travar(ids)), agora)


def travar(ids: Collection[int]) -> list[Travada]:
    """Trava as mensagens, em ordem. Antes de ler os eventos: dois workers com eventos da mesma mensagem se
    sucedem, e o segundo vê o que o primeiro atou.
    """
    return [Travada(*linha) for linha in consultar_por_ids(SQL_TRAVAR_MENSAGENS, list(ids))]


def recalcular(travadas: Sequence[Travada], por_nascer: EventosPorMensagem | None = None) -> Recalculo:
    """Projeta as mensagens travadas com os eventos do banco e os `por_nascer`, que ainda não estão nele."""
    elenco = Elenco(travada.integracao_id for travada in travadas)
    por_mensagem = _eventos_na_ordem([travada.id for travada in travadas])
    papeis_gravados = {e.evento.id: e.papel for eventos in por_mensagem.values() for e in eventos}
    for mensagem_id, novos in (por_nascer or {}).items():
        por_mensagem[mensagem_id].extend(novos)
        por_mensagem[mensagem_id].sort(key=itemgetter(0, 1))
    projecoes = _projetar_todas(
        {travada.id: elenco.regras(travada.integracao_id) for travada in travadas},
        {id_: [e.evento for e in eventos] for id_, eventos in por_mensagem.items()},
    )
    return Recalculo(travadas=travadas, projecoes=projecoes, papeis_gravados=papeis_gravados)


def gravar(recalculo: Recalculo, agora: datetime) -> list[int]:
    """Guarda as projeções, os papéis que mudaram e as exceções que elas implicam; devolve as mensagens mudadas.

    Os papéis dos que estavam por nascer já foram gravados com eles.
    """
    projecoes = recalculo.projecoes
    mudaram = executar(SQL_GRAVAR_PROJECOES, [_linha(id_, p, agora) for id_, p in projecoes.items()])
    gravados = recalculo.papeis_gravados
    executar(
        SQL_GRAVAR_PAPEIS,
        [
            {"id": id_, "papel": papel}
            for id_, papel in recalculo.papeis.items()
            if id_ in gravados and gravados[id_] != papel
        ],
    )
    _rever_pendencias(recalculo, agora)
    return [id_ for (id_,) in mudaram]


def _projetar_todas(
    regras: dict[int, Regras], por_mensagem: dict[int, list[EventoDaMensagem]]
) -> dict[int, Projecao]:
    ids = list(regras)
    partes: dict[int, set[int | None]] = defaultdict(set)
    for mensagem_id, parte in consultar_por_ids(SQL_PARTES_DAS_MENSAGENS, ids):
        partes[mensagem_id].add(parte)
    decisoes: dict[int, list[Decisao]] = defaultdict(list)
    for mensagem_id, parte, estado in consultar_por_ids(SQL_DECISOES_DAS_MENSAGENS, ids):
        decisoes[mensagem_id].append(Decisao(parte=parte, estado=Estado(estado)))
    return {
        id_: projetar(
            por_mensagem.get(id_, []),
            regra,
            partes=sorted(partes[id_], key=lambda parte: (parte is not None, parte)) or (None,),
            decisoes=decisoes[id_],
        )
        for id_, regra in regras.items()
    }


def eventos_de(ids: Collection[int]) -> dict[int, list[EventoDaMensagem]]:
    """Os eventos lógicos de cada mensagem, em ordem de recepção."""
    return {id_: [e.evento for e in eventos] for id_, eventos in _eventos_na_ordem(ids).items()}


def _eventos_na_ordem(ids: Collection[int]) -> EventosPorMensagem:
    por_mensagem: EventosPorMensagem = defaultdict(list)
    for mensagem_id, id_, recepcao_id, indice, estado, final, parte, papel in consultar_por_ids(
        SQL_EVENTOS_DAS_MENSAGENS, list(ids)
    ):
        evento = EventoDaMensagem(
            id=id_, estado=None if estado is None else Estado(estado), final=final, parte=parte
        )
        por_mensagem[mensagem_id].append(EventoNaOrdem(recepcao_id, indice, evento, papel))
    return por_mensagem


def _linha(mensagem_id: int, projecao: Projecao, agora: datetime) -> dict[str, Any]:
    return {
        "mensagem_id": mensagem_id,
        "estado": projecao.estado,
        "final": projecao.final,
        "motivo": projecao.motivo,
        "sustentam": list(projecao.sustentam),
        "conflito": projecao.conflito,
        "divergente": projecao.divergente,
        "versao_das_regras": projecao.versao_das_regras,
        "atualizada_em": agora,
    }


def _rever_pendencias(recalculo: Recalculo, agora: datetime) -> None:
    """Abre o que a projeção mostra e fecha o que ela desmentiu."""
    por_abrir: list[dict[str, Any]] = []
    por_fechar: list[tuple[TipoDeExcecao, str, str]] = []
    abertas = buscar_abertas([travada.id for travada in recalculo.travadas])
    for mensagem_id, integracao_id, aceita in recalculo.travadas:
        projecao, alvo = recalculo.projecoes[mensagem_id], alvo_da_mensagem(mensagem_id)
        decidida = projecao.motivo == Motivo.DECISAO
        sumiu = "uma pessoa escolheu o final que vale" if decidida else "a causa deixou de existir"
        causas = {
            TipoDeExcecao.CONFLITO_FINAL: projecao.conflito,
            TipoDeExcecao.PARTES_DIVERGENTES: projecao.divergente,
            TipoDeExcecao.MENSAGEM_NAO_ACEITA: aceita is False and bool(projecao.papeis),
        }
        por_abrir += [
            pendencia(tipo, alvo, integracao_id, agora, mensagem_id=mensagem_id)
            for tipo, presente in causas.items()
            if presente
        ]
        for tipo in abertas.get(alvo, ()):
            if tipo == TipoDeExcecao.FINAL_AUSENTE and projecao.final:
                por_fechar.append((tipo, alvo, "o final chegou"))
            elif causas.get(tipo) is False:
                por_fechar.append((tipo, alvo, sumiu))
    abrir(por_abrir)
    fechar(por_fechar, agora)
