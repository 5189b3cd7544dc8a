"""`python -m tests.fuzz [--minutos 5] [--semente N] [--alvo nome]`: o fuzz longo.

Sai com 1 e lista os defeitos, cada um com o menor exemplo que o mostra. A semente repete a corrida.
"""

import argparse
import random
import sys

from tests.caos.servidor import ServidorLocal
from tests.demonstracao import demonstrar
from tests.fuzz.alvos import ALVOS
from tests.fuzz.execucao import rodar

SEM_LIMITE = {"LASTRO_LIMITE_POR_MINUTO": "10000000"}  # a janela tem testes próprios; aqui só esconderia


def principal() -> int:
    """Lê a linha de comando, corre e devolve o código de saída."""
    opcoes = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    opcoes.add_argument("--minutos", type=float, default=5.0)
    opcoes.add_argument("--semente", type=int, default=None)
    opcoes.add_argument("--alvo", action="append", choices=list(ALVOS), help="só este; pode repetir")
    pedido = opcoes.parse_args()
    semente = random.randrange(10**6) if pedido.semente is None else pedido.semente
    with ServidorLocal(ambiente=SEM_LIMITE) as servidor:
        demonstrar(servidor)  # telas com o que mostrar
        corrida = rodar(
            servidor,
            semente=semente,
            duracao_s=pedido.minutos * 60,
            dizer=lambda frase: print(frase, flush=True),
            alvos=pedido.alvo or list(ALVOS),
        )
    print(corrida.resumo())
    for defeito in corrida.defeitos:
        print(f"DEFEITO: {defeito}", file=sys.stderr)
    if corrida.defeitos:
        print(f"Repita com: python -m tests.fuzz --semente {semente}", file=sys.stderr)
    return 1 if corrida.defeitos else 0


if __name__ == "__main__":
    sys.exit(principal())
