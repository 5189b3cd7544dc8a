"""`python -m tests.bancada`: mede, mostra o andamento, imprime a tabela e grava o JSON."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.bancada import banco
from tests.bancada.contexto import Bancada, Figura
from tests.bancada.figuras import FIGURAS
from tests.bancada.medida import Medida
from tests.bancada.relatorio import gravar_json, montar_tabela
from tests.bancada.servidor import RAIZ, subir_servidor

RODADAS = 5  # a mediana aguenta duas atrapalhadas
RODADAS_RAPIDA = 2


def principal(argumentos: Sequence[str]) -> int:
    """Roda a bancada pedida; devolve o código de saída. Uma conta que não fecha derruba tudo."""
    pedido = _ler_argumentos(argumentos)
    signal.signal(signal.SIGTERM, _sair)  # para que os `finally` encerrem o servidor
    escolhidas = _escolher(pedido.figuras)
    rodadas = pedido.rodadas or (RODADAS_RAPIDA if pedido.rapida else RODADAS)
    comeco_s = time.monotonic()

    def avisar(texto: str) -> None:
        print(f"[{time.monotonic() - comeco_s:6.1f} s] {texto}", flush=True)

    avisar("subindo um servidor novo…")
    medidas: list[Medida] = []
    with subir_servidor() as servidor, banco.conectar(servidor.banco_url) as conexao:
        bancada = Bancada(
            servidor=servidor, banco=conexao, rodadas=rodadas, rapida=pedido.rapida, avisar=avisar
        )
        for figura in escolhidas:
            avisar(f"{figura.nome}: {figura.explicacao}")
            medidas.append(figura.medir(bancada, figura.nome))
            gravar_json(
                medidas, pedido.saida
            )  # a cada uma: o que já se mediu não se perde se a seguinte falhar
        avisar("encerrando o servidor…")
    print(f"\n{montar_tabela(medidas)}\n\n± é metade da distância entre a menor e a maior rodada")
    print(f"gravado em {pedido.saida}")
    return 0


def _ler_argumentos(argumentos: Sequence[str]) -> argparse.Namespace:
    leitor = argparse.ArgumentParser(prog="python -m tests.bancada", description=__doc__)
    nomes = ",".join(figura.nome for figura in FIGURAS)
    leitor.add_argument("--figuras", default=nomes, metavar="a,b", help=f"padrão: todas ({nomes})")
    leitor.add_argument("--rodadas", type=int, metavar="N", help=f"por figura; padrão {RODADAS}")
    leitor.add_argument("--rapida", action="store_true", help="remessas pequenas: mostra se anda, não mede")
    leitor.add_argument("--saida", type=Path, default=RAIZ / ".local" / "bench.json", metavar="ARQUIVO")
    pedido = leitor.parse_args(argumentos)
    if pedido.rodadas is not None and pedido.rodadas < 1:
        leitor.error("--rodadas precisa ser ao menos 1")
    desconhecidas = set(pedido.figuras.split(",")) - {figura.nome for figura in FIGURAS}
    if desconhecidas:
        leitor.error(f"figuras desconhecidas: {', '.join(sorted(desconhecidas))}; há {nomes}")
    return pedido


def _escolher(nomes: str) -> list[Figura]:
    """As pedidas, na ordem do registro."""
    pedidas = nomes.split(",")
    return [figura for figura in FIGURAS if figura.nome in pedidas]


def _sair(sinal: int, quadro: FrameType | None) -> None:
    sys.exit(128 + sinal)


if __name__ == "__main__":
    sys.exit(principal(sys.argv[1:]))
