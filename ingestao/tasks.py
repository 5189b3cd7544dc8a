"""As tarefas Celery da ingestão: cada uma é uma casca em volta de uma chamada."""

from celery import current_app, shared_task
from django.conf import settings
from django.utils import timezone

from ingestao.caixa import RESPIRO_S, Despertador
from ingestao.capturas import pedidos
from ingestao.eventos import minutos, retencao
from ingestao.eventos.processamento import AVISAR, CAIXA_DE_LOTES


@shared_task(name=CAIXA_DE_LOTES.tarefa)
def processar_lotes() -> None:
    """Esvazia a caixa de lotes; se o turno acabou antes dela, pede outro."""
    despertador_de_lotes.baixar()
    balanco = CAIXA_DE_LOTES.esvaziar(respiro_s=RESPIRO_S)
    if balanco.restou:
        processar_lotes.delay()
    if AVISAR in balanco.seguimentos:
        current_app.send_task(settings.TAREFA_DE_AVISOS, expires=60)


@shared_task(name="ingestao.tasks.expurgar")
def expurgar() -> None:
    """Apaga o que passou da retenção."""
    retencao.expurgar()
    minutos.expurgar(timezone.now())


@shared_task(name="ingestao.tasks.vencer_pedidos")
def vencer_pedidos() -> None:
    """Encerra os pedidos de quadro cujo prazo passou."""
    while pedidos.vencer_pedidos(timezone.now()):
        pass


despertador_de_lotes = Despertador("lotes", processar_lotes.delay)
