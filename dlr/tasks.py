"""As tarefas Celery dos recibos: cada uma é uma casca em volta de uma chamada."""

from celery import shared_task
from django.utils import timezone

from dlr import amarracao, ausencias, contagem
from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa import RESPIRO_S, Despertador


@shared_task(name=CAIXA_DE_RECEPCOES.tarefa)
def processar_recepcoes() -> None:
    """Esvazia a caixa de recepções e confere de novo, já depois do COMMIT, o que ficou solto."""
    despertador_de_recepcoes.baixar()
    balanco = CAIXA_DE_RECEPCOES.esvaziar(respiro_s=RESPIRO_S)
    if balanco.restou:
        processar_recepcoes.delay()
    if balanco.seguimentos:
        amarracao.atar_soltos(timezone.now(), ids=balanco.seguimentos)


@shared_task(name="dlr.tasks.cuidar_dos_soltos")
def cuidar_dos_soltos() -> None:
    """Ata o que uma queda deixou por atar e envelhece o que esperou demais."""
    agora = timezone.now()
    amarracao.atar_os_que_ja_podem(agora)
    while amarracao.envelhecer(agora):
        pass


@shared_task(name="dlr.tasks.cobrar_finais")
def cobrar_finais() -> None:
    """Abre `final_ausente` para as mensagens cujo final não veio no prazo."""
    while ausencias.cobrar(timezone.now()):
        pass


@shared_task(name="dlr.tasks.expurgar_minutos")
def expurgar_minutos() -> None:
    """Apaga as contagens por minuto vencidas."""
    contagem.expurgar_minutos(timezone.now())


despertador_de_recepcoes = Despertador("recepcoes", processar_recepcoes.delay)
