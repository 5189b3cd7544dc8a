"""O que uma pessoa pode fazer com o que não se decidiu sozinho. Todo ato tem autor, hora e motivo.

As telas e os comandos chamam estas funções; nenhuma altera recepção nem evento lógico além da mensagem a
que ele está atado.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Collate

from dlr.amarracao import EventoSolto, atar
from dlr.dominio.estados import Estado
from dlr.dominio.projecao import e_final
from dlr.gravacao import SQL_TRAVAR_MENSAGENS, consultar_por_ids
from dlr.integracoes import Elenco
from dlr.materializacao import eventos_de, materializar
from dlr.models import (
    AcaoDeExcecao,
    DecisaoDeFinal,
    EventoLogico,
    Excecao,
    Mensagem,
    SituacaoDaExcecao,
    TipoDeExcecao,
)
from dlr.pendencias import fechar
from dlr.releitura import reler_recepcoes

MOTIVO_MINIMO_CARACTERES = 3
LIGADA_A_MAO = "unica"
SEM_MENSAGEM = (TipoDeExcecao.SEM_CORRELACAO, TipoDeExcecao.CORRELACAO_AMBIGUA)


NA_ORDEM_DAS_TRAVAS = (Collate("tipo", "C"), Collate("alvo", "C"))  # a mesma do SQL de `dlr.pendencias`


class AcaoImpossivel(ValueError):
    """O ato não cabe nesta exceção; a mensagem diz por quê e o que fazer. Nada mudou."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ato:
    """Quem faz, quando e por quê: vai junto de toda ação."""

    autor: User
    motivo: str
    agora: datetime

    def __post_init__(self) -> None:
        if len(self.motivo.strip()) < MOTIVO_MINIMO_CARACTERES:
            raise AcaoImpossivel("Escreva o motivo: ele fica na trilha de quem vier depois.")


def ligar(excecao_id: int, mensagem_id: int, ato: Ato) -> Excecao:
    """Ata à mão o evento da exceção a uma mensagem da mesma integração; o estado dela é recalculado."""
    with transaction.atomic():
        excecao = _travar(excecao_id, mensagens=[mensagem_id])
        if excecao.evento is None or excecao.tipo not in SEM_MENSAGEM:
            raise AcaoImpossivel("Só se liga à mão um recibo sem mensagem.")
        mensagem = Mensagem.objects.filter(pk=mensagem_id, integracao_id=excecao.integracao_id).first()
        if mensagem is None:
            raise AcaoImpossivel("Esta mensagem não existe nesta integração.")
        evento = EventoLogico.objects.get(pk=excecao.evento.pk)
        if evento.mensagem_id not in (None, mensagem_id):
            raise AcaoImpossivel(f"O recibo já está atado à mensagem {evento.mensagem_id}.")
        EventoLogico.objects.filter(pk=evento.pk).update(
            mensagem=mensagem, correlacao=LIGADA_A_MAO, esperar_ate=None
        )
        materializar([mensagem_id], ato.agora)
        _encerrar(excecao, SituacaoDaExcecao.RESOLVIDA, "ligar", ato, {"mensagem": mensagem_id})
        fechar([(tipo, excecao.alvo, "uma pessoa ligou o recibo") for tipo in SEM_MENSAGEM], ato.agora)
    return excecao


