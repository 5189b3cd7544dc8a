"""`manage.py remover_segundo_fator USUARIO`: a saída de emergência, para quem tem o servidor na mão."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from painel.acesso import segundo_fator


class Command(BaseCommand):
    help = "Remove o segundo fator e os códigos de recuperação de um usuário; fica na trilha."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("usuario", help="o nome com que a pessoa entra")

    def handle(self, *args: Any, **opcoes: Any) -> None:
        nome = opcoes["usuario"]
        usuario = get_user_model().objects.filter(username=nome).first()
        if usuario is None:
            raise CommandError(f"Não há usuário “{nome}”.")
        if not segundo_fator.remover(usuario, usuario, "Segundo fator removido por comando, no servidor."):
            raise CommandError(f"“{nome}” não tem segundo fator: nada mudou.")
        self.stdout.write(f"Segundo fator de “{nome}” removido: ele entra só com a senha.")
