"""A fila de saída: uma entrega por transação, travada enquanto é mandada.

Uma queda entre mandar e marcar desfaz a transação e a entrega continua pendente: a mensagem se repete, com o
mesmo id. Preferimos repetir a calar.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from config.cofre import SegredoIlegivel, decifrar
from ingestao.models import AvisoFranquia
from painel.avisos import correio, webhook
from painel.avisos.assinatura import montar_cabecalhos
from painel.avisos.conteudo import escrever_assunto, escrever_texto, montar
from painel.avisos.regras import TENTATIVAS_MAXIMAS, recuo_s
from painel.avisos.rodada import ACABOU_ANTES, hora_de_sair
from painel.avisos.webhook import Resultado
from painel.models import Canal, EntregaDeAviso, TentativaDeEntrega, TipoDeAviso

TURNO_S = 20.0  # depois disto a tarefa devolve o worker; o resto sai na próxima
Motivo, Situacao = EntregaDeAviso.Motivo, EntregaDeAviso.Situacao


def enviar_pendentes(agora: datetime, *, turno_s: float = TURNO_S) -> int:
    """Manda o que está na hora de sair; devolve quantas entregas deram certo.

    Um destino que falha não é tentado de novo no mesmo turno: os outros não esperam por ele.
    """
    fim = time.monotonic() + turno_s
    evitar: list[Q] = []
    certas = 0
    while time.monotonic() < fim and (entrega := _enviar_a_proxima(agora, evitar)) is not None:
        if entrega.situacao == Situacao.ENTREGUE:
            certas += 1
        elif entrega.canal == Canal.WEBHOOK:
            evitar.append(Q(destino_id=entrega.destino_id))
        elif entrega.tentou:  # o correio é um só: fora para um, fora para todos
            evitar.append(Q(canal=Canal.EMAIL))
    return certas


def enviar_agora(id_da_entrega: Any, agora: datetime) -> EntregaDeAviso | None:
    """Manda uma entrega pendente já; None se ela não está pendente ou se outro a está mandando."""
    return _enviar_a_proxima(agora, [], somente=id_da_entrega)


def _enviar_a_proxima(agora: datetime, evitar: list[Q], *, somente: Any = None) -> EntregaDeAviso | None:
    """Trava uma entrega, manda e marca. Índice: entrega_pendente."""
    alvo = Q(disponivel_em__lte=agora) if somente is None else Q(pk=somente)
    for evitada in evitar:
        alvo &= ~evitada
    with transaction.atomic():
        entrega = (
            EntregaDeAviso.objects.filter(alvo, situacao=Situacao.PENDENTE)
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("aviso", "destino")
            .order_by("disponivel_em", "pk")
            .first()
        )
        if entrega is not None:
            _tratar(entrega, agora, no_silencio=somente is None)
    return entrega


def _tratar(entrega: EntregaDeAviso, agora: datetime, *, no_silencio: bool) -> None:
    if (motivo := _porque_dispensar(entrega)) is not None:
        _encerrar(entrega, Situacao.DISPENSADA, motivo, agora)
    elif no_silencio and (hora := _hora(entrega, agora)) > agora:
        entrega.disponivel_em = hora  # o servidor esteve parado e voltou no silêncio do destino
    else:
        _fixar(entrega, agora)
        _tentar(entrega, agora)
    entrega.save()


def _fixar(entrega: EntregaDeAviso, agora: datetime) -> None:
    """O que esperou o silêncio conta o aviso como está ao sair; daí em diante o conteúdo não muda."""
    if entrega.aviso is not None and entrega.tentativas == 0:
        entrega.fixada_em = agora
        entrega.conteudo = montar(entrega.aviso, entrega.motivo, entrega.criada_em)


def _porque_dispensar(entrega: EntregaDeAviso) -> str | None:
    aviso, destino = entrega.aviso, entrega.destino
    if destino is not None and not destino.ativo and entrega.motivo != Motivo.TESTE:
        return "O destino foi desligado."
    acabou = aviso is not None and aviso.resolvido_em is not None
    return ACABOU_ANTES if acabou and entrega.motivo != Motivo.RESOLVEU else None


def _hora(entrega: EntregaDeAviso, agora: datetime) -> datetime:
    if entrega.destino is None or entrega.motivo == Motivo.TESTE:
        return agora
    return hora_de_sair(entrega.destino, critico=entrega.conteudo["critico"], agora=agora)


def _tentar(entrega: EntregaDeAviso, agora: datetime) -> None:
    comeco = time.monotonic()
    entrega.tentou = True
    resultado = CANAIS[Canal(entrega.canal)](entrega, agora)
    entrega.tentativas += 1
    TentativaDeEntrega.objects.create(
        entrega=entrega,
        feita_em=agora,
        duracao_ms=round((time.monotonic() - comeco) * 1000),
        sucesso=resultado.sucesso,
        status=resultado.status,
        resposta=resultado.resposta,
        erro=resultado.erro,
    )
    if resultado.sucesso:
        _encerrar(entrega, Situacao.ENTREGUE, "", agora)
        _marcar_franquia(entrega, agora)
    elif entrega.motivo == Motivo.TESTE or entrega.tentativas >= TENTATIVAS_MAXIMAS:
        _encerrar(entrega, Situacao.DESISTIDA, dizer(resultado), agora)
    else:
        entrega.disponivel_em = agora + timedelta(seconds=recuo_s(entrega.tentativas))


def _encerrar(entrega: EntregaDeAviso, situacao: str, como: str, agora: datetime) -> None:
    entrega.situacao, entrega.encerrada_em, entrega.encerramento = situacao, agora, como[:300]


def _marcar_franquia(entrega: EntregaDeAviso, agora: datetime) -> None:
    """`AvisoFranquia.enviado_em` é o primeiro e-mail que saiu."""
    aviso = entrega.aviso
    if aviso is not None and aviso.tipo == TipoDeAviso.FRANQUIA and entrega.canal == Canal.EMAIL:
        AvisoFranquia.objects.filter(pk=int(aviso.alvo), enviado_em=None).update(enviado_em=agora)


def _por_email(entrega: EntregaDeAviso, agora: datetime) -> Resultado:
    para = entrega.destino.destinatarios() if entrega.destino else entrega.emails.split(", ")
    return correio.mandar(
        para,
        assunto=escrever_assunto(entrega.conteudo),
        texto=escrever_texto(entrega.conteudo),
        id_da_entrega=str(entrega.pk),
    )


def _por_webhook(entrega: EntregaDeAviso, agora: datetime) -> Resultado:
    assert entrega.destino is not None  # só destinos têm webhook; o dono de um aplicativo tem e-mails
    corpo = escrever_json(entrega)
    try:
        cabecalhos = montar_cabecalhos(
            decifrar(entrega.destino.segredo_cifrado),
            id_da_entrega=str(entrega.pk),
            instante_s=int(timezone.now().timestamp()),
            corpo=corpo,
        )
    except SegredoIlegivel as erro:
        return Resultado(sucesso=False, erro=str(erro))
    return webhook.postar(entrega.destino.url, corpo, cabecalhos, local=settings.WEBHOOK_LOCAL)


CANAIS: dict[Canal, Callable[[EntregaDeAviso, datetime], Resultado]] = {
    Canal.EMAIL: _por_email,
    Canal.WEBHOOK: _por_webhook,
}


def escrever_json(entrega: EntregaDeAviso) -> bytes:
    """O corpo do webhook: chaves em ordem alfabética, os mesmos bytes a cada tentativa."""
    conteudo = {**entrega.conteudo, "entrega": str(entrega.pk)}
    return orjson.dumps(conteudo, option=orjson.OPT_SORT_KEYS)


def dizer(resultado: Resultado) -> str:
    """O que houve, numa frase: o erro, ou o status que veio."""
    return resultado.erro or f"Respondeu {resultado.status}."
