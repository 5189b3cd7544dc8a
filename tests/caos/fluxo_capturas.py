"""O fluxo dos aparelhos de campo: três que falam o protocolo direto, e três câmeras com o cliente de verdade."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from random import Random
from typing import Any

import psycopg

from tests.caos.aparelhos import Aparelho
from tests.caos.campo import PASSO_S, Camera
from tests.caos.conferencia_capturas import conferir
from tests.caos.oraculo_capturas import OraculoDeCapturas
from tests.caos.servidor import ServidorLocal, esperar

QTD_DIRETOS = 3
QTD_CAMERAS = 3
PRAZO_DOS_APARELHOS_S = 60
PRAZO_DAS_CAMERAS_S = 150
DISCO_CHEIO_S = (3.0, 8.0)
SEM_REDE_S = (1.0, 4.0)
# Segundos que a hora de parede passa a mentir; zero é acertá-la.
DESVIOS_S = (0, 3_600, -3_600, 2 * 86_400, -40 * 86_400, 3_650 * 86_400, -1_700_000_000)
FOLGA_DA_LATENCIA_S = 300


class FluxoDeCapturas:
    """Aparelhos e câmeras, do primeiro envio à última fila vazia."""

    nome = "capturas"
    APARELHOS = tuple(f"caos-{n}" for n in range(QTD_DIRETOS + QTD_CAMERAS))

    def __init__(
        self,
        servidor: ServidorLocal,
        semente: int,
        cadastrados: Sequence[Mapping[str, str]],
        *,
        porta_do_rele: int,
    ) -> None:
        """`cadastrados` são o id e o token de cada um de `APARELHOS`."""
        self.oraculo = OraculoDeCapturas()
        self.qtd_linhas = 0
        self._dispositivos = [cadastrado["id"] for cadastrado in cadastrados]
        self._parar, self._desistir = threading.Event(), threading.Event()
        self._aparelhos = [
            Aparelho(
                numero,
                semente=semente,
                porta=servidor.porta if numero == 0 else porta_do_rele,
                dispositivo=cadastrado["id"],
                token=cadastrado["token"],
                oraculo=self.oraculo,
                parar=self._parar,
                desistir=self._desistir,
            )
            for numero, cadastrado in enumerate(cadastrados[:QTD_DIRETOS])
        ]
        self._cameras = [
            Camera(
                numero,
                semente=semente,
                pasta=servidor.pasta / f"camera-{numero}",
                porta=servidor.porta,
                dispositivo=cadastrado["id"],
                token=cadastrado["token"],
                oraculo=self.oraculo,
            )
            for numero, cadastrado in enumerate(cadastrados[QTD_DIRETOS:])
        ]
        self._pilha = ExitStack()
        self._zelador = threading.Thread(target=self._zelar, name="zelador", daemon=True)
        self._comeco_s = time.monotonic()

    @property
    def falhas(self) -> dict[str, Callable[[ServidorLocal, Random], str]]:
        """O que só acontece no campo."""
        return {
            "matar_camera": self.matar_camera,
            "encher_disco_da_camera": self.encher_disco_da_camera,
            "entortar_relogio_da_camera": self.entortar_relogio_da_camera,
            "tirar_rede_da_camera": self.tirar_rede_da_camera,
        }

    @property
    def qtd_prometidos(self) -> int:
        """As capturas de que se ouviu, ou o servidor disse, `gravado`."""
        return self.oraculo.livro.contar("SELECT count(*) FROM variante WHERE gravadas > 0")

    @property
    def violacoes(self) -> list[str]:
        return self.oraculo.violacoes

    # ---- Vida

    def iniciar(self) -> None:
        """Começa a carga."""
        for camera in self._cameras:
            self._pilha.enter_context(camera.enlace)
        self._zelador.start()
        for aparelho in self._aparelhos:
            aparelho.start()

    def terminar(self) -> None:
        """Acerta o que está torto, para de capturar e espera as filas escoarem; acusa a que não escoou."""
        self._parar.set()
        for camera in self._cameras:
            camera.encher_o_disco(cheio=False)
            camera.enlace.fora_do_ar.clear()
            camera.mandar_parar()
        limite = time.monotonic() + PRAZO_DOS_APARELHOS_S
        for aparelho in self._aparelhos:
            aparelho.join(max(0.0, limite - time.monotonic()))
        presos = sum(len(a.pendentes) or 1 for a in self._aparelhos if a.is_alive())
        if presos:
            self.oraculo.acusar(f"{presos} lotes sem resposta {PRAZO_DOS_APARELHOS_S} s depois das falhas")
        if not esperar(lambda: all(c.fim is not None for c in self._cameras), PRAZO_DAS_CAMERAS_S, PASSO_S):
            presas = [c.numero for c in self._cameras if c.fim is None]
            self.oraculo.acusar(f"as câmeras {presas} não escoaram a fila em {PRAZO_DAS_CAMERAS_S} s")

    def parar(self) -> None:
        """Encerra threads e processos."""
        self._parar.set()
        self._desistir.set()
        for thread in (*self._aparelhos, self._zelador):
            if thread.ident is not None:
                thread.join(30)
        for camera in self._cameras:
            camera.encerrar()
        self._pilha.close()

    def contar_por_fazer(self, servidor: ServidorLocal) -> int:
        """Nada: a captura confirmada já é a linha final."""
        return 0

    def conferir(self, banco: psycopg.Connection[Any]) -> None:
        """Cada captura prometida existe, uma vez, inteira; as contas fecham; as filas estão vazias."""
        duracao_s = time.monotonic() - self._comeco_s + FOLGA_DA_LATENCIA_S
        self.qtd_linhas = conferir(
            banco, self.oraculo, self._dispositivos, self._cameras, duracao_s=duracao_s
        )

    def progresso(self) -> str:
        respostas = self.oraculo.respostas
        return f"200={respostas['200']} 503={respostas['503']} sem resposta={respostas['sem resposta']}"

    def resumo(self) -> str:
        o = self.oraculo
        mortes = sum(camera.qtd_mortes for camera in self._cameras)
        descartes = [(camera.fim or {}).get("descartes") or {} for camera in self._cameras]
        return (
            f"{o.respostas['mandadas']} lotes mandados, {o.respostas['200']} aceitos, "
            f"{o.respostas['503']} adiados (503), {o.respostas['sem resposta']} sem resposta; "
            f"{self.qtd_prometidos} capturas prometidas, "
            f"{self.qtd_linhas} no banco; {o.livro.contar('SELECT count(*) FROM variante WHERE conflitos > 0')} "
            f"conflitos, {o.livro.contar('SELECT count(*) FROM recusa WHERE ouvidas > 0')} recusas; as câmeras "
            f"guardaram {o.livro.contar('SELECT count(*) FROM dita')}, negaram "
            f"{o.livro.contar('SELECT count(*) FROM negada')} e morreram {mortes} vezes (descartes {descartes})"
        )

    def _zelar(self) -> None:
        while not self._desistir.wait(PASSO_S):
            for camera in self._cameras:
                try:
                    camera.zelar()
                except Exception as erro:  # noqa: BLE001 - sem zelador, as câmeras mortas não voltariam
                    self.oraculo.acusar(f"o zelador quebrou: {erro!r}")

    # ---- As falhas (a forma é a de `falhas.Falha`)

    def matar_camera(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """SIGKILL no cliente; ele volta na mesma fila."""
        return sorteio.choice(self._cameras).matar(sorteio)

    def encher_disco_da_camera(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """Sem espaço e sem rede por alguns segundos: com rede, a fila escoaria e caberia no que já ocupa."""
        camera, dura_s = sorteio.choice(self._cameras), sorteio.uniform(*DISCO_CHEIO_S)
        camera.encher_o_disco(cheio=True)
        self._tirar_rede(camera, dura_s)
        threading.Timer(dura_s, lambda: camera.encher_o_disco(cheio=False)).start()
        como = "tmpfs" if camera.em_disco_pequeno else "RLIMIT_FSIZE"
        return f"câmera {camera.numero} sem espaço ({como}) e sem rede por {dura_s:.1f} s"

    def entortar_relogio_da_camera(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """A hora de parede salta, e fica assim até o próximo salto."""
        camera, desvio_s = sorteio.choice(self._cameras), sorteio.choice(DESVIOS_S)
        camera.entortar_o_relogio(desvio_s)
        return f"câmera {camera.numero}: hora deslocada em {desvio_s} s"

    def tirar_rede_da_camera(self, servidor: ServidorLocal, sorteio: Random) -> str:
        """Conexões cortadas e recusadas por alguns segundos."""
        camera, dura_s = sorteio.choice(self._cameras), sorteio.uniform(*SEM_REDE_S)
        self._tirar_rede(camera, dura_s)
        return f"câmera {camera.numero} sem rede por {dura_s:.1f} s"

    @staticmethod
    def _tirar_rede(camera: Camera, dura_s: float) -> None:
        camera.enlace.fora_do_ar.set()
        camera.enlace.derrubar_conexoes()
        threading.Timer(dura_s, camera.enlace.fora_do_ar.clear).start()
