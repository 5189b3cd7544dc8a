"""Aparelhos simulados: cada um é o cliente de verdade numa pasta sua; no fim se confere cada evento no banco."""

import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import Sum

from ingestao.capturas.simulacao.enlace import Contas, Enlace, sortear_perdas
from ingestao.capturas.simulacao.imagens import sortear_cena
from ingestao.cliente import Cliente
from ingestao.models import Captura

OPCOES: dict[str, Any] = {
    "espera_base_s": 0.05,  # o link cai de propósito a toda hora: esperar minutos não provaria mais nada
    "espera_teto_s": 1.0,
    "pulso_s": 2.0,
    "pedidos_espera_s": 2,
    "quadros_bytes": 32 * 1024 * 1024,
}
PRAZO_PARA_ESCOAR_S = 120.0
INTERVALO_S = (0.02, 0.25)  # entre capturas de um aparelho
PASSO_S = 2.0


@dataclass(slots=True, kw_only=True)
class Aparelho:
    """Um dispositivo do banco e o que ele disse ter capturado."""

    id: UUID
    token: str
    ids: list[str] = field(default_factory=list)
    escoou: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanco:
    """O que se capturou, o que está no servidor, e se os reenvios contados são os causados."""

    capturados: int
    no_servidor: int
    perdidos: int
    duplicatas: int
    reenvios_causados: int
    reenvios_link: int
    reenvios_fila: int
    cortes: dict[str, int]
    na_fila: int

    @property
    def fecha(self) -> bool:
        """Se cada evento está lá uma vez, e a conta dos reenvios é exata."""
        certo = not (self.perdidos or self.duplicatas or self.reenvios_fila or self.na_fila)
        return certo and self.capturados > 0 and self.reenvios_link == self.reenvios_causados

    def descrever(self) -> dict[str, Any]:
        """O balanço como um objeto JSON."""
        campos = ("capturados", "no_servidor", "perdidos", "duplicatas", "reenvios_causados", "reenvios_link",
                  "reenvios_fila", "cortes", "na_fila")  # fmt: skip
        return {**{nome: getattr(self, nome) for nome in campos}, "fecha": self.fecha}


def simular(
    aparelhos: Sequence[Aparelho],
    *,
    porta: int,
    perda: float,
    segundos: float,
    semente: int,
    avisar: Callable[[str], None] = lambda texto: None,
) -> Balanco:
    """Captura por tantos segundos com o link perdendo, espera as filas escoarem (ainda perdendo) e confere.

    O servidor não pode cair no meio: um ACK perdido por queda dele não está na conta do link.
    """
    with Enlace(porta, sortear_perdas(perda, semente)) as enlace, tempfile.TemporaryDirectory() as pasta:
        fim_s = time.monotonic() + segundos
        threads = [
            threading.Thread(
                target=viver,
                args=(
                    aparelho,
                    enlace.url,
                    Path(pasta) / str(numero),
                    random.Random(f"{semente}/{numero}"),
                    fim_s,
                ),
            )
            for numero, aparelho in enumerate(aparelhos)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(PASSO_S / 20)
            avisar(f"{sum(len(a.ids) for a in aparelhos)} capturados, {_descrever_cortes(enlace.contas)}")
        for thread in threads:
            thread.join()
        return conferir(aparelhos, enlace.contas)


def viver(aparelho: Aparelho, url: str, pasta: Path, dado: random.Random, fim_s: float) -> None:
    """Captura até a hora, e espera a fila escoar."""
    with ExitStack() as saida:
        cliente = saida.enter_context(Cliente(url, aparelho.token, pasta, **OPCOES))
        while time.monotonic() < fim_s:
            cena = sortear_cena(dado)
            aparelho.ids += cliente.capturar(cena.quadro, cena.caixas, cena.payload)
            time.sleep(dado.uniform(*INTERVALO_S))
        aparelho.escoou = cliente.esperar_esvaziar(PRAZO_PARA_ESCOAR_S)


def conferir(aparelhos: Sequence[Aparelho], contas: Contas) -> Balanco:
    """O balanço, lido do banco."""
    gravadas = Captura.objects.filter(dispositivo__in=[aparelho.id for aparelho in aparelhos])
    no_servidor = {str(id_) for id_ in gravadas.values_list("id_evento", flat=True)}
    capturados = {id_ for aparelho in aparelhos for id_ in aparelho.ids}
    somas = gravadas.aggregate(link=Sum("reenvios_link"), fila=Sum("reenvios_fila"))
    return Balanco(
        capturados=len(capturados),
        no_servidor=len(no_servidor),
        perdidos=len(capturados - no_servidor),
        duplicatas=len(no_servidor - capturados),
        reenvios_causados=contas.eventos_sem_ack,
        reenvios_link=somas["link"] or 0,
        reenvios_fila=somas["fila"] or 0,
        cortes=dict(contas.destinos),
        na_fila=sum(not aparelho.escoou for aparelho in aparelhos),
    )


def _descrever_cortes(contas: Contas) -> str:
    return ", ".join(f"{nome} {qtd}" for nome, qtd in sorted(contas.destinos.items()))
