"""`manage.py criar_dispositivo`: cria um aparelho e imprime uma linha JSON; o token aparece só aqui."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from ingestao.capturas.dispositivos import criar_dispositivo


class Command(BaseCommand):
    help = 'Cria um dispositivo (aparelho de captura) e imprime {"id": …, "token": "cap_…"}.'

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--nome", required=True)

    def handle(self, *args: Any, **opcoes: Any) -> None:
        try:
            dispositivo, token = criar_dispositivo(opcoes["nome"])
        except ValidationError as erro:
            frases = [f"{campo}: {' '.join(textos)}" for campo, textos in erro.message_dict.items()]
            raise CommandError("; ".join(frases)) from erro
        self.stdout.write(json.dumps({"id": str(dispositivo.pk), "token": token}))
