"""As câmeras: o cliente de verdade em processos próprios, cada um com a sua fila em disco e um link ruim até a web.

O link é o `Enlace` da simulação, que vê cada requisição e cada resposta, entregue ou não: é por ele que o oráculo sabe
o que o servidor prometeu. A primeira câmera grava num disco de verdade pequeno (tmpfs), onde se pode montar um; as
outras, e ela onde não se pode, ficam sem espaço por RLIMIT_FSIZE. O relógio da máquina não é tocado: o torto é
injetado.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from config.supervisao.processos import montar_lancamento
from ingestao.capturas.simulacao.enlace import INGESTAO, Destino, Enlace, Mensagem, Sorteio, sortear_perdas
from tests.caos.capturas import ler_corpo
from tests.caos.envio import Resposta
from tests.caos.oraculo_capturas import OraculoDeCapturas
from tests.caos.servidor import RAIZ

PERDA = 0.08
PASSO_S = 0.1
ESPERA_PARA_VOLTAR_S = (0.0, 1.5)
ESPERA_DA_CAIDA_S = 1.0  # como um supervisor de serviços faria
PRAZO_DA_PARTIDA_S = 15.0  # quem começou com o disco cheio pode só agora ter desistido
DISCO = "16m"
ENCHIMENTO = "enchimento"
OPCOES: dict[str, Any] = {
    "espera_base_s": 0.05, "espera_teto_s": 1.0, "retry_after_teto_s": 1, "pulso_s": 0.5, "pedidos_espera_s": 1,
    "prazo_resposta_s": 20, "disco_livre_minimo_bytes": 512 * 1024, "reserva_bytes": 1024 * 1024,
    "quadros_bytes": 3 * 1024 * 1024,
}  # fmt: skip
# No disco pequeno o recorte é quase o quadro: os quatro megabytes do diário se esgotam em segundos.
OPCOES_DO_DISCO_PEQUENO = {**OPCOES, "margem_px": 250}


class Camera:
    """Uma câmera: o processo, a fila, o enlace. Morta, o zelador do campo a religa."""

    def __init__(
        self,
        numero: int,
        *,
        semente: int,
        pasta: Path,
        porta: int,
        dispositivo: str,
        token: str,
        oraculo: OraculoDeCapturas,
    ) -> None:
        self.dispositivo, self.numero = dispositivo, numero
        self.pasta, self.fila = pasta, pasta / "fila"
        self.fila.mkdir(parents=True)
        self.em_disco_pequeno = numero == 0 and _montar_disco(self.fila)
        self.fim: dict[str, Any] | None = None
        self.qtd_mortes = self.qtd_vidas = 0
        self._semente, self._token, self._oraculo = semente, token, oraculo
        self._ordens: dict[str, Any] = {"relogio_s": 0, "disco_cheio": False, "rajada": False, "parar": False}
        self._trava = threading.Lock()
        self._processo: subprocess.Popen[bytes] | None = None
        self._leitor: threading.Thread | None = None
        self._voltar_em_s = 0.0
        self._liberado_em_s = float("-inf")
        self._mandar({})
        self.enlace = Enlace(porta, self._por_conexao(numero), ao_responder=self._ao_responder)

    # ---- Vida

    def zelar(self) -> None:
        """Religa a câmera morta, e toma o espaço que ela abriu no disco cheio.

        Só a thread do zelador chama: o núcleo mata o filho de uma thread que acaba.
        """
        with self._trava:
            if self._ordens["rajada"] and self.em_disco_pequeno:
                self._encher()
            if self.fim is not None or time.monotonic() < self._voltar_em_s:
                return
            if self._processo is not None:
                if (saida := self._processo.poll()) is None:
                    return
                self._conferir_saida(saida)
            if self.fim is None:
                self._iniciar()

    def matar(self, sorteio: Random) -> str:
        """SIGKILL; volta em instantes, na mesma fila."""
        with self._trava:
            if self._processo is None or self._processo.poll() is not None:
                return "já estava morta"
            self._voltar_em_s = time.monotonic() + sorteio.uniform(*ESPERA_PARA_VOLTAR_S)
            self._processo.kill()
            self._processo.wait()
            self.qtd_mortes += 1
            return f"SIGKILL na câmera {self.numero} (pid {self._processo.pid})"

    def encher_o_disco(self, *, cheio: bool) -> None:
        """Enche até a última página, ou libera."""
        if not cheio:
            self._liberado_em_s = time.monotonic()
        self._mandar({"rajada": cheio, "disco_cheio": cheio and not self.em_disco_pequeno})
        if not self.em_disco_pequeno:
            return None
        if cheio:
            return self._encher()
        return (self.fila / ENCHIMENTO).unlink(missing_ok=True)

    def entortar_o_relogio(self, segundos: int) -> None:
        """A hora de parede passa a mentir tantos segundos (0: volta ao certo)."""
        self._mandar({"relogio_s": segundos})

    def mandar_parar(self) -> None:
        """Escoar a fila e sair; `fim` é o retrato de quem escoou."""
        self._mandar({"parar": True})

    def encerrar(self) -> None:
        """SIGKILL, sem volta, e o disco desmontado."""
        with self._trava:
            self.fim = self.fim or {}
            if self._processo is not None:
                self._processo.kill()
                self._processo.wait()
        if self.em_disco_pequeno:
            subprocess.run(["umount", "--lazy", str(self.fila)], check=False)

    def _encher(self) -> None:
        """Ocupa até a última página do disco pequeno; o que já se ocupou fica."""
        with suppress(OSError), (self.fila / ENCHIMENTO).open("ab", buffering=0) as arquivo:
            while True:
                arquivo.write(bytes(4096))

    def _iniciar(self) -> None:
        comando = [
            *(sys.executable, "-m", "tests.caos.camera", self.enlace.url, str(self.fila)),
            *(str(self.qtd_vidas), f"{self._semente}:{self.numero}", str(self._arquivo_de_ordens)),
        ]
        opcoes = OPCOES_DO_DISCO_PEQUENO if self.em_disco_pequeno else OPCOES
        ambiente = {**os.environ, "APARELHO_TOKEN": self._token, "APARELHO_OPCOES": json.dumps(opcoes)}
        with (self.pasta / f"camera-{self.numero}.log").open("ab") as registro:
            self._processo = subprocess.Popen(
                montar_lancamento(comando, sinal_orfandade=signal.SIGKILL),
                cwd=RAIZ, env=ambiente, stdout=subprocess.PIPE, stderr=registro,
            )  # fmt: skip
        self.qtd_vidas += 1
        self._leitor = threading.Thread(target=self._ler, args=(self._processo,), daemon=True)
        self._leitor.start()

    def _conferir_saida(self, saida: int) -> None:
        """Só se sai por SIGKILL nosso, por ordem, ou porque com o disco cheio nem a fila abre."""
        assert self._leitor is not None
        self._leitor.join(10)
        agora_s = time.monotonic()
        cheio = self._ordens["rajada"] or agora_s - self._liberado_em_s < PRAZO_DA_PARTIDA_S
        if saida not in (0, -signal.SIGKILL) and self.fim is None:
            self._voltar_em_s = agora_s + ESPERA_DA_CAIDA_S
            if not cheio:
                self._oraculo.acusar(
                    f"a câmera {self.numero} morreu sozinha ({saida}); veja camera-{self.numero}.log"
                )

    def _ler(self, processo: "subprocess.Popen[bytes]") -> None:
        """O que a câmera diz; a última linha pode ter saído pela metade."""
        assert processo.stdout is not None
        for crua in processo.stdout:
            with suppress(json.JSONDecodeError):
                linha = json.loads(crua)
                if "ids" in linha:
                    self._oraculo.anotar_dita(self.dispositivo, linha["numero"], linha["ids"])
                elif "codigo" in linha:
                    self._oraculo.anotar_negada(self.dispositivo, linha["numero"], linha["codigo"])
                else:
                    self.fim = linha["fim"]

    def contar_ditas(self) -> int:
        """Quantas capturas ela disse ter guardado."""
        return self._oraculo.contar_ditas(self.dispositivo)

    # ---- Ordens

    @property
    def _arquivo_de_ordens(self) -> Path:
        return self.pasta / "ordens.json"

    def _mandar(self, ordens: Mapping[str, Any]) -> None:
        with self._trava:
            self._ordens.update(ordens)
            novo = self._arquivo_de_ordens.with_suffix(".novo")
            novo.write_text(json.dumps(self._ordens), "utf-8")
            novo.rename(self._arquivo_de_ordens)

    # ---- O que passa pelo enlace

    def _por_conexao(self, numero: int) -> Callable[[int], Sorteio]:
        perdas = sortear_perdas(PERDA, self._semente * 10 + numero)

        def da_conexao(conexao: int) -> Sorteio:
            sortear = perdas(conexao)

            def anotar_e_sortear(requisicao: Mensagem) -> Destino:
                self._anotar(requisicao)
                return sortear(requisicao)

            return anotar_e_sortear

        return da_conexao

    def _anotar(self, requisicao: Mensagem) -> None:
        if e_ingestao(requisicao):
            try:
                self._oraculo.anotar_envio(self.dispositivo, ler_requisicao(requisicao))
            except (ValueError, KeyError) as erro:
                self._oraculo.acusar(f"a câmera {self.numero} mandou o que não se lê: {erro!r}")

    def _ao_responder(self, requisicao: Mensagem, resposta: Mensagem) -> None:
        if not e_ingestao(requisicao):
            return
        cabecalhos = _ler_cabecalhos(resposta)
        lida = Resposta(status=int(resposta.linha.split()[1]), cabecalhos=cabecalhos, corpo=resposta.corpo)
        self._oraculo.anotar_resposta(self.dispositivo, ler_requisicao(requisicao), lida)


def e_ingestao(requisicao: Mensagem) -> bool:
    """Se é o POST de um lote."""
    return requisicao.linha.startswith(f"POST {INGESTAO} ")


def ler_requisicao(requisicao: Mensagem) -> list[Any]:
    """As capturas de um POST; levanta ValueError ou KeyError se não se lê."""
    return ler_corpo(requisicao.corpo, _ler_cabecalhos(requisicao).get("content-type", ""))


def _ler_cabecalhos(mensagem: Mensagem) -> dict[str, str]:
    linhas = mensagem.cabeca.decode("latin-1").split("\r\n")[1:]
    pares = (linha.partition(":") for linha in linhas if ":" in linha)
    return {nome.lower(): valor.strip() for nome, _, valor in pares}


def _montar_disco(ponto: Path) -> bool:
    """Um tmpfs pequeno, se este usuário pode montar um."""
    comando = ["mount", "-t", "tmpfs", "-o", f"size={DISCO}", "tmpfs", str(ponto)]
    with suppress(OSError):
        return subprocess.run(comando, capture_output=True, check=False).returncode == 0
    return False
