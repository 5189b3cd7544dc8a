"""O uso do mês de cada aplicativo contra a franquia dele."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db import connection

from ingestao.eventos.cota import PERCENTUAIS_DE_AVISO, periodo_de
from ingestao.models import Aplicativo, PoliticaDeFranquia, Uso
from painel.admin.ingestao.consumo import percentual_de
from painel.admin.texto_alheio import resumir
from painel.graficos import Parte, Tom, montar_proporcao
from painel.inicio.visao import Visao

LISTADOS = 6
ATENCAO, ESGOTADA = PERCENTUAIS_DE_AVISO

# Índice: uso_unico_no_dia, um mês de cada aplicativo. Os que mais se aproximam da franquia primeiro.
SQL_USO_DO_MES = """
    SELECT a.id, a.nome, a.franquia, a.politica, coalesce(sum(u.quantidade_eventos), 0)::bigint AS uso
    FROM ingestao_aplicativo a
    LEFT JOIN ingestao_uso u ON u.aplicativo_id = a.id AND u.dia >= %(mes)s
    WHERE NOT a.deletado
    GROUP BY a.id
    ORDER BY a.franquia IS NULL, coalesce(sum(u.quantidade_eventos), 0) / a.franquia::float8 DESC, uso DESC, a.nome
    LIMIT %(limite)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsoDaCota:
    """O mês de um aplicativo; `franquia` None é sem limite."""

    aplicativo_id: UUID
    nome: str
    franquia: int | None
    para: bool
    uso: int


def buscar_cotas(hoje: date) -> list[UsoDaCota]:
    """Uma ida ao banco; até `LISTADOS` aplicativos."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_USO_DO_MES, {"mes": periodo_de(hoje), "limite": LISTADOS})
        return [
            UsoDaCota(
                aplicativo_id=id_,
                nome=nome,
                franquia=franquia,
                para=politica == PoliticaDeFranquia.PARAR_INGESTAO,
                uso=uso,
            )
            for id_, nome, franquia, politica, uso in cursor.fetchall()
        ]


def montar_cotas(cotas: list[UsoDaCota], visao: Visao) -> dict[str, Any]:
    """Uma barra por aplicativo com franquia; os outros, só o uso."""
    return {
        "url": visao.lista(Aplicativo),
        "url_de_criar": visao.criacao(Aplicativo),
        "aplicativos": [
            {
                "nome": resumir(cota.nome, 60),
                "url": visao.pagina(Aplicativo, cota.aplicativo_id),
                "uso": cota.uso,
                "url_do_uso": visao.lista(Uso, aplicativo=cota.aplicativo_id, periodo="mes"),
                "franquia": cota.franquia,
                "percentual": percentual_de(cota.uso, cota.franquia),
                "cor": _cor(cota),
                "situacao": _situacao(cota),
                "barra": montar_proporcao(
                    id=f"cota-{cota.aplicativo_id}",
                    partes=[Parte(nome="usado no mês", tom=_tom(cota), valor=cota.uso)],
                    de=cota.franquia,
                )
                if cota.franquia
                else None,
            }
            for cota in cotas
        ],
    }


def _cor(cota: UsoDaCota) -> str:
    return {Tom.VERMELHO: "danger", Tom.AMBAR: "warning"}.get(_tom(cota), "")


def _tom(cota: UsoDaCota) -> Tom:
    percentual = percentual_de(cota.uso, cota.franquia) or 0
    return Tom.VERMELHO if percentual >= ESGOTADA else Tom.AMBAR if percentual >= ATENCAO else Tom.PETROLEO


def _situacao(cota: UsoDaCota) -> str:
    percentual = percentual_de(cota.uso, cota.franquia) or 0
    if percentual < ATENCAO:
        return ""
    if percentual < ESGOTADA:
        return "perto do fim"
    return "ingestão parada" if cota.para else "passou da franquia"
