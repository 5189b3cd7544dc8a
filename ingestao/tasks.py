"""As tarefas Celery da ingestão: cada uma é uma casca em volta de uma chamada."""

from celery import shared_task

from ingestao.caixa import RESPIRO_S, Despertador
from ingestao.eventos import avisos, retencao
from ingestao.eventos.processamento import AVISAR, CAIXA_DE_LOTES


@shared_task(name=CAIXA_DE_LOTES.tarefa)
def processar_lotes() -> None:
    """Esvazia a caixa de lotes; se o turno acabou antes dela, pede outro."""
    despertador_de_lotes.baixar()
    balanco = CAIXA_DE_LOTES.esvaziar(respiro_s=RESPIRO_S)
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


despertador_de_lotes = Despertador("lotes", processar_lotes.delay)
