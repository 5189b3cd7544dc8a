"""Uma fila, um relógio de mentira e um remetente que anda um passo por vez."""

import io
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ingestao.cliente.cliente import Cliente
from ingestao.cliente.relogio import Relogio
from ingestao.cliente.remetente import Remetente
from tests.ingestao.cliente.servidor import Servidor, servidor_no_ar

TOKEN = "token-do-aparelho-que-ninguem-pode-ver"
CAIXA = (20, 10, 60, 40)


class RelogioFalso(Relogio):
    """Anda só quando mandam. A parede e o monotônico são independentes, como na vida."""

    def __init__(self, agora: datetime = datetime(2026, 11, 30, 18, tzinfo=UTC)) -> None:
        self.boot_id = "boot-1"
        self.parede = agora
        self.mono = 1_000_000

    def agora(self) -> datetime:
        return self.parede

    def mono_ms(self) -> int:
        return self.mono

    def andar(self, segundos: float) -> None:
        self.mono += round(segundos * 1000)
        self.parede += timedelta(seconds=segundos)

    def reiniciar(self) -> None:
        """A placa reiniciou: o monotônico recomeça."""
        self.boot_id = "boot-2"
        self.mono = 5_000


@dataclass
class Bancada:
    """Um cliente sem threads: `andar` dá os passos, pulando no relógio o que o remetente dormiria."""

    cliente: Cliente
    remetente: Remetente
    relogio: RelogioFalso
    servidor: Servidor
    dormidas_s: list[float] = field(default_factory=list)

    def andar(self, ate: Callable[[], bool], *, passos: int = 400) -> bool:
        """Passo a passo até valer; False se não valeu em tantos passos."""
        for _ in range(passos):
            if ate():
                return True
            dormir_s = self.remetente.passo()
            self.dormidas_s.append(dormir_s)
            self.relogio.andar(dormir_s + 0.001)
        return ate()

    def esvaziar(self, *, passos: int = 400) -> bool:
        return self.andar(lambda: self.por_enviar == 0, passos=passos)

    def capturar(self, qtd: int = 1, **mais: Any) -> list[str]:
        return [self.cliente.capturar(desenhar_quadro(), [CAIXA], {"n": n, **mais})[0] for n in range(qtd)]

    @property
    def por_enviar(self) -> int:
        medida = self.cliente.fila.medir()
        return medida.prontos + medida.esperando

    @property
    def quarentena(self) -> dict[str, str]:
        return {item.id_evento: item.motivo for item in self.cliente.fila.quarentena.listar()}


Montar = Callable[..., Bancada]


@pytest.fixture
def servidor() -> Iterator[Servidor]:
    with servidor_no_ar() as no_ar:
        yield no_ar


@pytest.fixture
def relogio() -> RelogioFalso:
    return RelogioFalso()


@pytest.fixture
def pasta(tmp_path: Path) -> Iterator[Path]:
    """Na memória, onde há: estes testes conferem a lógica, e milhares de fsync só custariam tempo."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="lastro-captura-", dir="/dev/shm") as na_memoria:
        yield Path(na_memoria)


@pytest.fixture
def disco_pequeno(tmp_path: Path) -> Iterator[Path]:
    """Um disco de 3 MB só deste teste, para encher de verdade. Montar pede root."""
    ponto = tmp_path / "disco"
    ponto.mkdir()
    comando = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(ponto)]
    if subprocess.run(comando, capture_output=True, check=False).returncode != 0:
        pytest.skip("montar um disco pequeno pede root; o teste da cota do SQLite cobre o erro dele")
    try:
        yield ponto
    finally:
        subprocess.run(["umount", "--lazy", str(ponto)], check=True)


@pytest.fixture
def montar(pasta: Path, relogio: RelogioFalso, servidor: Servidor) -> Iterator[Montar]:
    """Monta uma bancada; chamada de novo, é o processo que reabriu a mesma fila."""
    servidor.mundo.hora_servidor = relogio.agora
    abertas: list[Cliente] = []

    def abrir(**opcoes: Any) -> Bancada:
        for anterior in abertas:
            anterior.fechar()
        opcoes = {"espera_base_s": 1.0, "prazo_conexao_s": 2.0, "prazo_resposta_s": 5.0, **opcoes}
        cliente = Cliente(
            servidor.url, TOKEN, pasta, enviar=False, relogio=relogio, pedidos_espera_s=0, **opcoes
        )
        abertas.append(cliente)
        remetente = cliente.montar_remetente(sorteio=lambda: 0.9)
        return Bancada(cliente, remetente, relogio, servidor)

    yield abrir
    for cliente in abertas:
        cliente.fechar()


@pytest.fixture
def bancada(montar: Montar) -> Bancada:
    return montar()


def desenhar_quadro(largura: int = 160, altura: int = 120, cor: int = 90) -> bytes:
    """Um JPEG de verdade."""
    saida = io.BytesIO()
    Image.new("RGB", (largura, altura), (cor, 120, 200 - cor)).save(saida, "JPEG")
    return saida.getvalue()
