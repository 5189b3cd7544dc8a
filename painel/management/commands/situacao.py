"""`manage.py situacao`: uma linha JSON com filas, linhas e workers."""

import json
from typing import Any

from config.comando import Comando
from painel.situacao import retratar


class Command(Comando):
    help = "Imprime uma linha JSON: profundidade e idade das filas, linhas por tabela, exceções abertas, workers vivos."

    def handle(self, *args: Any, **opcoes: Any) -> None:
        self.stdout.write(json.dumps(retratar()))
