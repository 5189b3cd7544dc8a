"""Dois relógios: o monotônico, que mede, e o de parede, que só data e pode mentir.

Recuo, latência e idade usam só o monotônico. Ele recomeça a cada boot; por isso todo instante guardado leva
o `boot_id`, e instantes de boots diferentes não se comparam.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

RELOGIO_MONOTONICO: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # BOOTTIME só há no Linux
ARQUIVO_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Nenhuma captura é de antes deste programa: relógio aqui ou atrás é placa sem bateria, em 1970.
MENOR_HORA_CRIVEL = datetime(2025, 1, 1, tzinfo=timezone.utc)
SALTO_TOLERADO_MS = 30_000  # o NTP anda no máximo 0,5 ms por segundo; mais que isto é alguém acertando a hora
DIFERENCA_TOLERADA_S = 120.0  # contra a hora do servidor, somada à demora da resposta num link ruim


class Relogio:
    """O relógio da máquina. Os testes põem outro no lugar."""

    def __init__(self) -> None:
        self.boot_id = ler_boot_id()

    def agora(self) -> datetime:
        """A hora de parede, em UTC."""
        return datetime.now(timezone.utc)

    def mono_ms(self) -> int:
        """Milissegundos que só crescem dentro de um boot, dormindo ou não (BOOTTIME, onde existe)."""
        return time.clock_gettime_ns(RELOGIO_MONOTONICO) // 1_000_000


def ler_boot_id() -> str:
    """O boot_id do núcleo. Sem ele, um por processo: perdem-se latências, não se inventa nenhuma."""
    try:
        return ARQUIVO_BOOT_ID.read_text("ascii").strip()
    except (OSError, ValueError):
        return f"processo-{uuid.uuid4()}"


def formatar_hora(instante: datetime) -> str:
    """ISO 8601 em UTC com milissegundos e Z."""
    return instante.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ler_hora(texto: object) -> datetime | None:
    """ISO 8601 com fuso → instante; None se não for. O Python 3.9 não lê o Z."""
    if not isinstance(texto, str):
        return None
    try:
        instante = datetime.fromisoformat(texto[:-1] + "+00:00" if texto.endswith("Z") else texto)
    except ValueError:
        return None
    return instante if instante.tzinfo is not None else None


@dataclass(frozen=True)
class Suspeita:
    """O que se sabe do relógio de parede. `deslocamento_ms` é parede menos monotônico, no boot `boot_id`."""

    boot_id: str
    deslocamento_ms: int
    saltou: bool = False
    discorda: bool = False

    def conferir(self, agora: datetime, mono_ms: int, boot_id: str) -> Suspeita:
        """A suspeita atualizada: um salto da parede em relação ao monotônico fica anotado."""
        deslocamento_ms = int(agora.timestamp() * 1000) - mono_ms
        if boot_id != self.boot_id:
            return replace(self, boot_id=boot_id, deslocamento_ms=deslocamento_ms)
        saltou = abs(deslocamento_ms - self.deslocamento_ms) > SALTO_TOLERADO_MS
        # A referência só anda no salto: um desvio lento também acaba aparecendo.
        referencia_ms = deslocamento_ms if saltou else self.deslocamento_ms
        return replace(self, deslocamento_ms=referencia_ms, saltou=self.saltou or saltou)

    def ouvir_servidor(self, hora_servidor: datetime, agora: datetime) -> Suspeita:
        """A hora do servidor absolve o salto, ou mostra que a nossa está errada."""
        if abs(hora_servidor - agora) > timedelta(seconds=DIFERENCA_TOLERADA_S):
            return replace(self, discorda=True)
        return replace(self, saltou=False, discorda=False)

    def pesa_sobre(self, agora: datetime) -> bool:
        """Diz se a hora de parede de agora merece desconfiança."""
        return self.saltou or self.discorda or agora < MENOR_HORA_CRIVEL
