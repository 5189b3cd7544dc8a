"""As exceções abertas dos recibos: quantas de cada tipo, e há quanto tempo esperam."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from dlr.models import Excecao, TipoDeExcecao
from painel.admin.ficha import mostrar_espera
from painel.admin.tabela_grande import CONTAGEM_MAXIMA
from painel.graficos import Parte, Proporcao, Tom, montar_proporcao
from painel.inicio.visao import Visao

# Do mais novo ao mais velho; os mesmos do filtro por idade da lista.
IDADES: tuple[tuple[str, str, Tom], ...] = (
    ("1h", "até 1 h", Tom.AZUL),
    ("24h", "até 24 h", Tom.VIOLETA),
    ("7d", "até 7 dias", Tom.AMBAR),
    ("mais", "mais de 7 dias", Tom.VERMELHO),
)

# Índice: excecao_aberta_por_tipo, só o índice; cada tipo para no teto, das mais velhas para as mais novas.
SQL_CONTAR = """
    SELECT t.tipo, c.total, c.velha, c.h1, c.h24, c.d7
    FROM unnest(%(tipos)s::text[]) AS t(tipo)
    CROSS JOIN LATERAL (
        SELECT count(*) AS total, min(aberta_em) AS velha,
            count(*) FILTER (WHERE aberta_em >= %(hora)s) AS h1,
            count(*) FILTER (WHERE aberta_em >= %(dia)s AND aberta_em < %(hora)s) AS h24,
            count(*) FILTER (WHERE aberta_em >= %(semana)s AND aberta_em < %(dia)s) AS d7
        FROM (
            SELECT aberta_em FROM dlr_excecao e WHERE e.situacao = 'aberta' AND e.tipo = t.tipo
            ORDER BY aberta_em LIMIT %(teto)s
        ) AS aberta
    ) AS c
    WHERE c.total > 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abertas:
    """As abertas de um tipo: o total (até `CONTAGEM_MAXIMA` + 1), a mais velha, e quantas de cada idade."""

    tipo: TipoDeExcecao
    total: int
    mais_velha_em: datetime
    por_idade: tuple[int, int, int, int]


def buscar_excecoes(agora: datetime) -> list[Abertas]:
    """Uma ida ao banco; os tipos com mais abertas primeiro."""
    valores: dict[str, Any] = {
        "tipos": list(TipoDeExcecao.values),
        "hora": agora - timedelta(hours=1),
        "dia": agora - timedelta(days=1),
        "semana": agora - timedelta(days=7),
        "teto": CONTAGEM_MAXIMA + 1,
    }
    with connection.cursor() as cursor:
        cursor.execute(SQL_CONTAR, valores)
        abertas = [
            Abertas(
                tipo=TipoDeExcecao(tipo),
                total=total,
                mais_velha_em=velha,
                por_idade=(h1, h24, d7, total - h1 - h24 - d7),
            )
            for tipo, total, velha, h1, h24, d7 in cursor.fetchall()
        ]
    return sorted(abertas, key=lambda a: (-a.total, a.tipo))


def montar_excecoes(abertas: list[Abertas], visao: Visao, agora: datetime) -> dict[str, Any]:
    """Uma barra por tipo, na escala do maior, partida por idade; e o total de cada idade."""
    maior = max((a.total for a in abertas), default=0)
    return {
        "total": sum(a.total for a in abertas),
        "url": visao.lista(Excecao),
        "idades": [
            {"nome": nome, "tom": tom, "quantas": quantas, "url": visao.lista(Excecao, idade=idade)}
            for i, (idade, nome, tom) in enumerate(IDADES)
            if (quantas := sum(a.por_idade[i] for a in abertas))
        ],
        "desenho": Proporcao(id="idades", descricao="", pedacos=[], tons=[tom for _, _, tom in IDADES]),
        "tipos": [
            {
                "nome": a.tipo.label,
                "quantas": a.total,
                "url": visao.lista(Excecao, tipo=a.tipo.value),
                "idade": mostrar_espera(a.mais_velha_em, agora),
                "barra": montar_proporcao(
                    id=f"excecao-{a.tipo.value}",
                    partes=[
                        Parte(nome=nome, tom=tom, valor=quantas)
                        for (_, nome, tom), quantas in zip(IDADES, a.por_idade, strict=True)
                    ],
                    de=maior,
                ),
            }
            for a in abertas
        ],
    }
