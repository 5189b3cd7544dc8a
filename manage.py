#!/usr/bin/env python
"""Entrada dos comandos: `python manage.py <comando>`."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as erro:
        from config import ambiente

        if not ambiente.url_do_banco():
            sys.exit(
                f"Nenhum servidor de pé em {ambiente.DADOS}, e DATABASE_URL não está definida: rode `make run`."
            )
        sys.exit(
            f"O banco não responde ({str(erro).splitlines()[0]}): confira DATABASE_URL ou rode `make run`."
        )
