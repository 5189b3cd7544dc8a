"""A triagem de erros: resolver, ignorar, reabrir, atribuir, anotar. Cada ato fica na trilha, com quem o fez."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction

from ingestao.models import AcaoDeErro, Erro, EstadoDoErro

NOTA_CARACTERES = 1_000  # a largura de AcaoDeErro.nota
ATRIBUIR, ANOTAR = "atribuir", "anotar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisao:
    """O estado a que se chega, como se grava na trilha e como dizê-lo de um e de muitos."""

    estado: EstadoDoErro
    acao: str
    feito: tuple[str, str]

    def contar(self, quantos: int) -> str:
        """`1 erro resolvido`, `3 erros resolvidos`."""
        return f"{quantos} {'erro' if quantos == 1 else 'erros'} {self.feito[quantos != 1]}"


class Verbo(Enum):
    """O que se decide de um erro."""

    RESOLVER = Decisao(estado=EstadoDoErro.RESOLVIDO, acao="resolver", feito=("resolvido", "resolvidos"))
    IGNORAR = Decisao(estado=EstadoDoErro.IGNORADO, acao="ignorar", feito=("ignorado", "ignorados"))
    REABRIR = Decisao(estado=EstadoDoErro.ABERTO, acao="reabrir", feito=("reaberto", "reabertos"))


# Como a trilha conta cada ato.
ATOS = {
    "resolver": "Resolveu",
    "ignorar": "Passou a ignorar",
    "reabrir": "Reabriu",
    ATRIBUIR: "Atribuiu",
    ANOTAR: "Anotou",
}


def triar(ids: Sequence[UUID], verbo: Verbo, usuario: User, agora: datetime, *, nota: str = "") -> int:
    """Aplica a decisão aos erros que ainda não estão nela; devolve quantos mudaram.

    Trava na ordem do id, a mesma do worker que soma ocorrências: não há impasse entre os dois.
    `resolvido_em` é o que separa uma ocorrência antiga, que estava na fila, de uma regressão.
    """
    decisao = verbo.value
    resolveu = verbo is Verbo.RESOLVER
    with transaction.atomic():
        travados = Erro.objects.select_for_update().filter(pk__in=ids).exclude(estado=decisao.estado)
        mudam = list(travados.order_by("pk").values_list("pk", flat=True))
        Erro.objects.filter(pk__in=mudam).update(
            estado=decisao.estado,
            resolvido_em=agora if resolveu else None,
            resolvido_por=usuario if resolveu else None,
        )
        _escrever(mudam, decisao.acao, usuario, agora, nota)
    return len(mudam)


def atribuir(
    ids: Sequence[UUID], a_quem: User | None, usuario: User, agora: datetime, *, nota: str = ""
) -> int:
    """Diz quem cuida (None: ninguém); devolve quantos mudaram de dono. Não muda o estado de nada."""
    with transaction.atomic():
        travados = Erro.objects.select_for_update().filter(pk__in=ids).order_by("pk")
        mudam = [
            pk for pk, dono in travados.values_list("pk", "atribuido_a") if dono != (a_quem and a_quem.pk)
        ]
        Erro.objects.filter(pk__in=mudam).update(atribuido_a=a_quem)
        para = f"a {a_quem}" if a_quem else "a ninguém"
        frase = f"{para}: {nota}" if nota else para
        _escrever(mudam, ATRIBUIR, usuario, agora, frase[:NOTA_CARACTERES])
    return len(mudam)


def anotar(erro_id: UUID, usuario: User, agora: datetime, *, nota: str) -> None:
    """Acrescenta uma nota à trilha. Não muda o estado de nada."""
    with transaction.atomic():
        _escrever([erro_id], ANOTAR, usuario, agora, nota)


def _escrever(ids: Sequence[UUID], acao: str, usuario: User, agora: datetime, nota: str) -> None:
    """A linha de cada erro na trilha dele, que a retenção leva junto, e na do painel, que fica."""
    AcaoDeErro.objects.bulk_create(
        AcaoDeErro(erro_id=id_, autor=usuario, acao=acao, nota=nota, feita_em=agora) for id_ in ids
    )
    erros = list(Erro.objects.filter(pk__in=ids).order_by("pk").only("pk", "titulo"))
    if erros:
        LogEntry.objects.log_actions(usuario.pk, erros, CHANGE, _contar_ato(acao, nota))


def _contar_ato(acao: str, nota: str) -> str:
    """`Resolveu o erro.`, `Resolveu o erro: saiu na 2.4`, `Atribuiu o erro a ana`."""
    if not nota:
        return f"{ATOS[acao]} o erro."
    return f"{ATOS[acao]} o erro{' ' if acao == ATRIBUIR else ': '}{nota}"
