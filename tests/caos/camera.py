"""`python -m tests.caos.camera <url> <pasta> <vida> <semente> <ordens>`: o cliente de verdade, num processo.

Captura até ser morto; cada linha da saída é um JSON: `{"numero", "ids"}` do que a fila guardou, ou `{"numero",
"codigo", "qtd"}` do que ela disse não ter guardado. Obedece ao arquivo de ordens, relido a cada captura:
`relogio_s` desloca a hora de parede, `disco_cheio` tira o espaço dos arquivos, `rajada` apressa, `parar` manda escoar
a fila e sair com o retrato dela, `{"fim": …}`. O token e as opções vêm do ambiente.
"""

import json
import logging
import os
import random
import resource
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ingestao.capturas.simulacao.imagens import Cena, sortear_cena
from ingestao.cliente import Cliente
from ingestao.cliente.erros import FilaIndisponivel
from ingestao.cliente.relogio import Relogio

RITMO_S = 0.15
RAJADA_S = 0.02  # sem espaço, captura-se depressa: devagar, o diário da fila daria para tudo
LIMITE_BYTES = 65_536  # menos que o diário da fila, que se reescreve no espaço que já tem
QTD_CENAS = 8
PRAZO_S = 60.0
SEM_LIMITE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
SQL_POR_RELATAR = (
    "SELECT (SELECT count(*) FROM relato) + (SELECT coalesce(sum(por_relatar), 0) FROM descarte)"
)


class RelogioTorto(Relogio):
    """A hora de parede de quem mexeu no relógio; o monotônico é o da máquina."""

    desvio = timedelta()

    def agora(self) -> datetime:
        return super().agora() + self.desvio


def principal(url: str, pasta: Path, vida: str, semente: str, ordens: Path) -> int:
    """Sai com 0 se a fila escoou e tudo foi relatado."""
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    dado = random.Random(f"{semente}:cenas")
    cenas = [sortear_cena(dado) for _ in range(QTD_CENAS)]
    dado = random.Random(f"{semente}:{vida}")
    relogio = RelogioTorto()
    opcoes = json.loads(os.environ["APARELHO_OPCOES"])
    with Cliente(url, os.environ["APARELHO_TOKEN"], pasta, relogio=relogio, **opcoes) as cliente:
        numero = 0
        while not (mandado := obedecer(ordens, relogio))["parar"]:
            capturar(cliente, dado.choice(cenas), f"{vida}-{numero}")
            numero += 1
            time.sleep((RAJADA_S if mandado["rajada"] else RITMO_S) * dado.uniform(0.5, 1.5))
        return escoar(cliente)


def obedecer(ordens: Path, relogio: RelogioTorto) -> dict[str, Any]:
    """Cumpre o que mandaram, e o devolve."""
    mandado: dict[str, Any] = json.loads(ordens.read_text("utf-8"))
    relogio.desvio = timedelta(seconds=mandado["relogio_s"])
    limites = SEM_LIMITE
    if mandado["disco_cheio"]:
        limites = (LIMITE_BYTES, resource.RLIM_INFINITY)  # só o limite mole, que se pode devolver
    resource.setrlimit(resource.RLIMIT_FSIZE, limites)
    return mandado


def capturar(cliente: Cliente, cena: Cena, numero: str) -> None:
    """Uma captura, e o que a fila disse dela."""
    payloads = [{**cena.payload, "numero": numero, "caixa": n} for n in range(max(1, len(cena.caixas)))]
    try:
        ids = cliente.capturar(cena.quadro, cena.caixas, payloads)
    except FilaIndisponivel as erro:
        dizer({"numero": numero, "codigo": erro.codigo, "qtd": len(payloads)})
    else:
        dizer({"numero": numero, "ids": ids})


def escoar(cliente: Cliente) -> int:
    """Espera a fila esvaziar e os descartes serem entregues; diz o que sobrou."""
    vazia = cliente.esperar_esvaziar(PRAZO_S)
    limite = time.monotonic() + PRAZO_S
    while faltam_relatar(cliente) and time.monotonic() < limite:
        time.sleep(0.1)
    medida = cliente.fila.medir()
    retrato = {
        "faltam": medida.prontos + medida.esperando,
        "quarentena": medida.quarentena,
        "descartes": cliente.fila.ler_descartes(),
        "por_relatar": faltam_relatar(cliente),
        "danificados": [p.name for p in cliente.fila.arquivo.danificados()],
    }
    dizer({"fim": retrato})
    return 0 if vazia else 3


def faltam_relatar(cliente: Cliente) -> int:
    """Descartes que o servidor ainda não ouviu."""
    return int(cliente.fila.arquivo.ler(lambda conexao: conexao.execute(SQL_POR_RELATAR).fetchone())[0])


def dizer(linha: dict[str, Any]) -> None:
    """Uma linha JSON, inteira."""
    print(json.dumps(linha), flush=True)


if __name__ == "__main__":
    _, url, pasta, vida, semente, ordens = sys.argv
    sys.exit(principal(url, Path(pasta), vida, semente, Path(ordens)))
