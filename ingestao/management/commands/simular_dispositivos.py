"""`manage.py simular_dispositivos`: aparelhos de verdade por um link que perde; imprime uma linha JSON."""

import json
import logging
import random
import sys
import time
from argparse import ArgumentParser
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError

from ingestao.capturas.dispositivos import criar_dispositivo
from ingestao.capturas.simulacao.aparelhos import Aparelho, simular

AVISO_A_CADA_S = 2.0


class Command(BaseCommand):
    help = (
        "Simula dispositivos: o cliente de verdade contra um servidor em 127.0.0.1, por um link que corta conexões. "
        "No fim confere cada evento e sai com código 1 se algo não bate."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--quantos", type=int, default=5, help="dispositivos (padrão 5)")
        parser.add_argument(
            "--perda", type=float, default=0.2, help="fração das requisições cortadas (0 a 0.9)"
        )
        parser.add_argument(
            "--segundos", type=float, default=20, help="por quanto tempo capturam (padrão 20)"
        )
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="só em 127.0.0.1")
        parser.add_argument("--semente", type=int, help="repete os sorteios de outra vez")

    def handle(self, *args: Any, **opcoes: Any) -> None:
        logging.getLogger("urllib3").setLevel(logging.ERROR)  # cada corte viria com um traço inteiro
        logging.getLogger("lastro_captura").setLevel(logging.ERROR)
        porta = self._ler_porta(opcoes["url"])
        if not 0 <= opcoes["perda"] <= 0.9 or opcoes["quantos"] < 1 or opcoes["segundos"] <= 0:
            raise CommandError("--perda vai de 0 a 0.9; --quantos e --segundos são positivos.")
        semente = opcoes["semente"] if opcoes["semente"] is not None else random.randrange(10**6)
        self.stderr.write(f"semente {semente}; criando {opcoes['quantos']} dispositivos…")
        aparelhos = [self._criar(semente, numero) for numero in range(opcoes["quantos"])]
        balanco = simular(
            aparelhos,
            porta=porta,
            perda=opcoes["perda"],
            segundos=opcoes["segundos"],
            semente=semente,
            avisar=_Andamento(self.stderr),
        )
        self.stdout.write(json.dumps({"semente": semente, **balanco.descrever()}))
        if not balanco.fecha:
            sys.exit(1)

    def _criar(self, semente: int, numero: int) -> Aparelho:
        dispositivo, token = criar_dispositivo(f"simulado {semente}/{numero}")
        return Aparelho(id=dispositivo.pk, token=token)

    def _ler_porta(self, url: str) -> int:
        partes = urlsplit(url)
        if partes.scheme != "http" or partes.hostname not in ("127.0.0.1", "localhost"):
            raise CommandError(
                "--url precisa ser http://127.0.0.1:<porta>: a simulação corta conexões de propósito."
            )
        return partes.port or 80


class _Andamento:
    """Uma linha a cada dois segundos."""

    def __init__(self, saida: Any) -> None:
        self._saida = saida
        self._proximo_s = 0.0

    def __call__(self, texto: str) -> None:
        if (agora_s := time.monotonic()) >= self._proximo_s:
            self._proximo_s = agora_s + AVISO_A_CADA_S
            self._saida.write(texto)
