"""Recalcular tudo a partir das recepções, com os leitores e as regras de hoje: prévia, e depois de verdade.

Repetível: aplicar duas vezes seguidas não muda nada na segunda. O que mudou fica em `MudancaDeProjecao`,
com o estado e as versões de antes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from dlr.amarracao import EventoSolto, atar
from dlr.gravacao import SQL_BUSCAR_EVENTOS, SQL_GRAVAR_EVENTOS, executar, ler_recepcoes
from dlr.integracoes import Elenco
from dlr.leitura import ItemLido, ler_recepcao
from dlr.materializacao import materializar
from dlr.models import (
    EventoLogico,
    Mensagem,
    MudancaDeProjecao,
    Ocorrencia,
    Projecao,
    Recepcao,
    TipoDeExcecao,
)
from dlr.pendencias import alvo_da_ocorrencia, alvo_do_evento, fechar
from dlr.processamento import montar_recepcao

RECEPCOES_POR_VEZ = 500
MENSAGENS_POR_VEZ = 1_000
SEM_RECIBO = (None, False, "sem_recibo", 0)
LIDOS = (
    "id_externo estado_bruto estado final codigo_erro origem destino parte apresentada_bruto apresentada_em "
    "concluida_bruto concluida_em"
).split()


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
    recepcoes, mensagens = Recepcao.objects.all(), Mensagem.objects.all()
    if integracao_id is not None:
        recepcoes = recepcoes.filter(integracao_id=integracao_id)
        mensagens = mensagens.filter(integracao_id=integracao_id)
    diferencas: dict[int, Diferenca] = {}
    for passo, consulta, por_vez, fazer in (
        ("recepções", recepcoes, RECEPCOES_POR_VEZ, reler_recepcoes),
        ("mensagens", mensagens, MENSAGENS_POR_VEZ, lambda ids, quando: list(ids)),
    ):
        feito, total = 0, consulta.count()
        for ids in _pedacos(consulta.order_by("pk").values_list("pk", flat=True), por_vez):
            for diferenca in _um_pedaco(ids, fazer, agora, aplicar):
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
) -> list[Diferenca]:
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
    return diferencas


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


def reler_recepcoes(ids: Sequence[int], agora: datetime) -> list[int]:
    """Relê recepções já aplicadas com o leitor de hoje, na transação aberta; devolve as mensagens atingidas.

    O evento de mesma chave é atualizado no lugar; o item que passou a ter outra chave aponta para o evento
    dela; o evento que ficou sem recepção nenhuma deixa a mensagem.
    """
    recepcoes = [montar_recepcao(linha) for linha in ler_recepcoes(ids)]
    elenco = Elenco(recepcao.integracao_id for recepcao in recepcoes)
    itens = [item for r in recepcoes for item in ler_recepcao(r, elenco.vista(r.integracao_id))]
    legiveis = [item for item in itens if item.linha is not None]
    executar(SQL_GRAVAR_EVENTOS, [item.linha for item in _primeiros(legiveis) if item.linha is not None])
    chaves = [
        {"integracao_id": i.linha["integracao_id"], "chave": i.linha["chave"]} for i in legiveis if i.linha
    ]
    gravados = {(linha[1], linha[2]): linha[0] for linha in executar(SQL_BUSCAR_EVENTOS, chaves)}
    atingidas = _reapontar(itens, gravados) | _atualizar(legiveis, gravados)
    soltos = EventoLogico.objects.filter(pk__in=gravados.values(), mensagem__isnull=True)
    reatar = [EventoSolto(*linha) for linha in soltos.values_list("pk", "integracao_id", "id_externo")]
    atingidas |= set(atar(reatar, elenco, agora))
    _fechar_lidos(legiveis, gravados, agora)
    return sorted(atingidas)


def _primeiros(itens: Iterable[ItemLido]) -> list[ItemLido]:
    primeiros: dict[tuple[int, str], ItemLido] = {}
    for item in itens:
        assert item.linha is not None
        primeiros.setdefault((item.linha["integracao_id"], item.linha["chave"]), item)
    return list(primeiros.values())


def _atualizar(itens: Sequence[ItemLido], gravados: dict[tuple[int, str], int]) -> set[int]:
    """Regrava o que o leitor de hoje lê diferente; devolve as mensagens dos eventos mudados."""
    linhas = {gravados[i.linha["integracao_id"], i.linha["chave"]]: i for i in itens if i.linha}
    atingidas: set[int] = set()
    for evento in EventoLogico.objects.filter(pk__in=linhas).order_by("pk"):
        item = linhas[evento.pk]
        assert item.linha is not None
        mudou = [campo for campo in LIDOS if campo != "parte" and getattr(evento, campo) != item.linha[campo]]
        if not mudou and evento.versao_do_leitor == item.versao_do_leitor:
            continue
        for campo in mudou:
            setattr(evento, campo, item.linha[campo])
        evento.versao_do_leitor = item.versao_do_leitor
        evento.save(update_fields=[*mudou, "versao_do_leitor"])
        if evento.mensagem_id is not None:
            atingidas.add(evento.mensagem_id)
    return atingidas


def _reapontar(itens: Sequence[ItemLido], gravados: dict[tuple[int, str], int]) -> set[int]:
    """Cada ocorrência aponta para o evento que o leitor de hoje lê nela; devolve as mensagens que perderam algum."""
    ocorrencias = {
        (o.recepcao_id, o.indice): o
        for o in Ocorrencia.objects.filter(recepcao__in={i.recepcao.id for i in itens}).order_by("pk")
    }
    atingidas: set[int] = set()
    for item in itens:
        ocorrencia = ocorrencias.get((item.recepcao.id, item.indice))
        novo = gravados[item.linha["integracao_id"], item.linha["chave"]] if item.linha else None
        if ocorrencia is None:
            ocorrencia = Ocorrencia(recepcao_id=item.recepcao.id, indice=item.indice, versao_do_leitor=0)
        elif ocorrencia.evento_id == novo:
            continue
        if novo is None and ocorrencia.evento_id is not None:
            continue  # o leitor de hoje não lê o que o de ontem leu: a evidência já aceita fica
        if ocorrencia.evento_id is not None:
            atingidas |= _soltar(ocorrencia.evento_id)
        ocorrencia.evento_id = novo
        ocorrencia.ilegivel = item.ilegivel.detalhe[:500] if item.ilegivel else ""
        ocorrencia.versao_do_leitor = item.versao_do_leitor
        ocorrencia.save()
        if novo is not None:
            EventoLogico.objects.filter(pk=novo).update(qtd_recepcoes=F("qtd_recepcoes") + 1)
    return atingidas


def _soltar(evento_id: int) -> set[int]:
    """Tira uma recepção do evento; sem nenhuma, ele deixa a mensagem (que é devolvida)."""
    EventoLogico.objects.filter(pk=evento_id).update(qtd_recepcoes=F("qtd_recepcoes") - 1)
    vazio = EventoLogico.objects.filter(pk=evento_id, qtd_recepcoes=0, mensagem__isnull=False)
    mensagens = set(vazio.values_list("mensagem_id", flat=True))
    vazio.update(mensagem=None, correlacao="sem_id", papel=None)
    return {mensagem for mensagem in mensagens if mensagem is not None}


def _fechar_lidos(itens: Sequence[ItemLido], gravados: dict[tuple[int, str], int], agora: datetime) -> None:
    """Fecha as exceções de leitura que o leitor de hoje desmente."""
    alvos: list[tuple[TipoDeExcecao, str]] = []
    for item in itens:
        assert item.linha is not None
        alvo = alvo_da_ocorrencia(item.recepcao.id, item.indice)
        alvos += [(TipoDeExcecao.FORMATO_NAO_RECONHECIDO, alvo), (TipoDeExcecao.RECIBO_PARCIAL, alvo)]
        if item.linha["estado"] is not None:
            evento_id = gravados[item.linha["integracao_id"], item.linha["chave"]]
            alvos.append((TipoDeExcecao.ESTADO_NAO_MAPEADO, alvo_do_evento(evento_id)))
    fechar(alvos, agora, "o leitor de hoje lê este recibo")


def _pedacos(ids: Iterable[int], por_vez: int) -> Iterator[list[int]]:
    pedaco: list[int] = []
    for id_ in ids:
        pedaco.append(id_)
        if len(pedaco) == por_vez:
            yield pedaco
            pedaco = []
    if pedaco:
        yield pedaco
