"""`python -m tests.caos [--minutos 5] [--semente N] [--por-segundo 150]`: a injeção de falhas longa.

Sai com 1 e lista as violações se alguma promessa foi quebrada. A semente repete o roteiro de falhas e as cargas.
"""

import argparse
import random
import sys

from tests.caos.execucao import rodar
from tests.caos.falhas import FALHAS_LONGAS
from tests.caos.servidor import RAIZ


def principal() -> int:
    """Lê a linha de comando, roda e devolve o código de saída."""
    opcoes = argparse.ArgumentParser(prog="python -m tests.caos", description=__doc__)
    opcoes.add_argument("--minutos", type=float, default=5.0)
    opcoes.add_argument("--semente", type=int, default=None)
    opcoes.add_argument(
        "--por-segundo", type=float, default=150.0, help="lotes de eventos por segundo, todos os clientes"
    )
    pedido = opcoes.parse_args()
    semente = random.randrange(10**6) if pedido.semente is None else pedido.semente
    rodada = rodar(
        semente=semente,
        duracao_s=pedido.minutos * 60,
        por_segundo=pedido.por_segundo,
        falhas=FALHAS_LONGAS,
        dizer=lambda frase: print(frase, flush=True),
        guardar_em=RAIZ / ".local" / "caos" / f"semente-{semente}",
    )
    for violacao in rodada.violacoes:
        print(f"VIOLAÇÃO: {violacao}", file=sys.stderr)
    if rodada.violacoes:
        print(
            f"Repita com: make caos MINUTOS={pedido.minutos:g} SEMENTE={semente}",
            file=sys.stderr,
        )
    return 1 if rodada.violacoes else 0


if __name__ == "__main__":
    sys.exit(principal())
