"""As medidas como o painel e `/metricas` as leem: por hora ou dia, por aparelho e no total; e quem está calado."""

from collections import Counter, defaultdict
from collections.abc import Hashable
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from ingestao.capturas.medidas import Contagens, Resumo, resumir_contagens
from ingestao.models import Dispositivo, Pedido, SituacaoDoPedido


class Passo(StrEnum):
    """O tamanho de cada ponto de uma série; o dia é o do fuso do servidor (`LASTRO_FUSO`)."""

    HORA = "hour"
    DIA = "day"


# Índices: medida_por_hora (todos os aparelhos) ou medida_unica (um só).
SQL_SOMAR = """
    SELECT {grupo}, medida, faixa, sum(quantidade)::bigint
    FROM ingestao_medidadecaptura
    WHERE hora >= %(de)s AND hora < %(ate)s {filtro}
    GROUP BY 1, 2, 3
"""
POR_PASSO = "date_trunc(%(passo)s, hora, %(fuso)s)"
POR_DISPOSITIVO = "dispositivo_id"
TUDO_JUNTO = "NULL::uuid"
DE_UM = "AND dispositivo_id = %(dispositivo)s"


def resumir(de: datetime, ate: datetime, dispositivo_id: UUID | None = None) -> Resumo:
    """As medidas de [de, ate), de um aparelho ou de todos. Conta horas cheias: a hora entra se começa no período."""
    return resumir_contagens(_somar(TUDO_JUNTO, de, ate, dispositivo_id).get(None, Counter()))


def resumir_por_periodo(
    de: datetime, ate: datetime, passo: Passo, dispositivo_id: UUID | None = None
) -> list[tuple[datetime, Resumo]]:
    """A série, do mais antigo ao mais novo; só os pontos em que houve algo."""
    somas = _somar(POR_PASSO, de, ate, dispositivo_id, passo=passo.value, fuso=settings.TIME_ZONE)
    return [(inicio, resumir_contagens(somas[inicio])) for inicio in sorted(somas)]


def resumir_por_dispositivo(de: datetime, ate: datetime) -> dict[UUID, Resumo]:
    """As medidas de cada aparelho que teve alguma no período."""
    somas = _somar(POR_DISPOSITIVO, de, ate, None)
    return {dispositivo_id: resumir_contagens(contagens) for dispositivo_id, contagens in somas.items()}


def listar_silenciosos(agora: datetime) -> QuerySet[Dispositivo]:
    """Os aparelhos ativos sem contato há mais que o `silencioso_apos_s` de cada um, o mais calado primeiro."""
    prazo = ExpressionWrapper(
        F("silencioso_apos_s") * Cast(Value("1 second"), DurationField()), output_field=DurationField()
    )
    return (
        Dispositivo.objects.filter(revogado_em__isnull=True, deletado=False)
        .annotate(visto_em=Coalesce("ultimo_contato_em", "criado_em"))
        .filter(visto_em__lt=Value(agora) - prazo)
        .order_by("visto_em", "id")
    )


def contar_situacao(agora: datetime) -> dict[str, int]:
    """Aparelhos ativos, silenciosos e pedidos abertos."""
    return {
        "dispositivos": Dispositivo.objects.filter(revogado_em__isnull=True, deletado=False).count(),
        "silenciosos": listar_silenciosos(agora).count(),
        "pedidos_abertos": Pedido.objects.filter(situacao=SituacaoDoPedido.ABERTO).count(),
    }


def _somar(
    grupo: str, de: datetime, ate: datetime, dispositivo_id: UUID | None, **mais: Any
) -> dict[Any, Contagens]:
    """Grupo → contagens somadas do período."""
    filtro = "" if dispositivo_id is None else DE_UM
    somas: dict[Hashable, Contagens] = defaultdict(Counter)
    with connection.cursor() as cursor:
        cursor.execute(
            SQL_SOMAR.format(grupo=grupo, filtro=filtro),
            {"de": de, "ate": ate, "dispositivo": dispositivo_id, **mais},
        )
        for chave, medida, faixa, quantidade in cursor.fetchall():
            somas[chave][medida, faixa] += quantidade
    return somas
