"""`python -m tests.caos.aplicativos N [franquia]`: cria N sites no servidor de `LASTRO_DADOS` e os imprime.

Um processo à parte porque quem testa já tem o Django configurado para outro banco; um só processo para
todos porque cada `manage.py criar_aplicativo` leva um segundo.
"""

import json
import os
import sys

import django

DOMINIO = "caos.exemplo"


def principal(quantidade: int, franquia: int | None) -> None:
    """Cria os sites; o último tem a franquia, se pedida. Imprime `[{"id", "chave", "franquia"}]`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from ingestao.models import Aplicativo, PoliticaDeFranquia

    sites = [Aplicativo(nome=f"Caos {numero}", dominios=[DOMINIO]) for numero in range(quantidade)]
    if franquia is not None:
        sites[-1].franquia = franquia
        sites[-1].politica = PoliticaDeFranquia.PARAR_INGESTAO
    Aplicativo.objects.bulk_create(sites)
    print(json.dumps([{"id": str(s.id), "chave": s.chave, "franquia": s.franquia} for s in sites]))


if __name__ == "__main__":
    principal(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
