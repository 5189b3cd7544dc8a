"""`python -m tests.falhas.esvaziador`: mais um processo a esvaziar a caixa, ao lado do worker de verdade.

Diz "pronto", espera uma linha na entrada (para que vários comecem juntos) e imprime o balanço em JSON.
"""

import json
import os
import sys

import django


def principal() -> None:
    """Esvazia a caixa de lotes uma vez."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    from ingestao.eventos.processamento import CAIXA_DE_LOTES

    connection.ensure_connection()
    print("pronto", flush=True)
    sys.stdin.readline()
    balanco = CAIXA_DE_LOTES.esvaziar()
    print(
        json.dumps(
            {
                "aplicados": balanco.aplicados,
                "adiados": balanco.adiados,
                "estacionados": balanco.estacionados,
            }
        )
    )


if __name__ == "__main__":
    principal()
