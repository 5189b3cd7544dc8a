"""`manage.py situacao`: uma linha JSON com filas, linhas e workers."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from painel.situacao import retratar


class Command(BaseCommand):
    help = "Imprime uma linha JSON: profundidade e idade das filas, linhas por tabela, exceções abertas, workers vivos."

    def handle(self, *args: Any, **opcoes: Any) -> None:
        try:
            self.stdout.write(json.dumps(retratar()))
        except OperationalError as erro:
            raise CommandError(
                "O banco não responde. Suba o servidor (`manage.py local`) ou defina DATABASE_URL."
            ) from erro
