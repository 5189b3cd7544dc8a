"""Os aparelhos da demonstração, o jeito de cada um, e o que viram na semana. Puro."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from itertools import groupby
from typing import Any
from uuid import UUID

from painel.demonstracao.cenas import ALTURA, LARGURA, MARGEM, Assunto, Cena, pintar
from painel.demonstracao.semente import Semente, Tamanho, sortear_instantes

CALADO_DESDE = timedelta(days=2, hours=3)
CORTE_PARADO_DESDE = timedelta(days=2)
GUARDA_DO_QUADRO = timedelta(days=15)
SEM_PRESSA_S = 7 * 86_400  # ninguém fala por eles depois da demonstração: não é um aparelho que sumiu
COM_PRESSA_S = 900
SEM_HORA_CERTA = datetime(2000, 1, 1, 0, 4, 12, tzinfo=UTC)


class Jeito(Enum):
    """O que há com o aparelho."""

    SAUDAVEL = "saudavel"
    LINK_RUIM = "link_ruim"
    FILA_COM_DEFEITO = "fila_com_defeito"
    CALADO = "calado"
    CORTE_PARADO = "corte_parado"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aparelho:
    """Um aparelho: quantas capturas na semana, do quê, e quanto leva até o ACK (mediana, em ms)."""

    apelido: str
    nome: str
    jeito: Jeito
    capturas: int
    assuntos: tuple[Assunto, ...]
    latencia_ms: int

    @property
    def silencioso_apos_s(self) -> int:
        """Quanto se espera por ele."""
        return COM_PRESSA_S if self.jeito is Jeito.CALADO else SEM_PRESSA_S


APARELHOS = (
    Aparelho(
        apelido="portaria-1",
        nome="Portaria 1 · Sede",
        jeito=Jeito.SAUDAVEL,
        capturas=50,
        assuntos=(Assunto.CARRO, Assunto.CARRO, Assunto.PESSOA),
        latencia_ms=420,
    ),
    Aparelho(
        apelido="doca-3",
        nome="Doca 3 · Expedição",
        jeito=Jeito.LINK_RUIM,
        capturas=36,
        assuntos=(Assunto.CAMINHAO,),
        latencia_ms=5_200,
    ),
    Aparelho(
        apelido="patio-norte",
        nome="Pátio Norte",
        jeito=Jeito.FILA_COM_DEFEITO,
        capturas=32,
        assuntos=(Assunto.PESSOA, Assunto.CAMINHAO),
        latencia_ms=700,
    ),
    Aparelho(
        apelido="estrada-km-42",
        nome="Estrada, km 42",
        jeito=Jeito.CALADO,
        capturas=22,
        assuntos=(Assunto.CARRO, Assunto.CAMINHAO),
        latencia_ms=900,
    ),
    Aparelho(
        apelido="balanca",
        nome="Balança rodoviária",
        jeito=Jeito.CORTE_PARADO,
        capturas=50,
        assuntos=(Assunto.CAMINHAO, Assunto.CARRO),
        latencia_ms=560,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visto:
    """Uma detecção. `vezes`: quantas o aparelho a manda; `latencia_ms`, o que ele mediu até o ACK."""

    aparelho: Aparelho
    id_evento: UUID
    capturado_em: datetime
    seq: int
    assunto: Assunto
    recorta: bool
    vezes: int
    latencia_ms: int

    def pintar(self, semente: Semente) -> Cena:
        """A cena, sempre a mesma: contestada, o quadro que sobe é este."""
        acaso = semente.sorteio(f"cena {self.id_evento}")
        noite = not 6 <= self.capturado_em.hour < 18
        return pintar(acaso, self.assunto, noite=noite, recortar=self.recorta)


def ver_a_semana(aparelho: Aparelho, semente: Semente, tamanho: Tamanho, agora: datetime) -> list[Visto]:
    """O que o aparelho viu, do mais antigo ao mais novo; o calado para antes de `agora`."""
    acaso = semente.sorteio(f"capturas de {aparelho.apelido}")
    ate = agora - CALADO_DESDE if aparelho.jeito is Jeito.CALADO else agora
    instantes = _sortear_a_semana(acaso, aparelho.capturas * tamanho.vezes, ate)
    return [
        Visto(
            aparelho=aparelho,
            id_evento=semente.uuid(f"{aparelho.apelido}#{seq}"),
            capturado_em=instante.replace(microsecond=acaso.randrange(1_000) * 1_000),
            seq=seq,
            assunto=acaso.choice(aparelho.assuntos),
            recorta=not (aparelho.jeito is Jeito.CORTE_PARADO and instante > agora - CORTE_PARADO_DESDE),
            vezes=_sortear_vezes(acaso.random(), aparelho.jeito),
            latencia_ms=round(aparelho.latencia_ms * acaso.lognormvariate(0, 0.6)),
        )
        for seq, instante in enumerate(instantes, start=1)
    ]


def _sortear_a_semana(acaso: random.Random, quantas: int, ate: datetime) -> list[datetime]:
    """Metade no último dia: as telas olham 24 horas, e um corte parado só se afirma com vinte capturas."""
    semana = sortear_instantes(acaso, quantas // 2, agora=ate, um_na_hora_a_cada=20)
    ontem = ate - timedelta(hours=22)
    dia = sortear_instantes(acaso, quantas - quantas // 2, agora=ate, desde=ontem, um_na_hora_a_cada=20)
    return sorted([*semana, *dia])


def _sortear_vezes(sorte: float, jeito: Jeito) -> int:
    """Quantas vezes a mesma captura é mandada."""
    if jeito is Jeito.LINK_RUIM:
        return 1 + (sorte < 0.45) + (sorte < 0.12)
    return 1 + (sorte < (0.3 if jeito is Jeito.FILA_COM_DEFEITO else 0.02))


def juntar_em_contatos(vistos: list[Visto]) -> Iterator[list[Visto]]:
    """As capturas de uma mesma hora vão num lote só: é a menor fatia de tempo das medidas."""
    for _, grupo in groupby(vistos, key=lambda v: v.capturado_em.replace(minute=0, second=0, microsecond=0)):
        yield list(grupo)


def descrever_evento(visto: Visto, cena: Cena, *, idade_ms: int | None, tentativa: int) -> dict[str, Any]:
    """O evento como o aparelho o manda."""
    caixa = cena.caixa
    return {
        "id_evento": str(visto.id_evento),
        "capturado_em": visto.capturado_em.isoformat(timespec="milliseconds"),
        "idade_ms": idade_ms,
        "seq": visto.seq,
        "tentativa": tentativa,
        "payload": descrever_deteccao(visto, cena),
        "quadro": {
            "largura": LARGURA,
            "altura": ALTURA,
            "bytes": len(cena.quadro),
            "sha256": cena.quadro_sha256,
            "expira_em": (visto.capturado_em + GUARDA_DO_QUADRO).isoformat(timespec="seconds"),
        },
        "caixa": {
            "x": caixa.x,
            "y": caixa.y,
            "largura": caixa.largura,
            "altura": caixa.altura,
            "margem": MARGEM,
        },
    }


def descrever_deteccao(visto: Visto, cena: Cena) -> dict[str, Any]:
    """O payload: o que o modelo do aparelho diz ter visto."""
    lido = {"placa": cena.placa} if cena.placa else {}
    return {
        "classe": visto.assunto.value,
        "confianca": round(0.82 + (visto.seq * 37 % 17) / 100, 2),
        "modelo": "deteccao-2.4",
        **lido,
    }
