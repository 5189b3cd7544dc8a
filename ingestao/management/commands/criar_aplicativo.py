"""`manage.py criar_aplicativo`: cria um aplicativo e imprime uma linha JSON."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from config.comando import Comando
from ingestao.models import Aplicativo, PoliticaDeFranquia


class Command(Comando):
    help = 'Cria um aplicativo (site) e imprime {"id": …, "chave": "pk_live_…"}.'

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--nome", required=True)
        parser.add_argument(
            "--dominio",
            required=True,
            action="append",
            help="exemplo.com.br ou *.exemplo.com.br; pode repetir",
        )
        parser.add_argument("--franquia", type=int, help="eventos por mês")
        parser.add_argument(
            "--politica", choices=PoliticaDeFranquia.values, default=PoliticaDeFranquia.SO_AVISAR.value
        )
        parser.add_argument("--chave", help="usar esta chave (pk_…) em vez de gerar uma")

    def handle(self, *args: Any, **opcoes: Any) -> None:
        aplicativo = Aplicativo(
            nome=opcoes["nome"],
            dominios=opcoes["dominio"],
            franquia=opcoes["franquia"],
            politica=opcoes["politica"],
        )
        if opcoes["chave"]:
            aplicativo.chave = opcoes["chave"]
        try:
            aplicativo.full_clean()
        except ValidationError as erro:
            frases = [f"{campo}: {' '.join(textos)}" for campo, textos in erro.message_dict.items()]
            raise CommandError("; ".join(frases)) from erro
        aplicativo.save()
        self.stdout.write(json.dumps({"id": str(aplicativo.id), "chave": aplicativo.chave}))
