"""As mensagens das últimas 24 horas: o aceite, o que o DLR relatou e o que se verificou. Nunca se misturam."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from dlr.models import Mensagem
from painel.admin.recentes import JANELA_RECENTE
from painel.graficos import Parte, Tom, montar_proporcao
from painel.inicio.visao import Visao

SEM_RECIBO = "sem_recibo"  # o mesmo valor do filtro da lista
TONS_DOS_ESTADOS = {
    "DELIVERED": Tom.VERDE,
    "UNDELIVERABLE": Tom.VERMELHO,
    "REJECTED": Tom.VERMELHO,
    "EXPIRED": Tom.AMBAR,
    "DELETED": Tom.AMBAR,
    "SKIPPED": Tom.AMBAR,
    "UNKNOWN": Tom.ROSA,
    "ACCEPTED": Tom.AZUL,
    "ENROUTE": Tom.AZUL,
    "SCHEDULED": Tom.AZUL,
    SEM_RECIBO: Tom.CINZA,
}

# As mais recentes pela chave, que cresce com a criação: a janela do filtro da lista. Com ela o custo não depende de
# quantas mensagens há. A projeção e a verificação vêm de um trecho contíguo dos índices delas: uma procura por
# mensagem custava quatro vezes mais.
SQL_CONTAR = """
    WITH recente AS MATERIALIZED (
        SELECT id, aceita FROM (
            SELECT id, aceita, criada_em FROM dlr_mensagem ORDER BY id DESC LIMIT %(janela)s + 1
        ) AS m WHERE criada_em >= %(desde)s
    ), projetada AS MATERIALIZED (
        SELECT mensagem_id, estado FROM dlr_projecao WHERE mensagem_id >= (SELECT min(id) FROM recente)
    ), provada AS MATERIALIZED (
        SELECT DISTINCT mensagem_id FROM dlr_verificacao WHERE mensagem_id >= (SELECT min(id) FROM recente)
    )
    SELECT m.aceita, coalesce(p.estado, 'sem_recibo'), v.mensagem_id IS NOT NULL, count(*)
    FROM recente m
    LEFT JOIN projetada p ON p.mensagem_id = m.id
    LEFT JOIN provada v ON v.mensagem_id = m.id
    GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mensagens:
    """Três contagens das mesmas mensagens. `recortou`: há mais que `JANELA_RECENTE` no período."""

    aceite: Counter[bool | None]
    relatado: Counter[str]
    verificado: Counter[bool]

    @property
    def total(self) -> int:
        return self.aceite.total()

    @property
    def recortou(self) -> bool:
        return self.total > JANELA_RECENTE


def buscar_mensagens(agora: datetime) -> Mensagens:
    """Uma ida ao banco, sobre até `JANELA_RECENTE` mensagens."""
    mensagens = Mensagens(aceite=Counter(), relatado=Counter(), verificado=Counter())
    with connection.cursor() as cursor:
        cursor.execute(SQL_CONTAR, {"janela": JANELA_RECENTE, "desde": agora - timedelta(hours=24)})
        for aceita, estado, verificada, quantas in cursor.fetchall():
            mensagens.aceite[aceita] += quantas
            mensagens.relatado[estado] += quantas
            mensagens.verificado[verificada] += quantas
    return mensagens


def montar_mensagens(mensagens: Mensagens, visao: Visao) -> dict[str, Any]:
    """As três colunas, cada uma com a sua barra e os links das listas."""

    def lista(**filtros: str) -> str:
        return visao.lista(Mensagem, registrada="24h", **filtros)

    aceites = (
        (True, "aceita", Tom.VERDE, "sim"),
        (False, "recusada", Tom.VERMELHO, "nao"),
        (None, "não se sabe", Tom.CINZA, "nao_se_sabe"),
    )
    verificacoes = ((True, "verificada", Tom.VERDE, "ha"), (False, "não há", Tom.CINZA, "nao_ha"))
    colunas = {
        "aceite": [
            Parte(nome=nome, tom=tom, valor=mensagens.aceite[valor], url=lista(aceitacao=filtro))
            for valor, nome, tom, filtro in aceites
        ],
        "relatado": [
            Parte(
                nome="sem recibo" if estado == SEM_RECIBO else estado,
                tom=tom,
                valor=mensagens.relatado[estado],
                url=lista(estado=estado),
            )
            for estado, tom in TONS_DOS_ESTADOS.items()
        ],
        "verificado": [
            Parte(nome=nome, tom=tom, valor=mensagens.verificado[valor], url=lista(verificacao=filtro))
            for valor, nome, tom, filtro in verificacoes
        ],
    }
    titulos = {
        "aceite": ("Aceite da transportadora", "A apresentação foi aceita. Nada diz da entrega."),
        "relatado": ("Relatado pelo DLR", "O que os recibos disseram. Não prova que alguém leu."),
        "verificado": ("Verificado por fora", "Uma prova independente: o código digitado, por exemplo."),
    }
    return {
        "total": mensagens.total,
        "recortou": mensagens.recortou,
        "janela": JANELA_RECENTE,
        "url": lista(),
        "colunas": [
            {
                "titulo": titulos[nome][0],
                "ajuda": titulos[nome][1],
                "barra": montar_proporcao(id=f"mensagens-{nome}", partes=partes),
                "partes": [parte for parte in partes if parte.valor],
            }
            for nome, partes in colunas.items()
        ],
    }
