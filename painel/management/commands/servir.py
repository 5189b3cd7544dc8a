"""`manage.py servir web|worker|beat`: um processo de produção, com as opções medidas.

Para systemd, contêineres e o que mais mantiver processos de pé. As opções são as mesmas do `manage.py local`
(`config/servicos_locais.py`), para que as duas formas de rodar nunca se afastem. O comando troca a si mesmo
(exec) pelo servidor: o pid e os sinais são os dele.
"""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.servicos_locais import descrever_beat, descrever_web, descrever_worker
from config.supervisao.servico import Servico

RAIZ = Path(__file__).resolve().parents[3]
PAPEIS = ("web", "worker", "beat")


class Command(BaseCommand):
    """Vira o processo pedido; volta só com erro."""

    help = "Vira um processo de produção: web (HTTP), worker (aplica o recebido) ou beat (relógios; só um)."
    requires_system_checks = []  # `manage.py migrate` já os rodou; aqui o banco pode estar voltando

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("papel", choices=PAPEIS, help="o que este processo será")
        parser.add_argument(
            "--processos",
            type=int,
            default=os.cpu_count() or 1,
            metavar="N",
            help="processos filhos de web ou worker; o padrão é um por núcleo",
        )

    def handle(self, *args: Any, **opcoes: Any) -> None:
        if opcoes["processos"] < 1:
            raise CommandError("--processos precisa ser ao menos 1.")
        servico = descrever(opcoes["papel"], dict(os.environ), qtd_processos=opcoes["processos"])
        os.chdir(servico.pasta)
        os.execve(servico.comando[0], list(servico.comando), dict(servico.ambiente))


def descrever(papel: str, ambiente: dict[str, str], *, qtd_processos: int) -> Servico:
    """Devolve o serviço do papel. Levanta CommandError se `PORTA` não é uma porta."""
    ambiente = {**ambiente, "PYTHONUNBUFFERED": "1"}
    if papel == "worker":
        return descrever_worker(RAIZ, ambiente, qtd_processos=qtd_processos)
    if papel == "beat":
        return descrever_beat(RAIZ, ambiente)
    porta = ambiente.get("PORTA", "") or "8000"
    if not porta.isdigit() or not 0 < int(porta) < 65_536:
        raise CommandError(f"PORTA={porta} não é um número de porta: use de 1 a 65535.")
    endereco = ambiente.get("LASTRO_ENDERECO", "") or "127.0.0.1"
    return descrever_web(RAIZ, ambiente, endereco=endereco, porta=int(porta), qtd_processos=qtd_processos)
