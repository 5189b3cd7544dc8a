"""A triagem de erros: resolver, ignorar, reabrir. Cada mudança fica no histórico de quem a fez."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction

from ingestao.models import Erro, EstadoDoErro


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisao:
    """O estado a que se chega e como dizê-lo de um e de muitos."""

    estado: EstadoDoErro
    feito: tuple[str, str]
    historico: str

    def contar(self, quantos: int) -> str:
        """`1 erro resolvido`, `3 erros resolvidos`."""
        return f"{quantos} {'erro' if quantos == 1 else 'erros'} {self.feito[quantos != 1]}"


class Verbo(Enum):
    """O que se decide de um erro."""

    RESOLVER = Decisao(
        estado=EstadoDoErro.RESOLVIDO, feito=("resolvido", "resolvidos"), historico="Resolveu o erro."
    )
    IGNORAR = Decisao(
        estado=EstadoDoErro.IGNORADO, feito=("ignorado", "ignorados"), historico="Passou a ignorar o erro."
    )
    REABRIR = Decisao(
        estado=EstadoDoErro.ABERTO, feito=("reaberto", "reabertos"), historico="Reabriu o erro."
    )


def triar(ids: Sequence[UUID], verbo: Verbo, usuario: User, agora: datetime) -> int:
    """Aplica a decisão aos erros que ainda não estão nela; devolve quantos mudaram.

    Trava na ordem do id, a mesma do worker que soma ocorrências: não há impasse entre os dois.
    `resolvido_em` é o que separa uma ocorrência antiga, que estava na fila, de uma regressão.
    """
    decisao = verbo.value
    resolveu = verbo is Verbo.RESOLVER
    with transaction.atomic():
        erros = list(
            Erro.objects.select_for_update()
            .filter(pk__in=ids)
            .exclude(estado=decisao.estado)
            .order_by("pk")
            .only("pk", "titulo")
        )
        Erro.objects.filter(pk__in=[erro.pk for erro in erros]).update(
            estado=decisao.estado,
            resolvido_em=agora if resolveu else None,
            resolvido_por=usuario if resolveu else None,
        )
        if erros:
            LogEntry.objects.log_actions(usuario.pk, erros, CHANGE, decisao.historico)
    return len(erros)
