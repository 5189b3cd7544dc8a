"""Um `manage.py local` de verdade numa pasta temporária: subir, achar os processos, matar, limpar."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import psutil
import psycopg

from config.embutido.enderecos import Enderecos, ler_enderecos
from config.supervisao.processos import montar_lancamento
from tests.caos.envio import SemResposta, perguntar

RAIZ = Path(__file__).resolve().parents[2]
PRAZO_DE_PE_S = 90  # leva 4 a 8 s; a máquina pode estar rodando o resto da suíte
PRAZO_PARADA_S = 30
PASSO_S = 0.02
SERVICOS = ("postgres", "valkey", "web", "worker", "beat")


class NaoFicouDePe(Exception):
    """O servidor não respondeu no prazo; a mensagem traz o fim da saída dele."""


class ServidorLocal:
    """Usar como bloco `with`. Tudo o que ele iniciou está morto na saída, tenha o teste falhado ou não.

    Chamar `iniciar` só da thread principal: o núcleo mata o filho quando a thread que o criou termina.
    """

    def __init__(self, *, ambiente: Mapping[str, str] | None = None, opcoes: Sequence[str] = ()) -> None:
        self.pasta = Path(tempfile.mkdtemp(prefix="lastro-caos-"))
        self.pasta.chmod(0o755)  # como root, o PostgreSQL roda com outro usuário e precisa atravessar
        self.dados = self.pasta / "dados"
        self.porta = porta_livre()
        self._opcoes = tuple(opcoes)
        self._ambiente_extra = dict(ambiente or {})
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._vistos: set[psutil.Process] = set()
        self._enderecos: Enderecos | None = None

    def __enter__(self) -> Self:
        try:
            self.iniciar()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.parar(com_pressa=True)
        finally:
            shutil.rmtree(self.pasta, ignore_errors=True)

    # ---- Vida

    def iniciar(self) -> None:
        """Sobe tudo e espera `/prontidao` responder 200; levanta NaoFicouDePe."""
        comando = [sys.executable, str(RAIZ / "manage.py"), "local", *self._opcoes]
        with self.saida.open("ab") as saida:
            self._supervisor = subprocess.Popen(
                montar_lancamento(comando, sinal_orfandade=signal.SIGTERM),
                env=self.ambiente(),
                cwd=RAIZ,
                stdin=subprocess.DEVNULL,
                stdout=saida,
                stderr=saida,
                start_new_session=True,
            )
        self.esperar_de_pe()

    def esperar_de_pe(self, prazo_s: float = PRAZO_DE_PE_S) -> None:
        """Espera `/prontidao` responder 200 e guarda os endereços; levanta NaoFicouDePe."""
        if not esperar(self.esta_pronto, prazo_s, passo_s=0.1):
            raise NaoFicouDePe(self.fim_da_saida())
        self._enderecos = ler_enderecos(self.dados) or self._enderecos
        self.anotar_processos()

    def esta_pronto(self) -> bool:
        """Diz se `/prontidao` responde 200 agora; levanta NaoFicouDePe se o supervisor já saiu."""
        if self._supervisor is None or self._supervisor.poll() is not None:
            raise NaoFicouDePe(self.fim_da_saida())
        try:
            return perguntar(self.porta, "/prontidao", prazo_s=5).status == 200
        except SemResposta:
            return False

    def parar(self, *, com_pressa: bool = False) -> None:
        """SIGTERM no supervisor, e SIGKILL no que restar de tudo o que ele iniciou.

        Com pressa, web, worker e beat levam SIGKILL logo; o PostgreSQL fecha direito, para não deixar
        memória compartilhada para trás.
        """
        if self._supervisor is None:
            return
        self.anotar_processos()
        self.sinalizar(self._vivos(), signal.SIGCONT)  # um processo congelado não obedece a SIGTERM
        with contextlib.suppress(ProcessLookupError):
            self._supervisor.send_signal(signal.SIGCONT)
            self._supervisor.terminate()
        if com_pressa:
            servidores = {self.pid_de("postgres"), self.pid_de("valkey")}
            dispensaveis = [p for p in self._vivos() if not self._descende(p, servidores)]
            self.sinalizar(dispensaveis, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(PRAZO_PARADA_S)
        self._matar_o_que_resta()

    def matar_tudo(self) -> None:
        """SIGKILL em tudo de uma vez, o supervisor primeiro: a queda da máquina, vista daqui."""
        self.anotar_processos()
        self._matar_o_que_resta()

    def _descende(self, processo: psutil.Process, pids: set[int | None]) -> bool:
        """O processo é o supervisor, um dos pids ou filho de um deles."""
        assert self._supervisor is not None
        try:
            return bool({processo.pid, processo.ppid()} & pids) or processo.pid == self._supervisor.pid
        except psutil.NoSuchProcess:
            return True

    def _matar_o_que_resta(self) -> None:
        assert self._supervisor is not None
        self._supervisor.kill()
        self._supervisor.wait()
        self.sinalizar(self._vivos(), signal.SIGKILL)
        psutil.wait_procs(self._vivos(), timeout=10)
        self._vistos.clear()
        self._supervisor = None

    # ---- Processos

    @property
    def supervisor(self) -> psutil.Process:
        assert self._supervisor is not None
        return psutil.Process(self._supervisor.pid)

    def pid_de(self, nome: str) -> int | None:
        """O pid que o supervisor anotou para o serviço; None enquanto ele está fora do ar."""
        try:
            return int((self.dados / "pids" / f"{nome}.pid").read_text("ascii"))
        except (OSError, ValueError):
            return None

    def processo(self, nome: str, prazo_s: float = 20) -> psutil.Process:
        """O processo principal do serviço, esperando que volte se acabou de cair."""
        achado: list[psutil.Process] = []

        def achar() -> bool:
            pid = self.pid_de(nome)
            with contextlib.suppress(psutil.NoSuchProcess):
                if pid is not None and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                    achado.append(psutil.Process(pid))
            return bool(achado)

        if not esperar(achar, prazo_s):
            raise NaoFicouDePe(f"{nome} não voltou em {prazo_s:.0f} s\n{self.fim_da_saida()}")
        return achado[0]

    def grupo(self, nome: str) -> list[psutil.Process]:
        """O processo principal do serviço e os descendentes dele, o principal primeiro."""
        principal = self.processo(nome)
        try:
            return [principal, *principal.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def anotar_processos(self) -> None:
        """Guarda quem existe agora sob o supervisor, para poder encerrar depois os que perderem o pai."""
        self._vistos = set(self._vivos())
        with contextlib.suppress(psutil.NoSuchProcess, AssertionError):
            self._vistos.update(self.supervisor.children(recursive=True))

    def _vivos(self) -> list[psutil.Process]:
        return [processo for processo in self._vistos if processo.is_running()]

    @staticmethod
    def sinalizar(processos: Iterable[psutil.Process], sinal: signal.Signals) -> None:
        """Manda o sinal a cada um; quem já morreu (ou cujo pid mudou de dono) não recebe nada."""
        for processo in processos:
            with contextlib.suppress(psutil.NoSuchProcess):
                processo.send_signal(sinal)

    @contextlib.contextmanager
    def congelado(self, *nomes: str) -> Iterator[None]:
        """SIGSTOP nos serviços e nos filhos deles; SIGCONT na saída. `supervisor` também é um nome.

        Com o supervisor congelado, quem morrer continua morto até o fim do bloco.
        """
        parados: list[psutil.Process] = []
        for nome in nomes:
            parados += [self.supervisor] if nome == "supervisor" else self.grupo(nome)
        self.sinalizar(parados, signal.SIGSTOP)
        try:
            yield
        finally:
            self.sinalizar(parados, signal.SIGCONT)

    @contextlib.contextmanager
    def sem_postgres(self) -> Iterator[None]:
        """O PostgreSQL morto (SIGKILL) e sem conseguir voltar até o fim do bloco.

        Os filhos morrem junto: órfãos, ainda confirmariam, com toda a razão, mais um COMMIT ou outro.
        O arquivo de configuração sai do lugar. Congelar o supervisor não serviria: sem ninguém a ler a saída
        da web, ela encheria o pipe com os avisos de banco fora do ar e pararia.
        """
        conf = self.dados / "postgres.conf"
        escondido = conf.with_suffix(".escondido")
        vivos = self.grupo("postgres")  # antes de congelar: com o supervisor parado ele não voltaria
        with self.congelado("supervisor"):
            self.sinalizar(vivos, signal.SIGKILL)
            conf.rename(escondido)
        try:
            yield
        finally:
            escondido.rename(conf)

    # ---- O que há dentro

    @property
    def saida(self) -> Path:
        return self.pasta / "saida.log"

    def fim_da_saida(self, linhas: int = 30) -> str:
        """As últimas linhas do que o supervisor disse."""
        texto = self.saida.read_text("utf-8", "replace") if self.saida.exists() else ""
        return "\n".join(texto.splitlines()[-linhas:])

    @property
    def enderecos(self) -> Enderecos:
        assert self._enderecos is not None
        return self._enderecos

    def conectar(self, **opcoes: Any) -> psycopg.Connection[Any]:
        """Uma conexão direta com o banco, em autocommit, sem passar pelo Lastro."""
        return psycopg.connect(self.enderecos.banco_url, autocommit=True, connect_timeout=5, **opcoes)

    def consultar(self, sql: str, parametros: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """As linhas de uma consulta, numa conexão nova."""
        with self.conectar() as conexao:
            return conexao.execute(sql, parametros).fetchall()

    def ambiente(self, **mais: str) -> dict[str, str]:
        """O ambiente do servidor: o nosso, sem os endereços de quem está rodando os testes."""
        alheios = ("DATABASE_URL", "REDIS_URL", "DJANGO_", "LASTRO_", "PYTEST_", "COV_")
        limpo = {nome: valor for nome, valor in os.environ.items() if not nome.startswith(alheios)}
        daqui = {"LASTRO_DADOS": str(self.dados), "PORTA": str(self.porta)}
        return {**limpo, **self._ambiente_extra, **daqui, **mais}

    def rodar_modulo(self, modulo: str, *argumentos: str, prazo_s: float = 60) -> Any:
        """Roda `python -m modulo` ao lado do servidor e devolve o JSON que ele imprimiu."""
        fim = subprocess.run(
            [sys.executable, "-m", modulo, *argumentos],
            env=self.ambiente(),
            cwd=RAIZ,
            capture_output=True,
            text=True,
            timeout=prazo_s,
        )
        if fim.returncode != 0:
            raise NaoFicouDePe(f"{modulo} falhou:\n{fim.stderr[-2000:]}")
        return json.loads(fim.stdout.strip().splitlines()[-1])


def esperar(condicao: Any, prazo_s: float, passo_s: float = PASSO_S) -> bool:
    """Repete a pergunta até valer (True) ou o prazo acabar (False)."""
    limite = time.monotonic() + prazo_s
    while not condicao():
        if time.monotonic() > limite:
            return False
        time.sleep(passo_s)
    return True


def porta_livre() -> int:
    """Uma porta de 127.0.0.1 que ninguém usa agora."""
    with socket.socket() as tentativa:
        tentativa.bind(("127.0.0.1", 0))
        return int(tentativa.getsockname()[1])
