"""O fluxo dos sites: doze clientes, metade pelo relé, e oito sites, um deles com franquia."""

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from tests.caos.clientes import Cliente
from tests.caos.conferencia import conferir
from tests.caos.falhas import Falha
from tests.caos.lotes import Site
from tests.caos.oraculo import Oraculo
from tests.caos.servidor import ServidorLocal

QTD_SITES = 8
QTD_CLIENTES = 12
FRANQUIA = 1_500  # de um dos sites: passa dela no meio da rodada e começa a receber 402
PRAZO_DOS_CLIENTES_S = 60

SQL_PENDENTES = "SELECT count(*) FROM ingestao_lote WHERE estacionado_em IS NULL"


class FluxoDeEventos:
    """Os clientes de uma rodada, do primeiro lote ao último reenvio."""

    nome = "eventos"
    falhas: Mapping[str, Falha] = {}  # os clientes já cortam e repetem o tempo todo

    def __init__(
        self, servidor: ServidorLocal, semente: int, *, por_segundo: float, porta_do_rele: int
    ) -> None:
        """Cria os sites no servidor, que precisa estar de pé."""
        self.oraculo = Oraculo()
        self.qtd_linhas = 0
        self._sites = criar_sites(servidor, QTD_SITES, franquia=FRANQUIA)
        self._parar, self._desistir = threading.Event(), threading.Event()
        self._clientes = [
            Cliente(
                numero,
                semente=semente,
                porta=porta_do_rele if numero % 2 else servidor.porta,
                sites=self._sites,
                oraculo=self.oraculo,
                intervalo_s=QTD_CLIENTES / por_segundo,
                parar=self._parar,
                desistir=self._desistir,
            )
            for numero in range(QTD_CLIENTES)
        ]

    @property
    def qtd_prometidos(self) -> int:
        """Os eventos de que se ouviu 202."""
        return self.oraculo.qtd_prometidos

    @property
    def violacoes(self) -> list[str]:
        return self.oraculo.violacoes

    def iniciar(self) -> None:
        """Começa a carga."""
        for cliente in self._clientes:
            cliente.start()

    def terminar(self) -> None:
        """Para de criar lotes e espera os reenvios; acusa quem ficou sem resposta com o servidor de pé."""
        self._parar.set()
        limite = time.monotonic() + PRAZO_DOS_CLIENTES_S
        for cliente in self._clientes:
            cliente.join(max(0.0, limite - time.monotonic()))
        presos = sum(len(c.pendentes) or 1 for c in self._clientes if c.is_alive())
        if presos:
            self.oraculo.acusar(f"{presos} lotes sem resposta {PRAZO_DOS_CLIENTES_S} s depois das falhas")

    def parar(self) -> None:
        """Encerra as threads."""
        self._parar.set()
        self._desistir.set()
        for cliente in self._clientes:
            if cliente.ident is not None:
                cliente.join(30)

    def contar_por_fazer(self, servidor: ServidorLocal) -> int:
        """Os lotes à espera na caixa."""
        return int(servidor.consultar(SQL_PENDENTES)[0][0])

    def conferir(self, banco: psycopg.Connection[Any]) -> None:
        """Cada evento prometido existe, uma vez, onde devia; e todas as contas fecham."""
        self.qtd_linhas = conferir(banco, self.oraculo, self._sites)

    def progresso(self) -> str:
        respostas = self.oraculo.respostas
        return f"202={respostas['202']} 503={respostas['503']} sem resposta={respostas['sem resposta']}"

    def resumo(self) -> str:
        o = self.oraculo
        return (
            f"{o.respostas['mandadas']} lotes mandados, {o.respostas['202']} aceitos, "
            f"{o.respostas['503']} adiados (503), {o.respostas['sem resposta']} sem resposta; "
            f"{self.qtd_prometidos} eventos prometidos, {self.qtd_linhas} no banco; espera p50 "
            f"{o.percentil_ms(0.5):.0f} ms, p99 {o.percentil_ms(0.99):.0f} ms, máxima {o.espera_maxima_s:.1f} s"
        )


def criar_sites(servidor: ServidorLocal, quantos: int, *, franquia: int | None = None) -> Sequence[Site]:
    """Cria os sites da carga; com `franquia`, o último a tem e para de receber quando ela acaba."""
    argumentos = [str(quantos)] + ([str(franquia)] if franquia is not None else [])
    return [Site(**site) for site in servidor.rodar_modulo("tests.caos.aplicativos", *argumentos)]


def contar_pendentes(servidor: ServidorLocal) -> int | None:
    """Lotes à espera na caixa; None enquanto o banco não responde."""
    try:
        return int(servidor.consultar(SQL_PENDENTES)[0][0])
    except psycopg.OperationalError:
        return None
