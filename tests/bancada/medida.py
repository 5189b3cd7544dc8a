"""O que uma figura devolve, e as contas sobre as rodadas. Puro."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class Rodada:
    """Uma rodada: o valor medido e a referência tirada logo em seguida, na mesma unidade.

    `nota` é o que a pessoa deve saber para ler o número (CPU por parte, recusas por fila cheia…).
    """

    valor: float
    referencia: float
    nota: str = ""

    @property
    def razao(self) -> float:
        return self.valor / self.referencia


@dataclass(frozen=True, slots=True, kw_only=True)
class Medida:
    """As rodadas de uma figura. O número dela é a mediana: uma rodada atrapalhada não o move."""

    figura: str
    unidade: str
    rodadas: tuple[Rodada, ...]

    @property
    def valor(self) -> float:
        return median(rodada.valor for rodada in self.rodadas)

    @property
    def referencia(self) -> float:
        return median(rodada.referencia for rodada in self.rodadas)

    @property
    def razao(self) -> float:
        return self.valor / self.referencia

    @property
    def dispersao(self) -> float:
        """Metade da distância entre a menor e a maior rodada, como fração da mediana."""
        valores = [rodada.valor for rodada in self.rodadas]
        return (max(valores) - min(valores)) / 2 / self.valor


def percentil(valores: Sequence[float], fracao: float) -> float:
    """O menor valor que não é superado por `fracao` da amostra (posto mais próximo, sem interpolar)."""
    ordenados = sorted(valores)
    return ordenados[max(0, math.ceil(fracao * len(ordenados)) - 1)]
