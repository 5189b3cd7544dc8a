"""O pulso: o estado do dispositivo, e a arrumação da casa que se faz na mesma batida."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from .contadores import Relato
from .envio import VERSAO
from .erros import FilaIndisponivel
from .fila import Fila, Medida
from .quadros import Quadros
from .relogio import Relogio, Suspeita, formatar_hora, ler_hora

ANOTACAO = "relogio"  # a suspeita atravessa processos: quem captura e quem envia podem ser dois


class VigiaDoRelogio:
    """A suspeita sobre o relógio de parede, guardada com a fila. Serve a várias threads."""

    def __init__(self, fila: Fila, relogio: Relogio) -> None:
        self._fila = fila
        self._relogio = relogio
        self._vez = threading.Lock()
        self._suspeita = self._ler()

    def suspeito(self) -> bool:
        """Confere agora, e diz se a hora de parede merece desconfiança."""
        with self._vez:
            agora = self._relogio.agora()
            self._suspeita = self._ler()  # quem ouve o servidor pode ser outro processo
            self._trocar(self._suspeita.conferir(agora, self._relogio.mono_ms(), self._relogio.boot_id))
            return self._suspeita.pesa_sobre(agora)

    def ouvir_servidor(self, hora_servidor: datetime) -> None:
        """A hora que veio numa resposta."""
        with self._vez:
            agora = self._relogio.agora()
            conferida = self._suspeita.conferir(agora, self._relogio.mono_ms(), self._relogio.boot_id)
            self._trocar(conferida.ouvir_servidor(hora_servidor, agora))

    def _trocar(self, nova: Suspeita) -> None:
        if nova != self._suspeita:
            self._suspeita = nova
            with suppress(FilaIndisponivel):  # sem disco, a suspeita fica só neste processo
                self._fila.gravar_anotacao(ANOTACAO, json.dumps(asdict(nova)))

    def _ler(self) -> Suspeita:
        agora, mono_ms = self._relogio.agora(), self._relogio.mono_ms()
        nova = Suspeita(self._relogio.boot_id, int(agora.timestamp() * 1000) - mono_ms)
        try:
            return Suspeita(**json.loads(self._fila.ler_anotacao(ANOTACAO) or "null"))
        except (TypeError, ValueError):  # nunca se anotou, ou foi outra versão
            with suppress(FilaIndisponivel):
                self._fila.gravar_anotacao(ANOTACAO, json.dumps(asdict(nova)))
            return nova


class Pulso:
    """Monta o pulso de uma fila."""

    def __init__(self, fila: Fila, quadros: Quadros, relogio: Relogio, vigia: VigiaDoRelogio) -> None:
        self._fila = fila
        self._quadros = quadros
        self._relogio = relogio
        self._vigia = vigia

    def montar(self, relato: Relato) -> bytes:
        """O JSON do protocolo."""
        medida = self._fila.medir()
        qtd_quadros, bytes_quadros = self._quadros.medir()
        corpo: dict[str, Any] = {
            "enviado_em": formatar_hora(self._relogio.agora()),
            "boot_id": self._relogio.boot_id,
            "versao": VERSAO,
            "fila": {
                "qtd": medida.prontos + medida.esperando,
                "mais_antigo_s": calcular_idade_s(medida, self._relogio),
            },
            "disco_livre_bytes": self._quadros.disco_livre_bytes(),
            "quarentena": medida.quarentena,
            "quadros": {"qtd": qtd_quadros, "bytes": bytes_quadros},
            "relogio_suspeito": self._vigia.suspeito(),
            **relato.montar(),
        }
        return json.dumps(corpo, separators=(",", ":")).encode()

    def ouvir_servidor(self, hora_servidor: datetime) -> None:
        """A hora que veio numa resposta absolve ou condena o relógio de parede."""
        self._vigia.ouvir_servidor(hora_servidor)

    def arrumar(self) -> None:
        """Quadros vencidos saem, páginas livres voltam ao disco, a reserva se refaz."""
        self._quadros.expurgar()
        self._fila.arquivo.devolver_espaco()
        self._fila.arquivo.refazer_reserva()


def calcular_idade_s(medida: Medida, relogio: Relogio) -> float | None:
    """A idade do mais antigo da fila: monotônica no mesmo boot, de parede (nunca negativa) depois de outro."""
    if medida.mais_antigo is None:
        return None
    capturado_em, boot_id, mono_ms = medida.mais_antigo
    if boot_id == relogio.boot_id:
        return (relogio.mono_ms() - mono_ms) / 1000
    capturado = ler_hora(capturado_em)
    return max(0.0, (relogio.agora() - capturado).total_seconds()) if capturado else None
