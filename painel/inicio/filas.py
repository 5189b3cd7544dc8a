"""As caixas de entrada: quanto espera, há quanto tempo, o que estacionou, e quem trabalha."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from config import batimento
from dlr.models import RecepcaoPendente
from ingestao.caixa import ItemDaCaixa
from ingestao.models import Lote
from painel.admin.ficha import mostrar_espera
from painel.admin.tabela_grande import CONTAGEM_MAXIMA
from painel.inicio.visao import Visao

CAIXAS: tuple[tuple[str, type[ItemDaCaixa]], ...] = (
    ("Lotes de eventos", Lote),
    ("Recepções de recibos", RecepcaoPendente),
)

ATRASO_S = 60  # a varredura é de 3 s: um minuto já é fila que não anda

# Índices: <tabela>_pendente e <tabela>_estacionado. Quem espera a própria hora (recuo) não conta na idade.
SQL_MEDIR = """
    SELECT
        (SELECT count(*) FROM (SELECT 1 FROM {tabela} WHERE estacionado_em IS NULL LIMIT %(teto)s) AS p),
        (SELECT recebido_em FROM {tabela} WHERE estacionado_em IS NULL
            AND (disponivel_em IS NULL OR disponivel_em <= %(agora)s) ORDER BY id LIMIT 1),
        (SELECT count(*) FROM (SELECT 1 FROM {tabela} WHERE estacionado_em IS NOT NULL LIMIT %(teto)s) AS e)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fila:
    """Uma caixa: `pendentes` e `estacionados` param em `CONTAGEM_MAXIMA` + 1."""

    nome: str
    modelo: type[ItemDaCaixa]
    pendentes: int
    mais_antigo_em: datetime | None
    estacionados: int

    def idade_s(self, agora: datetime) -> float:
        """Há quantos segundos espera o mais antigo; zero com a caixa vazia."""
        return max(0.0, (agora - self.mais_antigo_em).total_seconds()) if self.mais_antigo_em else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Filas:
    """As caixas que a pessoa vê, e quantos workers batem (None: o Valkey não responde)."""

    filas: list[Fila]
    workers: int | None


def buscar_filas(visao: Visao, agora: datetime) -> Filas:
    """Uma ida ao banco por caixa visível e uma ao Valkey."""
    filas = []
    with connection.cursor() as cursor:
        for nome, modelo in CAIXAS:
            if visao.ve(modelo):
                sql = SQL_MEDIR.format(tabela=modelo._meta.db_table)
                cursor.execute(sql, {"teto": CONTAGEM_MAXIMA + 1, "agora": agora})
                pendentes, mais_antigo_em, estacionados = cursor.fetchone()
                filas.append(
                    Fila(
                        nome=nome,
                        modelo=modelo,
                        pendentes=pendentes,
                        mais_antigo_em=mais_antigo_em,
                        estacionados=estacionados,
                    )
                )
    return Filas(filas=filas, workers=batimento.contar_vivos() if filas else None)


def montar_filas(filas: Filas, visao: Visao, agora: datetime) -> dict[str, Any]:
    """A tabela das caixas e a frase dos workers."""
    return {
        "workers": filas.workers,
        "filas": [
            {
                "fila": fila,
                "idade": mostrar_espera(fila.mais_antigo_em, agora) if fila.mais_antigo_em else "",
                "atrasada": fila.idade_s(agora) > ATRASO_S,
                "url": visao.lista(fila.modelo, situacao="pendente"),
                "url_dos_estacionados": visao.lista(fila.modelo, situacao="estacionado"),
            }
            for fila in filas.filas
        ],
    }
