"""A chave pública → o aplicativo, com cache de segundos por processo."""

import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass

from config.banco.cursor import cursor_direto
from ingestao.eventos.leitura import CHAVE_CARACTERES

VALIDADE_S = 4.0  # uma mudança no painel vale em segundos
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
    if not chave.startswith("pk_") or len(chave) > CHAVE_CARACTERES or "\x00" in chave:
        return None  # não pode existir: nem consulta, nem lugar na memória
    valida, visto = memoria.buscar(chave)
    if not valida:
        visto = _consultar(chave)
        memoria.guardar(chave, visto)
    return visto


# Índices: o único de chave e o de chave_anterior. Consulta preparada, sem o ORM: com muitos sites, quase todo
# lote encontra o cache vencido, e montar a consulta custava mais que gravá-lo.
SQL_BUSCAR = """
    SELECT id, dominios, franquia, politica FROM ingestao_aplicativo
    WHERE NOT deletado AND (chave = %(chave)s OR (chave_anterior = %(chave)s AND chave_anterior_ate > now()))
    LIMIT 1
"""


def _consultar(chave: str) -> AplicativoVisto | None:
    with cursor_direto() as cursor:
        linha = cursor.execute(SQL_BUSCAR, {"chave": chave}, prepare=True).fetchone()
    if linha is None:
        return None
    id_do_aplicativo, dominios, franquia, politica = linha
    return AplicativoVisto(
        id=id_do_aplicativo, dominios=tuple(dominios), franquia=franquia, politica=politica
    )
