"""Profundidade e idade de uma caixa, e o teto acima do qual a porta se fecha."""

import threading
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from ingestao.caixa.fila import Caixa

VALIDADE_S = 0.5  # a porta mede no máximo duas vezes por segundo e por processo
ESPERA_DE_PORTA_FECHADA_S = 5

# O LIMIT limita o custo: acima do teto não importa por quanto. A idade é a de quem espera por um worker:
# o item em recuo espera pela própria hora, e não diz que o servidor está atrasado. Índice: <tabela>_pendente.
SQL_MEDIR = """
    SELECT
        (SELECT count(*) FROM (SELECT 1 FROM {tabela} WHERE estacionado_em IS NULL LIMIT %(limite)s) AS p),
        (SELECT recebido_em FROM {tabela} WHERE estacionado_em IS NULL
            AND (disponivel_em IS NULL OR disponivel_em <= now()) ORDER BY id LIMIT 1)
"""


class PortaFechada(Exception):
    """A caixa passou do teto: aceitar mais seria prometer o que não se consegue aplicar."""

    espera_s = ESPERA_DE_PORTA_FECHADA_S


@dataclass(frozen=True, slots=True, kw_only=True)
class MedidaDaCaixa:
    """Quantos itens pendentes (até o limite da consulta) e há quanto tempo espera o mais antigo."""

    profundidade: int
    mais_antigo_em: datetime | None

    def idade_s(self, agora: datetime) -> float:
        """Segundos de espera do item mais antigo; zero com a caixa vazia."""
        return max(0.0, (agora - self.mais_antigo_em).total_seconds()) if self.mais_antigo_em else 0.0


def medir(caixa: Caixa, *, limite: int) -> MedidaDaCaixa:
    """Mede a caixa agora, contando até `limite` itens."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_MEDIR.format(tabela=caixa.tabela), {"limite": limite})
        profundidade, mais_antigo_em = cursor.fetchone()
    return MedidaDaCaixa(profundidade=profundidade, mais_antigo_em=mais_antigo_em)


class TetoDaPorta:
    """Fecha a porta de um processo quando a caixa passa do teto; mede no máximo a cada `VALIDADE_S`."""

    def __init__(self, caixa: Caixa) -> None:
        self._caixa = caixa
        self._trava = threading.Lock()
        self._medido_em = float("-inf")
        self._profundidade = 0

    def conferir(self, teto: int) -> None:
        """Levanta `PortaFechada` com a caixa em `teto` itens ou mais."""
        if time.monotonic() - self._medido_em > VALIDADE_S and self._trava.acquire(blocking=False):
            try:
                self._profundidade = medir(self._caixa, limite=teto).profundidade
                self._medido_em = time.monotonic()
            finally:
                self._trava.release()
        if self._profundidade >= teto:
            raise PortaFechada


def idade_s(caixa: Caixa) -> float:
    """Há quantos segundos espera o item mais antigo da caixa."""
    return medir(caixa, limite=1).idade_s(timezone.now())
