"""O fluxo das transportadoras, em épocas de um minuto: cada uma tem a sua integração e o seu roteiro.

De uma época que acabou só fica, em disco, o que se ouviu; o roteiro se refaz da semente na hora de conferir. Assim
meia hora de carga pesa o mesmo que um minuto.
"""

import pickle
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import psycopg

from tests.caos.conferencia_recibos import SQL_POR_FAZER, conferir
from tests.caos.falhas import Falha
from tests.caos.recibos import Roteiro, montar_roteiro
from tests.caos.servidor import ServidorLocal
from tests.caos.transportadora import Anotacoes, Carga, Integracao

EPOCA_S = 60.0
ESTEIRA_S = 0.1
PRAZO_DO_FIM_S = 120
MAX_EPOCAS = 999  # a semente da época é a da rodada seguida de três algarismos


class FluxoDeRecibos:
    """Uma época depois da outra, até o fim da rodada; a última é apressada."""

    nome = "recibos"
    falhas: Mapping[str, Falha] = {}

    def __init__(
        self,
        servidor: ServidorLocal,
        semente: int,
        integracoes: Sequence[Integracao],
        *,
        duracao_s: float,
        mensagens_por_segundo: float,
        porta_do_rele: int,
    ) -> None:
        """`integracoes` são tantas quantas `contar_epocas` diz."""
        self.violacoes: list[str] = []
        self._servidor, self._semente, self._integracoes = servidor, semente, integracoes
        self._epoca_s = min(EPOCA_S, duracao_s)
        self._mensagens = ceil(self._epoca_s * mensagens_por_segundo)
        self._porta_do_rele = porta_do_rele
        self._pasta = servidor.pasta / "recibos"
        self._respostas: Counter[str] = Counter()
        self._qtd_epocas = 0
        self._carga: Carga | None = None
        self._parar, self._desistir = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._trabalhar, name="recibos", daemon=True)

    @property
    def qtd_prometidos(self) -> int:
        """Os callbacks de que se ouviu 202."""
        return self._somar()["202"]

    @staticmethod
    def contar_epocas(duracao_s: float) -> int:
        """Quantas integrações uma rodada pede, com sobra: derrubar e levantar tudo a faz durar mais."""
        return min(MAX_EPOCAS, 2 * ceil(duracao_s / EPOCA_S))

    def iniciar(self) -> None:
        """Começa a primeira época."""
        self._pasta.mkdir()
        self._thread.start()

    def terminar(self) -> None:
        """Apressa a época em curso e não começa outra; acusa se alguém ficou sem 2xx com o servidor de pé."""
        self._parar.set()
        self._thread.join(PRAZO_DO_FIM_S)
        if self._thread.is_alive():
            self.violacoes.append(f"recibos: chamadas sem 2xx {PRAZO_DO_FIM_S} s depois das falhas")

    def parar(self) -> None:
        """Encerra as threads."""
        self._parar.set()
        self._desistir.set()
        if self._thread.ident is not None:
            self._thread.join(60)

    def contar_por_fazer(self, servidor: ServidorLocal) -> int:
        """Recepções pendentes, e eventos soltos cuja mensagem já está registrada."""
        return int(servidor.consultar(SQL_POR_FAZER)[0][0])

    def conferir(self, banco: psycopg.Connection[Any]) -> None:
        """Época por época: o que se confirmou está lá, conta uma vez, e a projeção é a que a história manda."""
        for epoca in range(self._qtd_epocas):
            anotacoes: Anotacoes = pickle.loads(self._arquivo(epoca).read_bytes())
            achadas = conferir(banco, self._integracoes[epoca], self._roteiro(epoca), anotacoes)
            self.violacoes += [f"{self._integracoes[epoca].slug}: {violacao}" for violacao in achadas]

    def progresso(self) -> str:
        somadas = self._somar()
        return f"202={somadas['202']} sem resposta={somadas['sem resposta']} época {self._qtd_epocas + 1}"

    def resumo(self) -> str:
        somadas = self._somar()
        adiadas = sum(n for resposta, n in somadas.items() if resposta.startswith("503"))
        return (
            f"{somadas['202']} callbacks confirmados e {somadas['registro 200']} registros de mensagens em "
            f"{self._qtd_epocas} épocas de {self._mensagens} mensagens; {adiadas} adiados (503), "
            f"{somadas['sem resposta'] + somadas['registro sem resposta']} sem resposta"
        )

    # ---- Por dentro

    def _trabalhar(self) -> None:
        for epoca in range(len(self._integracoes)):
            if self._parar.is_set():
                return
            carga = Carga(
                self._servidor,
                self._integracoes[epoca],
                self._roteiro(epoca),
                duracao_s=self._epoca_s,
                porta=self._porta_do_rele if epoca % 2 == 0 else None,
            )
            with carga:
                self._carga = carga
                while not carga.acabou and not self._desistir.is_set():
                    if self._parar.is_set():
                        carga.apressar()
                    time.sleep(ESTEIRA_S)
            self._arquivo(epoca).write_bytes(pickle.dumps(carga.anotacoes))
            self._respostas.update(carga.anotacoes.respostas)
            self._qtd_epocas, self._carga = epoca + 1, None

    def _roteiro(self, epoca: int) -> Roteiro:
        return montar_roteiro(self._semente * (MAX_EPOCAS + 1) + epoca, mensagens=self._mensagens)

    def _arquivo(self, epoca: int) -> Path:
        return self._pasta / f"{epoca}.pickle"

    def _somar(self) -> Counter[str]:
        carga = self._carga
        return self._respostas + (carga.anotacoes.respostas if carga else Counter())
