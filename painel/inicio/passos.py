"""O que falta instalar, na ordem em que se faz, só para quem pode fazer."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection

from dlr.models import Integracao
from ingestao.models import Aplicativo, Dispositivo
from painel.inicio.visao import Visao

SQL_SITUACAO = """
    SELECT
        EXISTS (SELECT 1 FROM ingestao_aplicativo WHERE NOT deletado),
        EXISTS (SELECT 1 FROM ingestao_aplicativo WHERE NOT deletado AND primeiro_evento_em IS NOT NULL),
        (SELECT id FROM ingestao_aplicativo WHERE NOT deletado AND primeiro_evento_em IS NULL
            ORDER BY criado_em DESC LIMIT 1),
        EXISTS (SELECT 1 FROM dlr_integracao WHERE NOT deletado),
        EXISTS (SELECT 1 FROM ingestao_dispositivo WHERE NOT deletado)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instalacao:
    """O que já existe; `calado_id` é o aplicativo mais novo que ainda não mandou nada."""

    ha_aplicativo: bool
    ha_evento: bool
    calado_id: UUID | None
    ha_integracao: bool
    ha_dispositivo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Passo:
    """Um passo da instalação; sem `url`, `ajuda` diz como fazer."""

    titulo: str
    ajuda: str
    feito: bool
    url: str
    verbo: str


def buscar_instalacao() -> Instalacao:
    """Uma ida ao banco."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_SITUACAO)
        ha_aplicativo, ha_evento, calado_id, ha_integracao, ha_dispositivo = cursor.fetchone()
    return Instalacao(
        ha_aplicativo=ha_aplicativo,
        ha_evento=ha_evento,
        calado_id=calado_id,
        ha_integracao=ha_integracao,
        ha_dispositivo=ha_dispositivo,
    )


def montar_passos(instalacao: Instalacao, visao: Visao) -> list[Passo]:
    """Os quatro passos, feitos e por fazer; vazio para quem não instala nada."""
    if not visao.pode("ingestao.add_aplicativo", "dlr.add_integracao", "ingestao.add_dispositivo"):
        return []
    calado = visao.pagina(Aplicativo, instalacao.calado_id) if instalacao.calado_id else ""
    return [
        Passo(
            titulo="Criar um aplicativo",
            ajuda="Um site que manda eventos: o nome e os domínios de onde a chave vale.",
            feito=instalacao.ha_aplicativo,
            url=visao.criacao(Aplicativo),
            verbo="Criar aplicativo",
        ),
        Passo(
            titulo="Colar o coletor no site",
            ajuda="O trecho está na página do aplicativo, com um teste pelo terminal."
            if instalacao.ha_aplicativo
            else "Depois de criado o aplicativo, o trecho está na página dele.",
            feito=instalacao.ha_evento,
            url=calado,
            verbo="Ver o trecho",
        ),
        Passo(
            titulo="Criar uma integração",
            ajuda="Uma transportadora de SMS que devolve recibos: o formato e o endereço do callback.",
            feito=instalacao.ha_integracao,
            url=visao.criacao(Integracao),
            verbo="Criar integração",
        ),
        Passo(
            titulo="Criar um dispositivo",
            ajuda="Uma câmera de campo: o token aparece uma vez. Pelo terminal: manage.py criar_dispositivo.",
            feito=instalacao.ha_dispositivo,
            url=visao.criacao(Dispositivo),
            verbo="Criar dispositivo",
        ),
    ]
