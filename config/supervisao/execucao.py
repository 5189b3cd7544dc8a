"""Um serviço em andamento: o processo, a saída dele e o que fazer quando morre."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from .processos import montar_lancamento, sinalizar
from .saida import Registro, Terminal
from .servico import FalhaDePreparo, Servico

RECUO_INICIAL_S = 0.2
RECUO_MAXIMO_S = 10.0
VIDA_BOA_S = 30.0  # viveu isto: a queda seguinte é novidade, não a mesma de antes
QTD_ULTIMAS_LINHAS = 40
MAX_LEITURA_BYTES = 65_536
QTD_LEITURAS_FINAIS = 32  # esvazia um pipe de 1 MiB; quem mudou de sessão e segue escrevendo não nos prende
MAX_LINHA_BYTES = 16_384  # linha sem fim não pode crescer na memória do supervisor


class Execucao:
    """Mantém um Servico: inicia, lê a saída, percebe a morte e agenda a volta. Não bloqueia nem dorme."""

    def __init__(
        self, servico: Servico, dados: Path, terminal: Terminal, avisar: Callable[[str], None]
    ) -> None:
        self.servico = servico
        self.codigo_saida: int | None = None
        self.reiniciar_em: float | None = None
        self.parando = False
        self._terminal = terminal
        self._avisar = avisar
        self._processo: subprocess.Popen[bytes] | None = None
        self._arquivo_pid = dados / "pids" / f"{servico.nome}.pid"
        self._registro = Registro(dados / "registros" / f"{servico.nome}.log")
        self._ultimas_linhas: deque[str] = deque(maxlen=QTD_ULTIMAS_LINHAS)
        self._resto = b""
        self._saida_acabou = False
        self._recuo_s = RECUO_INICIAL_S
        self._iniciado_em = 0.0

    @property
    def viva(self) -> bool:
        """O processo foi iniciado e ainda não se viu a morte dele."""
        return self._processo is not None

    @property
    def pid(self) -> int | None:
        return self._processo.pid if self._processo else None

    @property
    def saida(self) -> int | None:
        """Descritor da saída do processo, para quem espera por ele; None se não há mais o que ler."""
        if self._processo is None or self._processo.stdout is None or self._saida_acabou:
            return None
        return self._processo.stdout.fileno()

    def iniciar(self) -> None:
        """Cria o processo em sessão própria. Levanta FalhaDePreparo. Só da thread principal."""
        self.reiniciar_em = None
        self.servico.antes_de_iniciar()
        self._ultimas_linhas.clear()
        self._saida_acabou = False
        try:
            self._processo = self._criar_processo()
        except OSError as erro:  # a pasta ou o programa sumiram: quem supervisiona não pode cair junto
            raise FalhaDePreparo(f"não pôde ser iniciado: {erro}") from erro
        assert self._processo.stdout is not None
        os.set_blocking(self._processo.stdout.fileno(), False)
        self._iniciado_em = time.monotonic()
        self._arquivo_pid.write_text(f"{self._processo.pid}\n", "ascii")

    def _criar_processo(self) -> "subprocess.Popen[bytes]":
        servico = self.servico
        return subprocess.Popen(
            montar_lancamento(
                servico.comando, sinal_orfandade=servico.sinal_orfandade, identidade=servico.identidade
            ),
            env=dict(servico.ambiente),
            cwd=servico.pasta,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Sessão própria: o Ctrl-C do terminal chega só ao supervisor, que para um por um na ordem certa.
            start_new_session=True,
        )

    def ler_saida(self) -> bool:
        """Reparte em linhas o que há na saída; False quando não veio nada (por ora, ou nunca mais)."""
        descritor = self.saida
        if descritor is None:
            return False
        try:
            bruto = os.read(descritor, MAX_LEITURA_BYTES)
        except BlockingIOError:
            return False
        self._saida_acabou = not bruto
        *linhas, self._resto = (self._resto + bruto).split(b"\n")
        if self._resto and (self._saida_acabou or len(self._resto) > MAX_LINHA_BYTES):
            linhas.append(self._resto)
            self._resto = b""
        for linha in linhas:
            self._publicar(linha.rstrip(b"\r"))
        return bool(bruto)

    def conferir(self) -> bool:
        """Percebe a morte do processo e, se ele deve voltar, agenda; devolve True se morreu agora."""
        if self._processo is None:
            return False
        codigo = self._processo.poll()
        if codigo is None:
            return False
        # Quem sobrou do grupo seguraria a porta e a saída do morto.
        sinalizar(self._processo.pid, signal.SIGKILL, grupo=True)
        for _ in range(QTD_LEITURAS_FINAIS):
            if not self.ler_saida():
                break
        self._esquecer_processo(codigo)
        if self.servico.reinicia and not self.parando:
            self._agendar_volta(codigo)
        return True

    def voltar(self) -> None:
        """Inicia de novo depois de uma queda; se nem começou, agenda outra tentativa."""
        try:
            self.iniciar()
        except FalhaDePreparo as falha:
            self._adiar()
            self._avisar(f"{self.servico.nome}: {falha}")

    def desistir_de_reiniciar(self) -> None:
        """Daqui em diante, morreu, ficou morto."""
        self.parando = True
        self.reiniciar_em = None

    def sinalizar(self, sinal: signal.Signals, *, grupo: bool = False) -> None:
        """Manda o sinal ao processo, ou ao grupo todo; sem processo, nada."""
        if self._processo is not None:
            sinalizar(self._processo.pid, sinal, grupo=grupo)

    def fechar(self) -> None:
        self._registro.fechar()

    def _publicar(self, linha: bytes) -> None:
        self._registro.acrescentar(linha)
        texto = linha.decode("utf-8", "replace")
        self._ultimas_linhas.append(texto)
        silencio = self.servico.silenciar
        if silencio is None or not silencio.search(texto):
            self._terminal.escrever(f"[{self.servico.nome}] {texto}" if self.servico.prefixar else texto)

    def _esquecer_processo(self, codigo: int) -> None:
        assert self._processo is not None and self._processo.stdout is not None
        if self._resto:
            self._publicar(self._resto)  # morreu no meio de uma linha: costuma ser a mais interessante
            self._resto = b""
        self._processo.stdout.close()
        self._processo = None
        self.codigo_saida = codigo
        with contextlib.suppress(OSError):
            self._arquivo_pid.unlink(missing_ok=True)

    def _agendar_volta(self, codigo: int) -> None:
        if time.monotonic() - self._iniciado_em >= VIDA_BOA_S:
            self._recuo_s = RECUO_INICIAL_S
        # Morto por sinal não tem o que consertar.
        conserto = self.servico.ao_cair(self._ultimas_linhas) if codigo > 0 else None
        if conserto:
            self._avisar(f"{self.servico.nome}: {conserto}")
        fim = f"sinal {-codigo}" if codigo < 0 else f"código {codigo}"
        self._avisar(f"{self.servico.nome} terminou ({fim}); volta em {self._recuo_s:.1f} s")
        self._adiar()

    def _adiar(self) -> None:
        self.reiniciar_em = time.monotonic() + self._recuo_s
        self._recuo_s = min(self._recuo_s * 2, RECUO_MAXIMO_S)
