"""O comando do manage.py em português: o Django e o argparse escrevem a ajuda em inglês."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser, DjangoHelpFormatter

# As opções que o Django dá a todo comando.
AJUDAS = {
    "help": "mostra esta ajuda e sai",
    "version": "mostra a versão do Django e sai",
    "verbosity": "quanto dizer: 0 nada, 1 o normal, 2 mais, 3 tudo",
    "settings": "módulo de configuração do Django, em vez do de DJANGO_SETTINGS_MODULE",
    "pythonpath": "pasta a acrescentar ao caminho do Python",
    "traceback": "mostra a pilha inteira quando um comando falha",
    "no_color": "saída sem cores",
    "force_color": "cores mesmo fora de um terminal",
    "skip_checks": "pula as verificações do sistema",
}


class FormatoDaAjuda(DjangoHelpFormatter):
    """A linha de uso começa por “uso”."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "uso: " if prefix is None else prefix)


class Comando(BaseCommand):
    """A base dos comandos do Lastro."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        leitor = super().create_parser(prog_name, subcommand, formatter_class=FormatoDaAjuda, **kwargs)
        for grupo in leitor._action_groups:
            grupo.title = {"positional arguments": "argumentos"}.get(grupo.title or "", "opções")
        for opcao in leitor._actions:
            opcao.help = AJUDAS.get(opcao.dest, opcao.help)
        return leitor
