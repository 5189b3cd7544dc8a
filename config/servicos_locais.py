"""Os serviços do `manage.py local`: com que argumentos cada um roda e em que ordem para."""

import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from config.embutido.servidor import ServidorEmbutido
from config.embutido.usuario import identificar
from config.supervisao.servico import Servico

# Parar de fora para dentro: quem cria trabalho, quem recebe e trabalha, e só então de quem eles dependem.
ETAPA_RELOGIO, ETAPA_TRABALHO, ETAPA_BROKER, ETAPA_BANCO = range(4)

PRAZO_WEB_S = 10.0  # maior que o --workers-kill-timeout, para que o Granian termine os seus primeiro
PRAZO_WORKER_S = 20.0  # uma transação de aplicação leva menos de 1 s; o resto é folga
PRAZO_BANCO_S = 60.0  # o checkpoint final escreve até shared_buffers inteiro

# A glibc guarda o que as threads soltam: uma arena por thread, e blocos grandes que deixam de voltar ao
# sistema. Com isto, um corpo grande devolve a memória ao terminar (mediu 157 contra 178 MB sob 200 bombas).
MEMORIA_DA_WEB = {
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
}

# Início e fim normais do PostgreSQL, e o conselho do Valkey sobre o núcleo, que não cabe a quem só quer usar.
LINHAS_DE_ROTINA = re.compile(
    r"\bLOG:  |FATAL:  the database system is|Memory overcommit must|ready to exit|scheduling shutdown"
)
PARADA_DE_ROTINA = re.compile(r"^$|worker: (Warm|Cold) shutdown")
MIGRACAO_SEM_NOVIDADE = re.compile(r"^\s*(Operations to perform|Apply all|Running migrations|No migrations)")


def descrever_servidor(servidor: ServidorEmbutido) -> Servico:
    """Devolve o serviço de um servidor embutido."""
    e_banco = servidor.sinal_parada == signal.SIGINT
    return Servico(
        nome=servidor.nome,
        comando=servidor.comando,
        ambiente=servidor.ambiente,
        pasta=servidor.pasta,
        identidade=identificar(servidor.usuario),
        etapa_parada=ETAPA_BANCO if e_banco else ETAPA_BROKER,
        sinal_parada=servidor.sinal_parada,
        # SIGQUIT no PostgreSQL sai sem checkpoint mas avisa os filhos; a retomada relê o WAL.
        sinal_forcado=signal.SIGQUIT if e_banco else signal.SIGKILL,
        sinal_orfandade=servidor.sinal_parada,
        prazo_parada_s=PRAZO_BANCO_S if e_banco else 10.0,
        silenciar=LINHAS_DE_ROTINA,
        antes_de_iniciar=servidor.limpar_restos,
        ao_cair=servidor.tratar_queda,
    )


def descrever_comando(raiz: Path, ambiente: Mapping[str, str], nome: str, *opcoes: str) -> Servico:
    """Devolve um comando do manage.py que roda uma vez e termina."""
    migracao = nome == "migrate"
    return Servico(
        nome=nome,
        comando=(sys.executable, str(raiz / "manage.py"), nome, *opcoes),
        ambiente=ambiente,
        pasta=raiz,
        reinicia=False,
        prefixar=migracao,
        silenciar=MIGRACAO_SEM_NOVIDADE if migracao else None,
    )


def descrever_web(
    raiz: Path, ambiente: Mapping[str, str], *, endereco: str, porta: int, qtd_processos: int
) -> Servico:
    """Devolve o serviço que atende HTTP."""
    opcoes = {
        "--interface": "asgi",
        "--host": endereco,
        "--port": str(porta),
        "--workers": str(qtd_processos),
        "--http": "1",
        "--loop": "uvloop",
        # Remetente lento custa uma corrotina, não uma thread: dois mil por processo são baratos, e o padrão
        # (backlog ÷ processos) faria duas centenas deles fecharem a porta aos demais.
        "--backlog": "2048",
        "--backpressure": "2048",
        # O padrão reserva 400 KB por conexão: cem remetentes ocupariam 40 MB antes de a porta contar um byte.
        "--http1-buffer-size": "65536",
        "--respawn-interval": "0.5",
        "--workers-kill-timeout": "5",
        "--log-level": "warning",
    }
    comando = (sys.executable, "-m", "granian", *(parte for par in opcoes.items() for parte in par))
    return Servico(
        nome="web",
        comando=(*comando, "--no-ws", "--respawn-failed-workers", "config.porta:porta"),
        ambiente={**ambiente, **MEMORIA_DA_WEB},
        pasta=raiz,
        etapa_parada=ETAPA_TRABALHO,
        prazo_parada_s=PRAZO_WEB_S,
    )


def descrever_worker(raiz: Path, ambiente: Mapping[str, str], *, qtd_processos: int) -> Servico:
    """Devolve o serviço que aplica o que foi recebido."""
    opcoes = ("--concurrency", str(qtd_processos), "--hostname", "lastro@%h", "--queues", "celery")
    # Fofoca, mistura e batimento conversam entre workers pelo broker; `inspect ping` não precisa deles.
    calados = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING")
    return Servico(
        nome="worker",
        comando=(*_celery(), "worker", *opcoes, *calados),
        ambiente=_sem_aviso_de_root(ambiente),
        pasta=raiz,
        etapa_parada=ETAPA_TRABALHO,
        sinal_orfandade=signal.SIGQUIT,  # parada fria: o banco está saindo junto, não há o que esperar
        prazo_parada_s=PRAZO_WORKER_S,
        silenciar=PARADA_DE_ROTINA,
    )


def descrever_beat(raiz: Path, ambiente: Mapping[str, str]) -> Servico:
    """Devolve o serviço dos relógios; sem arquivo, eles recomeçam a contar a cada início."""
    return Servico(
        nome="beat",
        comando=(*_celery(), "beat", "--scheduler", "celery.beat:Scheduler", "--loglevel", "WARNING"),
        ambiente=_sem_aviso_de_root(ambiente),
        pasta=raiz,
        etapa_parada=ETAPA_RELOGIO,
    )


def _celery() -> tuple[str, ...]:
    return (sys.executable, "-m", "celery", "--quiet", "--app", "config")


def _sem_aviso_de_root(ambiente: Mapping[str, str]) -> dict[str, str]:
    # O Celery adverte contra root por causa de pickle; aqui só entra JSON.
    if os.geteuid() != 0:
        return dict(ambiente)
    return {**ambiente, "PYTHONWARNINGS": "ignore::UserWarning:celery.platforms"}
