"""O que os recibos significam, sem os ids do banco: para comparar duas histórias, ou uma história e o seu replay."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from dlr import amarracao
from dlr.materializacao import materializar
from dlr.models import (
    AcaoDeExcecao,
    EventoLogico,
    Excecao,
    Mensagem,
    MudancaDeProjecao,
    Ocorrencia,
    Projecao,
    Recepcao,
    RecepcaoPendente,
)
from tests.dlr.conftest import aplicar_caixa


def retratar() -> dict[str, Any]:
    """Projeções, contadores e exceções abertas; nada que dependa da ordem de chegada."""
    return {
        "projecoes": sorted(
            Projecao.objects.values_list(
                "mensagem__id_interno", "estado", "final", "motivo", "conflito", "divergente"
            ),
            key=str,
        ),
        "sustentam": sorted(
            (
                projecao.mensagem.id_interno,
                sorted(
                    EventoLogico.objects.filter(pk__in=projecao.sustentam).values_list("chave", flat=True)
                ),
            )
            for projecao in Projecao.objects.select_related("mensagem")
        ),
        "eventos": sorted(
            EventoLogico.objects.values_list(
                "chave", "mensagem__id_interno", "parte", "estado", "correlacao", "qtd_recepcoes"
            ),
            key=str,
        ),
        "abertas": sorted(
            Excecao.objects.filter(situacao="aberta").values_list(
                "tipo", "mensagem__id_interno", "evento__chave"
            ),
            key=str,
        ),
    }


def retratar_com_ordem() -> dict[str, Any]:
    """O mesmo, e o que depende da ordem de recepção: papéis, primeira recepção, quem repetiu quem."""
    return {
        **retratar(),
        "papeis": sorted(
            EventoLogico.objects.values_list("chave", "papel", "recepcao_id", "indice"), key=str
        ),
        "ocorrencias": sorted(
            Ocorrencia.objects.values_list("recepcao_id", "indice", "evento__chave"), key=str
        ),
    }


def refazer_do_zero() -> None:
    """Apaga tudo o que se deduziu e reaplica as recepções guardadas, em ordem, num worker só."""
    for modelo in (AcaoDeExcecao, Excecao, Ocorrencia, Projecao, MudancaDeProjecao, EventoLogico):
        modelo.objects.all().delete()
    RecepcaoPendente.objects.bulk_create(
        RecepcaoPendente(recepcao_id=id_)
        for id_ in Recepcao.objects.order_by("pk").values_list("pk", flat=True)
    )
    aplicar_caixa()
    materializar(list(Mensagem.objects.values_list("pk", flat=True)), timezone.now())


def envelhecer() -> None:
    """Passa a janela de espera de todos os recibos."""
    while amarracao.envelhecer(timezone.now() + timedelta(hours=1)):
        pass
