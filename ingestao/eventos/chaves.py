"""A chave pública → o aplicativo, com cache de segundos por processo."""

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from ingestao.models import Aplicativo

VALIDADE_S = 2.0  # uma mudança no painel vale em segundos; uma consulta por chave a cada dois
CHAVES_NA_MEMORIA = 10_000  # inclui as desconhecidas, para que adivinhar chaves não vire consulta nem memória


@dataclass(frozen=True, slots=True, kw_only=True)
class AplicativoVisto:
    """O que a porta precisa saber de um aplicativo. `franquia` em eventos por mês, None = sem limite."""

    id: uuid.UUID
    dominios: tuple[str, ...]
    franquia: int | None
    politica: str


class _Memoria:
    """Chave → (vence em, aplicativo ou None), limitada às usadas há menos tempo."""

    def __init__(self) -> None:
        self._trava = threading.Lock()
        self._guardados: OrderedDict[str, tuple[float, AplicativoVisto | None]] = OrderedDict()

    def buscar(self, chave: str) -> tuple[bool, AplicativoVisto | None]:
        with self._trava:
            vence_em, visto = self._guardados.get(chave, (float("-inf"), None))
        return time.monotonic() < vence_em, visto

    def guardar(self, chave: str, visto: AplicativoVisto | None) -> None:
        with self._trava:
            self._guardados[chave] = (time.monotonic() + VALIDADE_S, visto)
            self._guardados.move_to_end(chave)
            if len(self._guardados) > CHAVES_NA_MEMORIA:
                self._guardados.popitem(last=False)

    def esquecer(self) -> None:
        with self._trava:
            self._guardados.clear()


memoria = _Memoria()


def buscar_aplicativo(chave: str) -> AplicativoVisto | None:
    """Devolve o aplicativo não excluído dono da chave (atual, ou anterior na carência), ou None."""
    valida, visto = memoria.buscar(chave)
    if not valida:
        visto = _consultar(chave)
        memoria.guardar(chave, visto)
    return visto


def _consultar(chave: str) -> AplicativoVisto | None:
    if not chave.startswith("pk_"):
        return None
    linha = (
        Aplicativo.objects.filter(
            Q(chave=chave) | Q(chave_anterior=chave, chave_anterior_ate__gt=timezone.now()), deletado=False
        )
        .values_list("id", "dominios", "franquia", "politica")
        .first()
    )
    if linha is None:
        return None
    id_do_aplicativo, dominios, franquia, politica = linha
    return AplicativoVisto(
        id=id_do_aplicativo, dominios=tuple(dominios), franquia=franquia, politica=politica
    )
