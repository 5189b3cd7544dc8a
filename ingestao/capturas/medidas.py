"""As medidas das capturas e a conta de percentis a partir de faixas. Puro.

Distribuições (faixas): `latencia_ms` (da captura ao ACK, medida no aparelho), `bytes` (payload mais recorte, por
captura gravada) e `razao_ppm` (área do recorte ÷ área do quadro, em partes por milhão). Contadores (faixa 0):
`gravadas`, `reenvio_link`, `reenvio_fila`, `recortes_ausentes`, `recortes_sem_evento`, `relatos_ilegiveis`,
`latencias_sem_captura`, `invalidos:<codigo>`, `conflitos:<codigo>`, `descartados:<motivo>`.

A faixa 0 é o valor zero; a faixa k ≥ 1 vai de 1,1^(k−1) (inclusive) a 1,1^k (exclusive), e responde pela média
geométrica dos extremos: o erro é de no máximo √1,1 − 1 = 4,9 %. Faixas se somam: horas viram dias e aparelhos
viram o total sem perder nada, o que médias ou percentis guardados não permitiriam.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

LATENCIA_MS = "latencia_ms"
BYTES = "bytes"
RAZAO_PPM = "razao_ppm"
GRAVADAS = "gravadas"
REENVIO_LINK = "reenvio_link"
REENVIO_FILA = "reenvio_fila"
RECORTES_AUSENTES = "recortes_ausentes"
RECORTES_SEM_EVENTO = "recortes_sem_evento"
RELATOS_ILEGIVEIS = "relatos_ilegiveis"
LATENCIAS_SEM_CAPTURA = "latencias_sem_captura"
INVALIDOS = "invalidos:"
CONFLITOS = "conflitos:"
DESCARTADOS = "descartados:"

BASE = 1.1
FAIXA_MAXIMA = 400  # 1,1^400 ≈ 3,6e16: acima de qualquer latência ou tamanho possível
UM_EM_PPM = 1_000_000
# "O corte parou de funcionar": o recorte típico ocupa quase o quadro inteiro. Um corte que funciona fica ordens de
# grandeza abaixo; 0,8 deixa passar um close legítimo de vez em quando, e com menos de vinte amostras não se afirma.
RAZAO_DE_CORTE_PARADO = 0.8
AMOSTRAS_MINIMAS = 20

Contagens = Counter[tuple[str, int]]  # (medida, faixa) → quantas


def achar_faixa(valor: float) -> int:
    """A faixa de um valor; negativos e frações abaixo de 1 contam como zero."""
    if valor < 1:
        return 0
    return min(FAIXA_MAXIMA, 1 + math.floor(math.log(valor) / math.log(BASE) + 1e-9))


def valor_da_faixa(faixa: int) -> float:
    """O valor que a faixa representa (média geométrica dos extremos); zero na faixa 0."""
    return 0.0 if faixa <= 0 else BASE ** (faixa - 0.5)


def calcular_percentil(faixas: Mapping[int, int], fracao: float) -> float | None:
    """O percentil (posto mais próximo) de uma distribuição {faixa: quantas}; None sem amostras."""
    total = sum(faixas.values())
    if total <= 0:
        return None
    posto = max(1, math.ceil(fracao * total))
    vistos = 0
    for faixa in sorted(faixas):
        vistos += faixas[faixa]
        if vistos >= posto:
            return valor_da_faixa(faixa)
    return None


def decidir_corte_parado(faixas: Mapping[int, int]) -> bool:
    """O recorte típico ocupa quase o quadro: mediana ≥ 0,8 com vinte amostras ou mais."""
    mediana = calcular_percentil(faixas, 0.5)
    return (
        mediana is not None
        and sum(faixas.values()) >= AMOSTRAS_MINIMAS
        and mediana / UM_EM_PPM >= RAZAO_DE_CORTE_PARADO
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribuicao:
    """Mediana e p95 de uma medida, e quantas amostras os sustentam; nulos sem amostras."""

    amostras: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumo:
    """As medidas de um período. `razao` vai de 0 a 1 (área do recorte ÷ área do quadro)."""

    gravadas: int
    reenvios_link: int
    reenvios_fila: int
    recortes_ausentes: int
    latencia_ms: Distribuicao
    bytes: Distribuicao
    razao: Distribuicao
    corte_parado: bool
    invalidos: Mapping[str, int]
    conflitos: Mapping[str, int]
    descartados: Mapping[str, int]
    outros: Mapping[str, int]

    @property
    def taxa_de_reenvio(self) -> float | None:
        """Reenvios ÷ chegadas (gravadas mais reenvios); None sem nada."""
        reenvios = self.reenvios_link + self.reenvios_fila
        return reenvios / (self.gravadas + reenvios) if self.gravadas + reenvios else None


def resumir_contagens(contagens: Mapping[tuple[str, int], int]) -> Resumo:
    """O resumo de um período a partir das contagens somadas dele."""
    contadores: Counter[str] = Counter()
    distribuicoes: dict[str, dict[int, int]] = {LATENCIA_MS: {}, BYTES: {}, RAZAO_PPM: {}}
    for (medida, faixa), quantas in contagens.items():
        if medida in distribuicoes:
            distribuicoes[medida][faixa] = distribuicoes[medida].get(faixa, 0) + quantas
        else:
            contadores[medida] += quantas
    razao = distribuicoes[RAZAO_PPM]
    return Resumo(
        gravadas=contadores[GRAVADAS],
        reenvios_link=contadores[REENVIO_LINK],
        reenvios_fila=contadores[REENVIO_FILA],
        recortes_ausentes=contadores[RECORTES_AUSENTES],
        latencia_ms=_distribuir(distribuicoes[LATENCIA_MS]),
        bytes=_distribuir(distribuicoes[BYTES]),
        razao=_distribuir(razao, UM_EM_PPM),
        corte_parado=decidir_corte_parado(razao),
        invalidos=_com_prefixo(contadores, INVALIDOS),
        conflitos=_com_prefixo(contadores, CONFLITOS),
        descartados=_com_prefixo(contadores, DESCARTADOS),
        outros={
            nome: contadores[nome]
            for nome in (RECORTES_SEM_EVENTO, RELATOS_ILEGIVEIS, LATENCIAS_SEM_CAPTURA)
            if contadores[nome]
        },
    )


def truncar_na_hora(instante: datetime) -> datetime:
    """A hora cheia a que um instante pertence."""
    return instante.replace(minute=0, second=0, microsecond=0)


def _distribuir(faixas: Mapping[int, int], divisor: int = 1) -> Distribuicao:
    p50, p95 = (calcular_percentil(faixas, fracao) for fracao in (0.5, 0.95))
    return Distribuicao(
        amostras=sum(faixas.values()),
        p50=None if p50 is None else p50 / divisor,
        p95=None if p95 is None else p95 / divisor,
    )


def _com_prefixo(contadores: Mapping[str, int], prefixo: str) -> dict[str, int]:
    return {
        nome.removeprefix(prefixo): quantas
        for nome, quantas in sorted(contadores.items())
        if nome.startswith(prefixo)
    }