def escolher_final(excecao_id: int, estado: str, ato: Ato, *, parte: int | None = None) -> Excecao:
    """Decide qual dos finais recebidos vale, para a mensagem ou uma parte dela.

    O estado tem de ser um final comunicado por algum recibo (dessa parte).
    """
    with transaction.atomic():
        excecao = _travar(excecao_id)
        if excecao.tipo not in (TipoDeExcecao.CONFLITO_FINAL, TipoDeExcecao.PARTES_DIVERGENTES):
            raise AcaoImpossivel("Só se escolhe o final de uma mensagem com finais em conflito.")
        assert excecao.mensagem_id is not None
        finais = _finais_recebidos(excecao.mensagem_id, excecao.integracao_id, parte)
        if estado not in finais:
            de_que = "" if parte is None else f" da parte {parte}"
            raise AcaoImpossivel(
                f"Nenhum recibo{de_que} comunicou o final {estado}; recebidos: {', '.join(sorted(finais)) or 'nenhum'}."
            )
        DecisaoDeFinal.objects.create(
            mensagem_id=excecao.mensagem_id,
            parte=parte,
            estado=Estado(estado),
            autor=ato.autor,
            motivo=ato.motivo,
            decidida_em=ato.agora,
        )
        _anotar(excecao, "escolher_final", ato, {"estado": estado, "parte": parte})
        materializar([excecao.mensagem_id], ato.agora)
        excecao.refresh_from_db()
    return excecao


def _finais_recebidos(mensagem_id: int, integracao_id: int, parte: int | None) -> set[str]:
    """Os finais que algum recibo comunicou: da mensagem toda, ou só os que falam da parte."""
    regras = Elenco([integracao_id]).regras(integracao_id)
    return {
        str(evento.estado)
        for evento in eventos_de([mensagem_id]).get(mensagem_id, [])
        if e_final(evento, regras) and (parte is None or evento.parte in (None, parte))
    }


def descartar(ids: Sequence[int], ato: Ato) -> int:
    """Encerra sem efeito as abertas; devolve quantas. Uma descartada não reabre pela mesma causa."""
    return _mudar(ids, SituacaoDaExcecao.ABERTA, SituacaoDaExcecao.DESCARTADA, "descartar", ato)


def reabrir(ids: Sequence[int], ato: Ato) -> int:
    """Reabre as encerradas; devolve quantas."""
    resolvidas = _mudar(ids, SituacaoDaExcecao.RESOLVIDA, SituacaoDaExcecao.ABERTA, "reabrir", ato)
    return resolvidas + _mudar(ids, SituacaoDaExcecao.DESCARTADA, SituacaoDaExcecao.ABERTA, "reabrir", ato)


def atribuir(ids: Sequence[int], responsavel: User, ato: Ato) -> int:
    """Diz quem cuida das abertas; devolve quantas."""
    with transaction.atomic():
        excecoes = _travar_varias(ids, SituacaoDaExcecao.ABERTA)
        Excecao.objects.filter(pk__in=[e.pk for e in excecoes]).update(atribuida_a=responsavel)
        for excecao in excecoes:
            _anotar(excecao, "atribuir", ato, {"a": str(responsavel)})
    return len(excecoes)


def anotar(ids: Sequence[int], ato: Ato) -> int:
    """Acrescenta uma nota à trilha, sem mudar a situação; devolve a quantas."""
    with transaction.atomic():
        excecoes = list(Excecao.objects.filter(pk__in=ids).order_by("pk"))
        for excecao in excecoes:
            _anotar(excecao, "anotar", ato, {})
    return len(excecoes)


def prever_reprocesso(ids: Sequence[int]) -> list[dict[str, Any]]:
    """O que reprocessar faria com cada exceção, sem fazer: roda de verdade e desfaz."""
    return _reprocessar(ids, ato=None)


def reprocessar(ids: Sequence[int], ato: Ato) -> list[dict[str, Any]]:
    """Tenta de novo, com o leitor, as opções e as regras de hoje; devolve o resultado por exceção."""
    return _reprocessar(ids, ato=ato)


class _Desfazer(Exception):
    pass


