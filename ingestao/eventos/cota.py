"""A franquia do mês: o período, quando estoura e quando avisa."""

from datetime import date

from django.db.models import Sum

from ingestao.eventos.chaves import AplicativoVisto
from ingestao.models import PoliticaDeFranquia, Uso

PERCENTUAIS_DE_AVISO = (80, 100)  # contrato da ingestão, processamento


def periodo_de(dia: date) -> date:
    """O período da franquia: o primeiro dia do mês."""
    return dia.replace(day=1)


def franquia_estourada(aplicativo: AplicativoVisto, hoje: date) -> bool:
    """Diz se a porta deve responder 402: franquia com `PARAR_INGESTAO` e uso do mês que já a alcançou.

    Conta o que foi gravado; o que ainda está na caixa entra e pode passar da franquia por uma fila.
    """
    if aplicativo.franquia is None or aplicativo.politica != PoliticaDeFranquia.PARAR_INGESTAO:
        return False
    uso = Uso.objects.filter(aplicativo_id=aplicativo.id, dia__gte=periodo_de(hoje), dia__lte=hoje).aggregate(
        total=Sum("quantidade_eventos")
    )["total"]
    return (uso or 0) >= aplicativo.franquia
