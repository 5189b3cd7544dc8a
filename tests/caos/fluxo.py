"""O que uma rodada pede de cada fluxo (eventos, recibos, capturas)."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol

import psycopg

from tests.caos.servidor import ServidorLocal


class Fluxo(Protocol):
    """Uma carga que insiste até ouvir, e o oráculo dela. `conferir` só depois de `terminar`."""

    nome: str

    @property
    def falhas(self) -> Mapping[str, Callable[[ServidorLocal, Random], str]]:
        """As falhas que só este fluxo sabe causar, pelo nome (a forma é a de `falhas.Falha`)."""

    @property
    def qtd_prometidos(self) -> int:
        """Quanto o servidor já confirmou."""

    @property
    def violacoes(self) -> list[str]:
        """As promessas quebradas de que já se sabe."""

    def iniciar(self) -> None:
        """Começa a carga."""

    def terminar(self) -> None:
        """Para de criar e espera a última resposta; acusa quem ficou sem ela com o servidor de pé."""

    def parar(self) -> None:
        """Encerra threads e processos, tenha a rodada acabado como for."""

    def contar_por_fazer(self, servidor: ServidorLocal) -> int:
        """Quanto o servidor ainda tem a fazer deste fluxo; levanta psycopg.OperationalError."""

    def conferir(self, banco: psycopg.Connection[Any]) -> None:
        """Acusa o que o banco tem de diferente do prometido."""

    def progresso(self) -> str:
        """Uns poucos números, para a linha de progresso."""

    def resumo(self) -> str:
        """Uma linha: o que se mandou, o que se prometeu."""
