"""Atar eventos lógicos às mensagens de que falam: ao chegarem, quando a mensagem aparece, e por prazo.

Quem registra a mensagem e quem recebe o recibo podem fazê-lo no mesmo instante, sem um ver o outro. Por
isso os dois conferem de novo depois do próprio COMMIT: o que comitou por último vê o outro. A varredura
cobre uma queda entre o COMMIT e a conferência.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, cast

from django.db import transaction
from django.db.models import Exists, OuterRef

from dlr.dominio.correlacao import Candidata, Correlacao, OpcoesDeId, Resultado, correlacionar, formas
from dlr.gravacao import (
    SQL_ATAR_EVENTOS,
    SQL_BUSCAR_POR_FORMA,
    SQL_BUSCAR_POR_VALOR,
    SQL_TRAVAR_MENSAGENS,
    consultar_por_ids,
    executar,
)
from dlr.integracoes import Elenco
from dlr.materializacao import materializar
from dlr.models import EventoLogico, IdentificadorExterno, TipoDeExcecao
from dlr.models.evento import ESPERANDO
from dlr.pendencias import abrir, alvo_do_evento, fechar, pendencia

EVENTOS_POR_VEZ = 1_000
ATADO = "a mensagem apareceu e o recibo foi atado a ela"
DESEMPATADO = "a ambiguidade deixou de existir"
AMBIGUO = "apareceu mais de uma mensagem com este id: ver a correlação ambígua"
SOLTOS = (ESPERANDO, Resultado.NENHUMA.value)  # os ambíguos esperam uma pessoa


Par = tuple[int, str | None]  # integração e id externo: tudo de que a correlação depende
Achadas = dict[Par, list[tuple[int, str, int | None]]]  # (mensagem, valor registrado, parte)


class EventoSolto(NamedTuple):
    """Um evento lógico ainda sem mensagem."""

    id: int
    integracao_id: int
    id_externo: str | None

    @property
    def par(self) -> Par:
        return self.integracao_id, self.id_externo


class Ligacao(NamedTuple):
    """A mensagem de que um par fala, e a parte dela; `mensagem_id` None se as `candidatas` são várias."""

    mensagem_id: int | None
    parte: int | None
    resultado: Resultado
    candidatas: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amarra:
    """O que uma rodada atou: evento → mensagem."""

    atados: dict[int, int]

    @property
    def mensagens(self) -> list[int]:
        """As mensagens que ganharam algum evento, sem repetição e em ordem."""
        return sorted(set(self.atados.values()))


def procurar(pares: Collection[Par], elenco: Elenco) -> dict[Par, Ligacao]:
    """O que cada par acha; o que não acha nada não está na resposta. Não trava nem grava."""
    candidatas = _buscar_candidatas(pares, elenco)
    ligacoes: dict[Par, Ligacao] = {}
    for par in pares:
        correlacao = _decidir(par[1], candidatas[par], elenco.opcoes(par[0]))
        if correlacao.resultado == Resultado.UNICA:
            parte = _decidir_parte(par[1], correlacao, candidatas[par])
            ligacoes[par] = Ligacao(cast("int", correlacao.mensagem), parte, correlacao.resultado, ())
        elif correlacao.resultado == Resultado.VARIAS:
            varias = cast("tuple[int, ...]", correlacao.candidatas)
            ligacoes[par] = Ligacao(None, None, correlacao.resultado, varias)
    return ligacoes


def atar(eventos: Sequence[EventoSolto], elenco: Elenco, agora: datetime) -> Amarra:
    """Correlaciona e ata eventos que já estão no banco, na transação aberta; devolve o que atou.

    Os ambíguos viram exceção; os que não acharam nada ficam como estão. Trava as mensagens achadas antes de
    tocar em eventos.
    """
    ligacoes = procurar({evento.par for evento in eventos}, elenco)
    por_atar = [(evento, ligacoes[evento.par]) for evento in eventos if evento.par in ligacoes]
    achadas = {ligacao.mensagem_id for _, ligacao in por_atar if ligacao.mensagem_id is not None}
    consultar_por_ids(SQL_TRAVAR_MENSAGENS, list(achadas))
    mudados = executar(SQL_ATAR_EVENTOS, [_linha(evento.id, ligacao) for evento, ligacao in por_atar])
    ambiguos = {id_ for id_, mensagem_id in mudados if mensagem_id is None}
    abrir(pendencia_ambigua(evento, ligacao, agora) for evento, ligacao in por_atar if evento.id in ambiguos)
    atados = {id_: mensagem_id for id_, mensagem_id in mudados if mensagem_id is not None}
    por_fechar = [
        (TipoDeExcecao.SEM_CORRELACAO, alvo_do_evento(id_), AMBIGUO if mensagem_id is None else ATADO)
        for id_, mensagem_id in mudados
    ]
    por_fechar += [(TipoDeExcecao.CORRELACAO_AMBIGUA, alvo_do_evento(id_), DESEMPATADO) for id_ in atados]
    fechar(por_fechar, agora)
    return Amarra(atados=atados)


def _decidir_parte(
    id_externo: str | None, correlacao: Correlacao, achadas: list[tuple[int, str, int | None]]
) -> int | None:
    """A parte a que o id pertence; None se ele é da mensagem inteira, ou de mais de uma parte dela."""
    da_mensagem = [(valor, parte) for mensagem, valor, parte in achadas if mensagem == correlacao.mensagem]
    identicas = {parte for valor, parte in da_mensagem if valor == id_externo}
    partes = identicas or {parte for _, parte in da_mensagem}
    return partes.pop() if len(partes) == 1 else None


def atar_soltos(agora: datetime, *, ids: Collection[int] | None = None) -> int:
    """Confere de novo os eventos soltos (ou só os `ids`), em transações curtas; devolve quantas mensagens mudaram.

    Repetível e concorrente: não trava para ler; quem já foi atado por outro não é atado de novo.
    """
    mudaram, ultimo = 0, 0
    while True:
        with transaction.atomic():
            soltos = EventoLogico.objects.filter(mensagem__isnull=True, correlacao__in=SOLTOS, pk__gt=ultimo)
            if ids is not None:
                soltos = soltos.filter(pk__in=ids)
            linhas = [
                EventoSolto(*linha)
                for linha in soltos.order_by("pk").values_list("pk", "integracao_id", "id_externo")[
                    :EVENTOS_POR_VEZ
                ]
            ]
            if not linhas:
                return mudaram
            amarra = atar(linhas, Elenco(linha.integracao_id for linha in linhas), agora)
            mudaram += len(materializar(amarra.mensagens, agora))
            ultimo = linhas[-1].id


def atar_pelo_id(pares: Collection[tuple[int, str]], agora: datetime) -> int:
    """Ata os eventos soltos que falam destes ids externos (integração, id), de qualquer forma parecida."""
    ids = _soltos_que_falam_de(pares)
    return atar_soltos(agora, ids=ids) if ids else 0


def atar_os_que_ja_podem(agora: datetime) -> int:
    """A varredura: eventos soltos cuja mensagem já está registrada (índice: identificador_por_valor)."""
    ids = EventoLogico.objects.filter(
        Exists(
            IdentificadorExterno.objects.filter(
                integracao=OuterRef("integracao"), valor=OuterRef("id_externo")
            )
        ),
        mensagem__isnull=True,
        correlacao__in=SOLTOS,
    ).values_list("pk", flat=True)[:EVENTOS_POR_VEZ]
    return atar_soltos(agora, ids=list(ids))


def envelhecer(agora: datetime) -> int:
    """Os que esperaram além da janela viram `sem_correlacao`, com as dicas; devolve quantos.

    Antes, uma última conferência: a varredura só procura o id idêntico, e aqui valem as formas autorizadas.
    """
    vencendo = EventoLogico.objects.filter(correlacao=ESPERANDO, esperar_ate__lt=agora).order_by("pk")
    atar_soltos(agora, ids=list(vencendo.values_list("pk", flat=True)[:EVENTOS_POR_VEZ]))
    with transaction.atomic():
        vencidos = [
            EventoSolto(*linha)
            for linha in EventoLogico.objects.filter(correlacao=ESPERANDO, esperar_ate__lt=agora)
            .select_for_update(skip_locked=True, no_key=True)
            .order_by("pk")
            .values_list("pk", "integracao_id", "id_externo")[:EVENTOS_POR_VEZ]
        ]
        elenco = Elenco(evento.integracao_id for evento in vencidos)
        candidatas = _buscar_por_forma({evento.par for evento in vencidos})
        EventoLogico.objects.filter(pk__in=[evento.id for evento in vencidos]).update(
            correlacao=Resultado.NENHUMA.value
        )
        abrir(
            pendencia(
                TipoDeExcecao.SEM_CORRELACAO,
                alvo_do_evento(evento.id),
                evento.integracao_id,
                agora,
                evento_id=evento.id,
                detalhe=f"nenhuma mensagem com o id externo {evento.id_externo}",
                dicas=_dicas(
                    _decidir(evento.id_externo, candidatas[evento.par], elenco.opcoes(evento.integracao_id))
                ),
            )
            for evento in vencidos
        )
    return len(vencidos)


def _buscar_candidatas(pares: Collection[Par], elenco: Elenco) -> Achadas:
    """As mensagens com o id idêntico e, onde a integração iguala formas, também as parecidas."""
    achadas: Achadas = defaultdict(list)
    for integracao_id, mensagem_id, valor, parte in executar(SQL_BUSCAR_POR_VALOR, _linhas(pares)):
        achadas[integracao_id, valor].append((mensagem_id, valor, parte))
    tolerantes = {par for par in pares if elenco.opcoes(par[0]) != OpcoesDeId() and not achadas[par]}
    for par, parecidas in _buscar_por_forma(tolerantes).items():
        achadas[par].extend(parecidas)
    return achadas


def _buscar_por_forma(pares: Collection[Par]) -> Achadas:
    achadas: Achadas = defaultdict(list)
    linhas = [{**linha, "formas": sorted(formas(linha["id_externo"] or ""))} for linha in _linhas(pares)]
    for id_externo, integracao_id, mensagem_id, valor, parte in executar(SQL_BUSCAR_POR_FORMA, linhas):
        achadas[integracao_id, id_externo].append((mensagem_id, valor, parte))
    return achadas


def _linhas(pares: Collection[Par]) -> list[dict[str, Any]]:
    return [{"integracao_id": integracao_id, "id_externo": id_externo} for integracao_id, id_externo in pares]


def _soltos_que_falam_de(pares: Collection[tuple[int, str]]) -> list[int]:
    """Os eventos soltos com o id idêntico (índice: evento_logico_esperando) ou de integração tolerante."""
    ids: list[int] = []
    por_integracao: dict[int, set[str]] = defaultdict(set)
    for integracao_id, valor in pares:
        por_integracao[integracao_id].add(valor)
    elenco = Elenco(por_integracao)
    for integracao_id, valores in por_integracao.items():
        soltos = EventoLogico.objects.filter(
            mensagem__isnull=True, integracao_id=integracao_id, correlacao__in=SOLTOS
        )
        if elenco.opcoes(integracao_id) == OpcoesDeId():
            soltos = soltos.filter(id_externo__in=valores)
            ids += soltos.values_list("pk", flat=True)
            continue
        procuradas = frozenset[str]().union(*(formas(valor) for valor in valores))
        ids += [
            pk
            for pk, id_externo in soltos.values_list("pk", "id_externo").iterator()
            if formas(id_externo or "") & procuradas
        ]
    return ids


def _decidir(
    id_externo: str | None, achadas: list[tuple[int, str, int | None]], opcoes: OpcoesDeId
) -> Correlacao:
    candidatas = [Candidata(mensagem=mensagem, id_externo=valor) for mensagem, valor, _ in achadas]
    return correlacionar(id_externo, candidatas, opcoes)


def _linha(evento_id: int, ligacao: Ligacao) -> dict[str, Any]:
    return {
        "id": evento_id,
        "mensagem_id": ligacao.mensagem_id,
        "parte": ligacao.parte,
        "correlacao": ligacao.resultado.value,
    }


def pendencia_ambigua(evento: EventoSolto, ligacao: Ligacao, agora: datetime) -> dict[str, Any]:
    """O recibo cujo id é de mais de uma mensagem: uma pessoa escolhe."""
    return pendencia(
        TipoDeExcecao.CORRELACAO_AMBIGUA,
        alvo_do_evento(evento.id),
        evento.integracao_id,
        agora,
        evento_id=evento.id,
        detalhe=f"o id externo {evento.id_externo} é de mais de uma mensagem",
        dicas=[{"mensagem": mensagem} for mensagem in ligacao.candidatas],
    )


def _dicas(correlacao: Correlacao) -> list[dict[str, Any]]:
    return [
        {"mensagem": dica.mensagem, "id_externo": dica.id_externo, "diferencas": list(dica.diferencas)}
        for dica in correlacao.dicas
    ]