def _reprocessar(ids: Sequence[int], ato: Ato | None) -> list[dict[str, Any]]:
    resultados: list[dict[str, Any]] = []
    agora = ato.agora if ato else datetime.now().astimezone()
    try:
        with transaction.atomic():
            # Sem travar as exceções: quem espera por uma delas não espera mais por mensagens.
            excecoes = list(
                Excecao.objects.filter(pk__in=ids, situacao=SituacaoDaExcecao.ABERTA).order_by("pk")
            )
            for excecao in excecoes:
                if ato is not None:
                    _anotar(excecao, "reprocessar", ato, {})
            mensagens = set(
                reler_recepcoes(sorted({e.recepcao_id for e in excecoes if e.recepcao_id is not None}), agora)
            )
            mensagens |= _reatar([e.evento_id for e in excecoes if e.evento_id is not None], agora)
            materializar(mensagens | {e.mensagem_id for e in excecoes if e.mensagem_id is not None}, agora)
            for excecao in excecoes:
                excecao.refresh_from_db()
                resultados.append(
                    {
                        "excecao": excecao.pk,
                        "situacao": excecao.situacao,
                        "encerramento": excecao.encerramento,
                    }
                )
            if ato is None:
                raise _Desfazer
    except _Desfazer:
        pass
    return resultados


def _reatar(ids: Iterable[int], agora: datetime) -> set[int]:
    """Correlaciona de novo os que estão sem mensagem, os ambíguos inclusive; devolve as mensagens."""
    soltos = [
        EventoSolto(*linha)
        for linha in EventoLogico.objects.filter(pk__in=list(ids), mensagem__isnull=True)
        .order_by("pk")
        .values_list("pk", "integracao_id", "id_externo")
    ]
    return set(atar(soltos, Elenco(evento.integracao_id for evento in soltos), agora).mensagens)


def _mudar(ids: Sequence[int], de: SituacaoDaExcecao, para: SituacaoDaExcecao, acao: str, ato: Ato) -> int:
    with transaction.atomic():
        excecoes = _travar_varias(ids, de)
        for excecao in excecoes:
            _encerrar(excecao, para, acao, ato, {})
    return len(excecoes)


def _travar(id_: int, *, mensagens: Sequence[int] = ()) -> Excecao:
    """A exceção aberta, travada na ordem de `dlr.gravacao`: antes dela as mensagens, e o evento."""
    vista = Excecao.objects.filter(pk=id_).first()
    if vista is None:
        raise AcaoImpossivel("Esta exceção não existe.")
    consultar_por_ids(SQL_TRAVAR_MENSAGENS, [m for m in {*mensagens, vista.mensagem_id} if m is not None])
    if vista.evento_id is not None:
        EventoLogico.objects.select_for_update(no_key=True).get(pk=vista.evento_id)
    excecao = (
        Excecao.objects.select_for_update(no_key=True, of=("self",)).select_related("evento").get(pk=id_)
    )
    if excecao.situacao != SituacaoDaExcecao.ABERTA:
        raise AcaoImpossivel("Esta exceção já foi encerrada; reabra-a antes.")
    return excecao


def _travar_varias(ids: Sequence[int], situacao: SituacaoDaExcecao) -> list[Excecao]:
    return list(
        Excecao.objects.select_for_update(no_key=True, of=("self",))
        .filter(pk__in=ids, situacao=situacao)
        .order_by(*NA_ORDEM_DAS_TRAVAS)
    )


def _encerrar(
    excecao: Excecao, situacao: SituacaoDaExcecao, acao: str, ato: Ato, detalhes: dict[str, Any]
) -> None:
    aberta = situacao == SituacaoDaExcecao.ABERTA
    excecao.situacao = situacao
    excecao.encerrada_em = None if aberta else ato.agora
    excecao.encerramento = "" if aberta else ato.motivo
    excecao.save(update_fields=["situacao", "encerrada_em", "encerramento"])
    _anotar(excecao, acao, ato, detalhes)


def _anotar(excecao: Excecao, acao: str, ato: Ato, detalhes: dict[str, Any]) -> None:
    AcaoDeExcecao.objects.create(
        excecao=excecao, autor=ato.autor, acao=acao, motivo=ato.motivo, detalhes=detalhes, feita_em=ato.agora
    )
