"""O que se derruba, e o roteiro: a mesma semente dá as mesmas falhas nos mesmos instantes."""

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import psutil
import redis

from tests.caos.servidor import ServidorLocal

INTERVALO_MINIMO_S, INTERVALO_MAXIMO_S = 1.5, 5.0
CONGELAMENTO_S = (1.0, 3.0)

Falha = Callable[[ServidorLocal, Random], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marcada:
    """Uma falha do roteiro: quando (segundos desde o começo da carga), qual e o dado de que ela dispõe."""

    em_s: float
    nome: str
    semente: str


def montar_roteiro(semente: int, duracao_s: float, nomes: Sequence[str]) -> list[Marcada]:
    """O roteiro de uma rodada: todas as falhas em ordem sorteada, de novo e de novo, até o tempo acabar.

    Numa rodada curta os intervalos encolhem para que cada tipo caiba ao menos uma vez.
    """
    sorteio = Random(f"roteiro:{semente}")
    maximo_s = min(INTERVALO_MAXIMO_S, 2 * duracao_s / (len(nomes) + 1) - INTERVALO_MINIMO_S / 2)
    maximo_s = max(maximo_s, INTERVALO_MINIMO_S / 2)
    marcadas: list[Marcada] = []
    instante_s = 1.0
    while instante_s < duracao_s:
        for nome in sorteio.sample(nomes, len(nomes)):
            marcadas.append(
                Marcada(em_s=round(instante_s, 2), nome=nome, semente=f"{semente}:{len(marcadas)}")
            )
            instante_s += sorteio.uniform(INTERVALO_MINIMO_S / 2, maximo_s)
    return [m for i, m in enumerate(marcadas) if m.em_s < duracao_s or i < len(nomes)]


def _matar(processo: psutil.Process) -> str:
    with contextlib.suppress(psutil.NoSuchProcess):
        processo.send_signal(signal.SIGKILL)
    return f"SIGKILL em {processo.pid}"


def _matar_filho(servidor: ServidorLocal, sorteio: Random, nome: str) -> str:
    _, *filhos = servidor.grupo(nome)
    return _matar(sorteio.choice(filhos)) if filhos else "sem filhos agora"


def matar_web(servidor: ServidorLocal, sorteio: Random) -> str:
    """O mestre do Granian."""
    return _matar(servidor.processo("web"))


def matar_um_da_web(servidor: ServidorLocal, sorteio: Random) -> str:
    """Um dos processos que atendem."""
    return _matar_filho(servidor, sorteio, "web")


def matar_worker(servidor: ServidorLocal, sorteio: Random) -> str:
    """O mestre do Celery."""
    return _matar(servidor.processo("worker"))


def matar_um_do_worker(servidor: ServidorLocal, sorteio: Random) -> str:
    """Um dos processos que aplicam."""
    return _matar_filho(servidor, sorteio, "worker")


def matar_beat(servidor: ServidorLocal, sorteio: Random) -> str:
    """Quem varre de três em três segundos."""
    return _matar(servidor.processo("beat"))


def matar_valkey(servidor: ServidorLocal, sorteio: Random) -> str:
    """O Valkey, que volta com o que o AOF guardou."""
    return _matar(servidor.processo("valkey"))


def matar_e_apagar_valkey(servidor: ServidorLocal, sorteio: Random) -> str:
    """O Valkey e os arquivos dele: volta vazio. O supervisor fica congelado enquanto se apaga."""
    valkey = servidor.processo("valkey")  # antes de congelar: com o supervisor parado ele não voltaria
    with servidor.congelado("supervisor"):
        feito = _matar(valkey)
        shutil.rmtree(servidor.dados / "valkey" / "appendonlydir", ignore_errors=True)
        time.sleep(sorteio.uniform(0, 1.5))
    return f"{feito} e AOF apagado"


def esvaziar_valkey(servidor: ServidorLocal, sorteio: Random) -> str:
    """FLUSHALL: filas, bandeiras e janelas somem com tudo no ar."""
    try:
        with redis.Redis.from_url(servidor.enderecos.redis_url, socket_timeout=2) as valkey:
            valkey.flushall()
        return "FLUSHALL"
    except redis.RedisError as erro:
        return f"FLUSHALL não chegou ({erro})"


def matar_postgres(servidor: ServidorLocal, sorteio: Random) -> str:
    """O postmaster; os filhos percebem e saem."""
    return _matar(servidor.processo("postgres"))


def matar_um_do_postgres(servidor: ServidorLocal, sorteio: Random) -> str:
    """Um backend com SIGKILL: o postmaster derruba todos e recupera."""
    return _matar_filho(servidor, sorteio, "postgres")


def encerrar_um_do_postgres(servidor: ServidorLocal, sorteio: Random) -> str:
    """Um backend de cliente com SIGTERM, como faz `pg_terminate_backend`."""
    clientes = [p for p in servidor.grupo("postgres")[1:] if "[local]" in _titulo(p)]
    if not clientes:
        return "nenhum cliente agora"
    alvo = sorteio.choice(clientes)
    servidor.sinalizar([alvo], signal.SIGTERM)
    return f"SIGTERM em {alvo.pid}"


def congelar_valkey(servidor: ServidorLocal, sorteio: Random) -> str:
    """O Valkey aceita conexões e não responde."""
    return _congelar(servidor, sorteio, "valkey")


def congelar_postgres(servidor: ServidorLocal, sorteio: Random) -> str:
    """O PostgreSQL inteiro aceita conexões e não responde, como um disco que parou."""
    return _congelar(servidor, sorteio, "postgres")


def derrubar_tudo(servidor: ServidorLocal, sorteio: Random) -> str:
    """SIGKILL em tudo, supervisor inclusive, e outro `manage.py local` nos mesmos dados."""
    servidor.matar_tudo()
    servidor.iniciar()
    return "SIGKILL em tudo e novo início"


def _congelar(servidor: ServidorLocal, sorteio: Random, nome: str) -> str:
    espera_s = sorteio.uniform(*CONGELAMENTO_S)
    with servidor.congelado(nome):
        time.sleep(espera_s)
    return f"SIGSTOP por {espera_s:.1f} s"


def _titulo(processo: psutil.Process) -> str:
    try:
        return " ".join(processo.cmdline())
    except psutil.Error:
        return ""


# O corte de conexões não está aqui: os clientes cortam o tempo todo.
FALHAS: dict[str, Falha] = {
    falha.__name__: falha
    for falha in (
        matar_web,
        matar_um_da_web,
        matar_worker,
        matar_um_do_worker,
        matar_beat,
        matar_valkey,
        matar_e_apagar_valkey,
        esvaziar_valkey,
        matar_postgres,
        matar_um_do_postgres,
        encerrar_um_do_postgres,
        congelar_valkey,
        congelar_postgres,
    )
}
FALHAS_LONGAS: dict[str, Falha] = {**FALHAS, "derrubar_tudo": derrubar_tudo}
