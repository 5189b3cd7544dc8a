"""O que acontece no servidor para haver o que avisar: fila atrasada, franquia gasta, erro que voltou."""

from datetime import timedelta
from typing import Any

from ingestao.models import Aplicativo, AvisoFranquia, Erro, Lote, Uso
from tests.painel.avisos.conftest import AGORA


def atrasar(minutos: float, *, lotes: int = 1) -> None:
    """Lotes que esperam há tantos minutos, contados de `AGORA`."""
    for _ in range(lotes):
        Lote.objects.create(recebido_em=AGORA - timedelta(minutes=minutos))


def assuntos(mailoutbox: list[Any]) -> list[str]:
    return [mensagem.subject for mensagem in mailoutbox]


def gastar(aplicativo: Aplicativo, quantidade: int, *percentuais: int) -> None:
    """O que o processamento gravaria ao cruzar os percentuais (tests/ingestao/eventos/test_processamento)."""
    dia = AGORA.date()
    Uso.objects.update_or_create(aplicativo=aplicativo, dia=dia, defaults={"quantidade_eventos": quantidade})
    for percentual in percentuais:
        AvisoFranquia.objects.create(
            aplicativo=aplicativo,
            periodo=dia.replace(day=1),
            percentual=percentual,
            quantidade=quantidade,
            franquia=aplicativo.franquia or 0,
            criado_em=AGORA,
        )


def regredir(aplicativo: Aplicativo, n: int, *, minutos: float = 0, titulo: str = "TypeError: x") -> Erro:
    quando = AGORA + timedelta(minutes=minutos)
    return Erro.objects.create(
        id=f"00000000-0000-0000-0000-{n:012}",
        aplicativo=aplicativo,
        impressao=str(n),
        versao=1,
        tipo="ERRO_JS",
        titulo=titulo,
        quantidade=2,
        primeira_ocorrencia_em=AGORA - timedelta(days=2),
        ultima_ocorrencia_em=quando,
        regressoes=1,
        regrediu_em=quando,
    )
