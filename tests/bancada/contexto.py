"""O que toda figura recebe, e o que é uma figura."""

from collections.abc import Callable
from dataclasses import dataclass

import psycopg

from tests.bancada.medida import Medida, Rodada
from tests.bancada.relatorio import formatar
from tests.bancada.servidor import Servidor


@dataclass(frozen=True, slots=True, kw_only=True)
class Bancada:
    """O servidor de pé e o que se pediu. `rapida` troca precisão por segundos: só mostra se tudo anda."""

    servidor: Servidor
    banco: psycopg.Connection
    rodadas: int
    rapida: bool
    avisar: Callable[[str], None]

    def avisar_rodada(self, figura: str, numero: int, rodada: Rodada, unidade: str) -> None:
        """Mostra o andamento de uma rodada."""
        self.avisar(
            f"{figura} {numero}/{self.rodadas}: {formatar(rodada.valor)} {unidade} · referência "
            f"{formatar(rodada.referencia)} · razão {formatar(rodada.razao)}"
            + (f" · {rodada.nota}" if rodada.nota else "")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figura:
    """Uma medida com nome. `medir(bancada, nome)` confere as contas a cada rodada e levanta se não fecham."""

    nome: str
    explicacao: str
    medir: Callable[[Bancada, str], Medida]
