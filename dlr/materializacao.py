"""Recalcular e guardar o estado de mensagens, e abrir ou fechar o que ele implica."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.projecao import Decisao, EventoDaMensagem, Motivo, Projecao, Regras, projetar
from dlr.gravacao import (
    SQL_EVENTOS_DAS_MENSAGENS,
    SQL_GRAVAR_PAPEIS,
    SQL_GRAVAR_PROJECOES,
    SQL_TRAVAR_MENSAGENS,
    consultar_por_ids,
    executar,
)
from dlr.integracoes import Elenco
from dlr.models import DecisaoDeFinal, IdentificadorExterno, TipoDeExcecao
from dlr.pendencias import abrir, alvo_da_mensagem, fechar, pendencia


def materializar(ids: Collection[int], agora: datetime) -> list[int]:
    """Recalcula as mensagens, na transação aberta; devolve as que mudaram.

    Trava as mensagens antes de ler os eventos: dois workers com eventos da mesma mensagem se sucedem, e o
    segundo vê o que o primeiro atou.
    """
    travadas = consultar_por_ids(SQL_TRAVAR_MENSAGENS, list(ids))
    if not travadas:
        return []
    elenco = Elenco(integracao_id for _, integracao_id, _ in travadas)
    por_mensagem, papeis_antigos = _eventos_de(ids)
    projecoes = calcular({id_: elenco.regras(i) for id_, i, _ in travadas}, por_mensagem)
    mudaram = executar(SQL_GRAVAR_PROJECOES, [_linha(id_, p, agora) for id_, p in projecoes.items()])
    _gravar_papeis(projecoes, papeis_antigos)
    _rever_pendencias(travadas, projecoes, agora)
    return [id_ for (id_,) in mudaram]


def calcular(
    regras: dict[int, Regras], por_mensagem: dict[int, list[EventoDaMensagem]]
) -> dict[int, Projecao]:
    """As projeções das mensagens de `regras`, sem gravar nada (a prévia usa isto com outras regras)."""
    partes: dict[int, set[int | None]] = defaultdict(set)
    for mensagem_id, parte in IdentificadorExterno.objects.filter(mensagem__in=regras).values_list(
        "mensagem_id", "parte"
    ):
        partes[mensagem_id].add(parte)
    decisoes: dict[int, list[Decisao]] = defaultdict(list)
    for mensagem_id, parte, estado in (
        DecisaoDeFinal.objects.filter(mensagem__in=regras)
        .order_by("id")
        .values_list("mensagem_id", "parte", "estado")
    ):
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


def _eventos_de(
    ids: Collection[int],
) -> tuple[dict[int, list[EventoDaMensagem]], dict[int, str | None]]:
    por_mensagem: dict[int, list[EventoDaMensagem]] = defaultdict(list)
    papeis: dict[int, str | None] = {}
    for mensagem_id, id_, estado, final, parte, papel in consultar_por_ids(
        SQL_EVENTOS_DAS_MENSAGENS, list(ids)
    ):
        evento = EventoDaMensagem(
            id=id_, estado=None if estado is None else Estado(estado), final=final, parte=parte
        )
        por_mensagem[mensagem_id].append(evento)
        papeis[id_] = papel
    return por_mensagem, papeis


def eventos_de(ids: Collection[int]) -> dict[int, list[EventoDaMensagem]]:
    """Os eventos lógicos de cada mensagem, em ordem de recepção."""
    return _eventos_de(ids)[0]


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


def _gravar_papeis(projecoes: dict[int, Projecao], antigos: dict[int, str | None]) -> None:
    linhas = [
        {"id": id_, "papel": papel}
        for projecao in projecoes.values()
        for id_, papel in projecao.papeis
        if antigos.get(id_) != papel  # type: ignore[call-overload]
    ]
    executar(SQL_GRAVAR_PAPEIS, linhas)


def _rever_pendencias(
    travadas: list[tuple[Any, ...]], projecoes: dict[int, Projecao], agora: datetime
) -> None:
    """Abre o que a projeção mostra e fecha o que ela desmentiu."""
    por_abrir: list[dict[str, Any]] = []
    por_fechar: list[tuple[TipoDeExcecao, str, str]] = []
    for mensagem_id, integracao_id, aceita in travadas:
        projecao, alvo = projecoes[mensagem_id], alvo_da_mensagem(mensagem_id)
        decidida = projecao.motivo == Motivo.DECISAO
        sumiu = "uma pessoa escolheu o final que vale" if decidida else "a causa deixou de existir"
        causas = {
            TipoDeExcecao.CONFLITO_FINAL: projecao.conflito,
            TipoDeExcecao.PARTES_DIVERGENTES: projecao.divergente,
            TipoDeExcecao.MENSAGEM_NAO_ACEITA: aceita is False and bool(projecao.papeis),
        }
        for tipo, presente in causas.items():
            if presente:
                por_abrir.append(pendencia(tipo, alvo, integracao_id, agora, mensagem_id=mensagem_id))
            else:
                por_fechar.append((tipo, alvo, sumiu))
        if projecao.final:
            por_fechar.append((TipoDeExcecao.FINAL_AUSENTE, alvo, "o final chegou"))
    abrir(por_abrir)
    fechar(por_fechar, agora)
