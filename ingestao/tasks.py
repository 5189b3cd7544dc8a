"""As tarefas Celery da ingestão: cada uma é uma casca em volta de uma chamada."""

from celery import shared_task
from django.utils import timezone

from ingestao.caixa import Despertador
from ingestao.capturas import pedidos
from ingestao.eventos import avisos, retencao
from ingestao.eventos.processamento import AVISAR, CAIXA_DE_LOTES


@shared_task(name=CAIXA_DE_LOTES.tarefa)
def processar_lotes() -> None:
    """Esvazia a caixa de lotes; se o turno acabou antes dela, pede outro."""
    despertador_de_lotes.baixar()
    balanco = CAIXA_DE_LOTES.esvaziar()
    if balanco.restou:
        processar_lotes.delay()
    if AVISAR in balanco.seguimentos:
        enviar_avisos.delay()


@shared_task(name="ingestao.tasks.enviar_avisos")
def enviar_avisos() -> None:
    """Manda por e-mail os avisos gravados e ainda não enviados."""
    avisos.enviar_pendentes()


@shared_task(name="ingestao.tasks.expurgar")
def expurgar() -> None:
    """Apaga o que passou da retenção."""
    retencao.expurgar()


@shared_task(name="ingestao.tasks.vencer_pedidos")
def vencer_pedidos() -> None:
    """Encerra os pedidos de quadro cujo prazo passou."""
    while pedidos.vencer_pedidos(timezone.now()):
        pass


despertador_de_lotes = Despertador("lotes", processar_lotes.delay)
