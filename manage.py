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
        sys.exit(
            f"O banco não responde ({str(erro).splitlines()[0]}).\n"
            "Suba o servidor com `manage.py local`, ou confira DATABASE_URL e LASTRO_DADOS."
        )
