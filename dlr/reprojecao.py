"""Recalcular tudo a partir das recepções, com os leitores e as regras de hoje: prévia, e depois de verdade.

Repetível: aplicar duas vezes seguidas não muda nada na segunda. O que mudou fica em `MudancaDeProjecao`,
com o estado e as versões de antes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from dlr.materializacao import materializar
from dlr.models import Mensagem, MudancaDeProjecao, Ocorrencia, Projecao, Recepcao, RecepcaoPendente
from dlr.releitura import reler_recepcoes

RECEPCOES_POR_VEZ = 500
MENSAGENS_POR_VEZ = 1_000
SEM_RECIBO = (None, False, "sem_recibo", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diferenca:
    """Uma mensagem cuja projeção muda: (estado, final, motivo) antes e depois."""

    mensagem_id: int
    antes: tuple[str | None, bool, str]
    depois: tuple[str | None, bool, str]


class _Desfazer(Exception):
    """Encerra a prévia sem gravar."""


def reprojetar(
    integracao_id: int | None,
    agora: datetime,
    *,
    aplicar: bool,
    progresso: Callable[[str, int, int], None] = lambda passo, feito, total: None,
) -> list[Diferenca]:
    """Relê as recepções e recalcula as mensagens; devolve as que mudam. Sem `aplicar`, nada fica gravado.

    Em pedaços de uma transação cada: a ingestão segue, e uma queda no meio só deixa o resto por fazer.
    """
    # As que ainda estão na caixa são do worker, que as lerá com o leitor de hoje.
    recepcoes = Recepcao.objects.exclude(pk__in=RecepcaoPendente.objects.values("recepcao_id"))
    mensagens = Mensagem.objects.all()
    if integracao_id is not None:
        recepcoes = recepcoes.filter(integracao_id=integracao_id)
        mensagens = mensagens.filter(integracao_id=integracao_id)
    diferencas: dict[int, Diferenca] = {}
    relidas: set[int] = set()
    for passo, consulta, por_vez, fazer in (
        ("recepções", recepcoes, RECEPCOES_POR_VEZ, reler_recepcoes if aplicar else _reler_com_vizinhas),
        ("mensagens", mensagens, MENSAGENS_POR_VEZ, lambda ids, quando: list(ids)),
    ):
        desfeitas = frozenset(relidas)  # na prévia, a releitura destas já não está no banco
        feito, total = 0, consulta.count()
        for ids in _pedacos(consulta.order_by("pk").values_list("pk", flat=True), por_vez):
            alvo, mudancas = _um_pedaco(ids, fazer, agora, aplicar)
            if not aplicar and fazer is _reler_com_vizinhas:
                relidas.update(alvo)
            for diferenca in mudancas:
                if diferenca.mensagem_id in desfeitas:
                    continue
                anterior = diferencas.get(diferenca.mensagem_id)
                antes = anterior.antes if anterior else diferenca.antes
                diferencas[diferenca.mensagem_id] = Diferenca(
                    mensagem_id=diferenca.mensagem_id, antes=antes, depois=diferenca.depois
                )
            feito += len(ids)
            progresso(passo, feito, total)
    return [d for d in diferencas.values() if d.antes != d.depois]


def _um_pedaco(
    ids: Sequence[int],
    fazer: Callable[[Sequence[int], datetime], list[int]],
    agora: datetime,
    aplicar: bool,
) -> tuple[list[int], list[Diferenca]]:
    alvo: list[int] = []
    diferencas: list[Diferenca] = []
    try:
        with transaction.atomic():
            alvo = fazer(ids, agora)
            antes = _fotografar(alvo)
            materializar(alvo, agora)
            depois = _fotografar(alvo)
            diferencas = [
                Diferenca(mensagem_id=id_, antes=antes.get(id_, SEM_RECIBO)[:3], depois=depois[id_][:3])
                for id_ in sorted(depois)
                if antes.get(id_, SEM_RECIBO)[:3] != depois[id_][:3]
            ]
            if not aplicar:
                raise _Desfazer
            _guardar_mudancas(diferencas, antes, depois, agora)
    except _Desfazer:
        pass
    return alvo, diferencas


def _fotografar(ids: Iterable[int]) -> dict[int, tuple[Any, ...]]:
    """(estado, final, motivo, versão das regras) de cada mensagem."""
    return {
        linha[0]: linha[1:]
        for linha in Projecao.objects.filter(mensagem__in=list(ids)).values_list(
            "mensagem_id", "estado", "final", "motivo", "versao_das_regras"
        )
    }


def _guardar_mudancas(
    diferencas: Sequence[Diferenca],
    antes: dict[int, tuple[Any, ...]],
    depois: dict[int, tuple[Any, ...]],
    agora: datetime,
) -> None:
    MudancaDeProjecao.objects.bulk_create(
        MudancaDeProjecao(
            mensagem_id=d.mensagem_id,
            de_estado=d.antes[0],
            de_final=d.antes[1],
            de_motivo=d.antes[2],
            de_regras=antes.get(d.mensagem_id, SEM_RECIBO)[3],
            para_estado=d.depois[0],
            para_final=d.depois[1],
            para_motivo=d.depois[2],
            para_regras=depois[d.mensagem_id][3],
            mudou_em=agora,
        )
        for d in diferencas
    )


def _reler_com_vizinhas(ids: Sequence[int], agora: datetime) -> list[int]:
    """Relê também tudo o mais que fala das mensagens atingidas.

    Na prévia cada pedaço é desfeito: sem as vizinhas, uma mensagem com recepções em dois pedaços nunca
    seria vista inteira com o leitor de hoje.
    """
    atingidas = reler_recepcoes(ids, agora)
    vizinhas = Ocorrencia.objects.filter(evento__mensagem__in=atingidas).exclude(recepcao__in=ids)
    outras = sorted(set(vizinhas.values_list("recepcao_id", flat=True)))
    return sorted({*atingidas, *reler_recepcoes(outras, agora)})


def _pedacos(ids: Iterable[int], por_vez: int) -> Iterator[list[int]]:
    pedaco: list[int] = []
    for id_ in ids:
        pedaco.append(id_)
        if len(pedaco) == por_vez:
            yield pedaco
            pedaco = []
    if pedaco:
        yield pedaco
