"""`manage.py reprojetar`: recalcula os estados com os leitores e as regras de hoje."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from config.comando import Comando
from dlr.models import Integracao
from dlr.reprojecao import reprojetar


class Command(Comando):
    help = "Recalcula projeções a partir das recepções. Sem --aplicar, só mostra as diferenças."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--integracao", help="slug; sem ele, todas")
        parser.add_argument("--aplicar", action="store_true", help="gravar; sem isto é só a prévia")

    def handle(self, *args: Any, **opcoes: Any) -> None:
        integracao_id = None
        if opcoes["integracao"]:
            integracao_id = (
                Integracao.objects.filter(slug=opcoes["integracao"]).values_list("pk", flat=True).first()
            )
            if integracao_id is None:
                raise CommandError(f"Não há integração “{opcoes['integracao']}”.")
        diferencas = reprojetar(
            integracao_id, timezone.now(), aplicar=opcoes["aplicar"], progresso=self._mostrar
        )
        for diferenca in diferencas:
            self.stdout.write(
                json.dumps(
                    {"mensagem": diferenca.mensagem_id, "antes": diferenca.antes, "depois": diferenca.depois}
                )
            )
        self.stderr.write(f"{len(diferencas)} mensagens {'mudaram' if opcoes['aplicar'] else 'mudariam'}.")

    def _mostrar(self, passo: str, feito: int, total: int) -> None:
        if sys.stderr.isatty():
            self.stderr.write(f"\r{passo}: {feito}/{total}", ending="" if feito < total else "\n")
