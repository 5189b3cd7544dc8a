"""Os dois servidores de pé enquanto durar um bloco `with`: é o que os testes e as medições usam."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from config.supervisao.processos import montar_lancamento, sinalizar

from . import postgres, valkey
from .enderecos import Enderecos
from .servidor import ErroDeServidor, ServidorEmbutido
from .trava import Trava
from .usuario import identificar

PRAZO_PRONTO_S = 60  # recuperação depois de uma queda relê o WAL; sem queda, são décimos de segundo
PRAZO_PARADA_S = 20
CAUDA_BYTES = 4096


@contextmanager
def servir(dados: Path) -> Iterator[Enderecos]:
    """Inicia PostgreSQL e Valkey sobre a pasta, entrega os endereços e os encerra na saída.

    Levanta DadosEmUso se outro processo é o dono da pasta. Chamar da thread principal.
    """
    dados.mkdir(parents=True, exist_ok=True)
    registros = dados / "registros"
    registros.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as pilha:
        pilha.callback(Trava(dados).soltar)
        servidores = postgres.preparar(dados), valkey.preparar(dados)
        for servidor in servidores:
            pilha.enter_context(manter_no_ar(servidor, registros))
        yield Enderecos(banco_url=servidores[0].url, redis_url=servidores[1].url)


@contextmanager
def manter_no_ar(servidor: ServidorEmbutido, registros: Path) -> Iterator[None]:
    """Inicia um servidor já preparado, com a saída em `<registros>/<nome>.log`, e o encerra na saída."""
    arquivo = registros / f"{servidor.nome}.log"
    processo = _iniciar(servidor, arquivo)
    try:
        try:
            servidor.esperar_pronto(PRAZO_PRONTO_S, lambda: processo.poll() is None)
        except ErroDeServidor:
            if servidor.tratar_queda(_ler_cauda(arquivo)) is None:
                raise
            processo = _iniciar(servidor, arquivo)
            servidor.esperar_pronto(PRAZO_PRONTO_S, lambda: processo.poll() is None)
        yield
    finally:
        _parar(servidor, processo)


def _iniciar(servidor: ServidorEmbutido, arquivo: Path) -> "subprocess.Popen[bytes]":
    servidor.limpar_restos()
    comando = montar_lancamento(
        servidor.comando,
        sinal_orfandade=servidor.sinal_parada,
        identidade=identificar(servidor.usuario),
    )
    with arquivo.open("ab") as saida:
        return subprocess.Popen(
            comando,
            env=servidor.ambiente,
            cwd=servidor.pasta,
            stdin=subprocess.DEVNULL,
            stdout=saida,
            stderr=saida,
            start_new_session=True,
        )


def _parar(servidor: ServidorEmbutido, processo: "subprocess.Popen[bytes]") -> None:
    if processo.poll() is None:
        sinalizar(processo.pid, servidor.sinal_parada)
    limite = time.monotonic() + PRAZO_PARADA_S
    while processo.poll() is None and time.monotonic() < limite:
        time.sleep(0.01)
    if processo.poll() is None:
        processo.kill()
        processo.wait()
    # Depois do SIGKILL o PostgreSQL ainda pode ter filhos terminando; a próxima sessão os esperaria.
    servidor.limpar_restos()


def _ler_cauda(arquivo: Path) -> list[str]:
    with arquivo.open("rb") as aberto:
        aberto.seek(0, os.SEEK_END)
        aberto.seek(max(0, aberto.tell() - CAUDA_BYTES))
        return aberto.read().decode("utf-8", "replace").splitlines()
