"""Mantém os serviços de pé e os para na ordem certa. Uma thread só: ver `processos.montar_lancamento`."""

import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from .execucao import Execucao
from .processos import encerrar, ler_variavel, listar_grupo
from .saida import Terminal
from .servico import FalhaDePreparo, ParadaPedida, Servico

SINAIS_DE_PARADA = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
VOLTA_MAXIMA_S = 0.5  # ninguém nos avisa que chegou a hora de um reinício; sinais e saídas acordam antes
# O mesmo pedido chega em dobro quando vai ao grupo do terminal e o `make` ainda o repassa.
MESMO_PEDIDO_S = 1.0
PRAZO_FORCADO_S = 5.0
ETAPAS_RESTOS = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))


class Supervisor:
    """Usar como bloco `with`: instala os sinais na entrada e, na saída, para tudo o que iniciou."""

    def __init__(self, dados: Path, descritor_saida: int = 1) -> None:
        self._dados = dados
        self._terminal = Terminal(descritor_saida)
        self._execucoes: dict[str, Execucao] = {}
        self._qtd_pedidos = 0
        self._pedido_em = -MESMO_PEDIDO_S
        self._sinais_antigos: dict[int, Any] = {}
        for nome in ("pids", "registros"):
            (dados / nome).mkdir(mode=0o700, exist_ok=True)

    def __enter__(self) -> Self:
        # O byte que o Python escreve a cada sinal acorda o select; sem ele, um sinal entre a conferência e
        # a espera só seria visto na volta seguinte.
        self._despertador, escrita = socket.socketpair()
        self._escrita_despertador = escrita
        self._despertador.setblocking(False)
        escrita.setblocking(False)
        self._despertador_antigo = signal.set_wakeup_fd(escrita.fileno(), warn_on_full_buffer=False)
        for sinal in SINAIS_DE_PARADA:
            if sinal == signal.SIGHUP and signal.getsignal(sinal) == signal.SIG_IGN:
                continue  # foi iniciado com nohup: fechar o terminal não deve parar nada
            self._sinais_antigos[sinal] = signal.signal(sinal, self._pedir_parada)
        self._sinais_antigos[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(
        self, tipo: type[BaseException] | None, erro: BaseException | None, rastro: TracebackType | None
    ) -> None:
        try:
            self.parar_tudo()
        finally:
            signal.set_wakeup_fd(self._despertador_antigo)
            for sinal, antigo in self._sinais_antigos.items():
                signal.signal(sinal, antigo)
            self._despertador.close()
            self._escrita_despertador.close()

    def avisar(self, frase: str) -> None:
        """Diz a frase no terminal como fala do próprio supervisor."""
        self._terminal.escrever(f"[local] {frase}")

    def escrever(self, texto: str) -> None:
        """Escreve o texto no terminal, linha por linha, sem prefixo."""
        for linha in texto.splitlines():
            self._terminal.escrever(linha)

    def iniciar(self, servico: Servico) -> None:
        """Inicia o serviço e passa a cuidar dele. Levanta FalhaDePreparo se não pôde nem começar."""
        self._conferir_pedido()
        execucao = Execucao(servico, self._dados, self._terminal, self.avisar)
        self._execucoes[servico.nome] = execucao
        execucao.iniciar()

    def executar_uma_vez(self, servico: Servico) -> int:
        """Inicia, espera terminar e devolve o código de saída; os outros serviços seguem cuidados."""
        self.iniciar(servico)
        execucao = self._execucoes[servico.nome]
        while execucao.viva:
            self._conferir_pedido()
            self._dar_uma_volta(VOLTA_MAXIMA_S)
        execucao.fechar()
        del self._execucoes[servico.nome]
        return execucao.codigo_saida or 0

    def esperar(self, condicao: Callable[[], bool], prazo_s: float, passo_s: float = 0.1) -> bool:
        """Cuida dos serviços até a condição valer (True) ou o prazo acabar (False)."""
        limite = time.monotonic() + prazo_s
        while not condicao():
            self._conferir_pedido()
            if time.monotonic() > limite:
                return False
            self._dar_uma_volta(passo_s)
        return True

    def manter(self) -> None:
        """Cuida dos serviços até que peçam para parar."""
        while not self._qtd_pedidos:
            self._dar_uma_volta(VOLTA_MAXIMA_S)

    def parar_tudo(self) -> None:
        """Para os serviços por etapa; um segundo pedido de parada durante isto força todos."""
        for execucao in self._execucoes.values():
            execucao.desistir_de_reiniciar()
        pedidos_antes = max(self._qtd_pedidos, 1)
        etapas = sorted({execucao.servico.etapa_parada for execucao in self._execucoes.values()})
        for etapa in etapas:
            self._parar_etapa([e for e in self._vivas() if e.servico.etapa_parada == etapa], pedidos_antes)
        self._forcar(self._vivas())
        for execucao in self._execucoes.values():
            execucao.fechar()
        self._execucoes.clear()

    def _parar_etapa(self, execucoes: list[Execucao], pedidos_antes: int) -> None:
        inicio = time.monotonic()
        for execucao in execucoes:
            execucao.sinalizar(execucao.servico.sinal_parada)
        while vivas := [e for e in execucoes if e.viva]:
            if self._qtd_pedidos > pedidos_antes:
                return  # parar_tudo percorre as etapas que faltam e no fim força quem sobrou
            demoradas = [e for e in vivas if time.monotonic() - inicio > e.servico.prazo_parada_s]
            for execucao in demoradas:
                prazo_s = execucao.servico.prazo_parada_s
                self.avisar(f"{execucao.servico.nome} não parou em {prazo_s:.0f} s; forçando")
            if demoradas:
                self._forcar(demoradas)
            self._dar_uma_volta(0.1)

    def _forcar(self, execucoes: list[Execucao]) -> None:
        """Sinal forçado de cada um (o do PostgreSQL ainda é limpo); quem resistir leva SIGKILL no grupo."""
        for execucao in execucoes:
            execucao.sinalizar(execucao.servico.sinal_forcado, grupo=True)
        limite = time.monotonic() + PRAZO_FORCADO_S
        while any(e.viva for e in execucoes) and time.monotonic() < limite:
            self._dar_uma_volta(0.1)
        for execucao in execucoes:
            execucao.sinalizar(signal.SIGKILL, grupo=True)
        while any(e.viva for e in execucoes):
            self._dar_uma_volta(0.1)

    def _vivas(self) -> list[Execucao]:
        return [execucao for execucao in self._execucoes.values() if execucao.viva]

    def _dar_uma_volta(self, espera_s: float) -> None:
        """Espera saída, sinal ou a hora de um reinício, e cuida do que veio."""
        agora = time.monotonic()
        voltas = [e.reiniciar_em for e in self._execucoes.values() if e.reiniciar_em is not None]
        espera_s = max(0.0, min([espera_s, *(volta - agora for volta in voltas)]))
        saidas = {e.saida: e for e in self._execucoes.values() if e.saida is not None}
        despertador = self._despertador.fileno()
        for descritor in select.select([despertador, *saidas], [], [], espera_s)[0]:
            if descritor == despertador:
                self._despertador.recv(4096)
            else:
                saidas[descritor].ler_saida()
        agora = time.monotonic()
        for execucao in self._execucoes.values():
            execucao.conferir()
            if execucao.reiniciar_em is not None and execucao.reiniciar_em <= agora:
                execucao.voltar()

    def _pedir_parada(self, sinal: int, quadro: FrameType | None) -> None:
        agora = time.monotonic()
        if agora - self._pedido_em > MESMO_PEDIDO_S:
            self._qtd_pedidos += 1
            self._pedido_em = agora

    def _conferir_pedido(self) -> None:
        if self._qtd_pedidos:
            raise ParadaPedida


def encerrar_restos(dados: Path) -> list[int]:
    """Encerra os processos de um supervisor anterior destes dados que morreu sem pará-los; devolve os pids.

    O arquivo de pid diz o grupo; LASTRO_DADOS no ambiente confirma que não é um pid reaproveitado. Os
    servidores embutidos não têm a variável: cada um acha os próprios órfãos antes de iniciar.
    """
    achados = []
    for arquivo in (dados / "pids").glob("*.pid"):
        texto = arquivo.read_text("ascii", "replace").strip()
        if texto.isdigit():
            grupo = listar_grupo(int(texto))
            achados += [pid for pid in grupo if ler_variavel(pid, "LASTRO_DADOS") == str(dados)]
        arquivo.unlink(missing_ok=True)
    if sobras := encerrar(achados, ETAPAS_RESTOS):
        raise FalhaDePreparo(f"restaram processos de uma execução anterior que não encerram: {sobras}")
    return achados
