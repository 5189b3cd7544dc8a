"""As tarefas Celery do painel: cada uma é uma casca em volta de uma chamada."""

from celery import shared_task
from django.utils import timezone

from painel.avisos import entrega, rodada


@shared_task(name="painel.tasks.avisar")
def avisar() -> None:
    """Olha as condições, grava o que mudou, e manda o que está na fila."""
    rodada.rodar(timezone.now())
    entrega.enviar_pendentes(timezone.now())
