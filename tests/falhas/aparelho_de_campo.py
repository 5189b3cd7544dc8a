"""`python -m tests.falhas.aparelho_de_campo <url> <pasta> <segundos> <semente>`: captura e imprime cada id.

O token vem do ambiente. Com `segundos` 0, captura até ser morto; com -1, só escoa a fila. As opções do
cliente vêm em JSON, também no ambiente.
"""

import json
import logging
import os
import random
import sys
import time

from ingestao.capturas.simulacao.imagens import sortear_cena
from ingestao.cliente import Cliente

RITMO_S = 0.02
PRAZO_S = 60.0


def principal(url: str, pasta: str, segundos: float, semente: str) -> int:
    """Sai com 0 se a fila escoou."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    dado = random.Random(semente)
    opcoes = json.loads(os.environ.get("APARELHO_OPCOES", "{}"))
    with Cliente(url, os.environ["APARELHO_TOKEN"], pasta, **opcoes) as cliente:
        fim_s = time.monotonic() + segundos if segundos else float("inf")
        while segundos >= 0:
            cena = sortear_cena(dado)
            for id_evento in cliente.capturar(cena.quadro, cena.caixas, cena.payload):
                print(id_evento, flush=True)
            if time.monotonic() > fim_s:
                break
            time.sleep(RITMO_S)
        return 0 if cliente.esperar_esvaziar(PRAZO_S) else 3


if __name__ == "__main__":
    sys.exit(principal(sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]))
