"""O retrato do servidor: filas, idade, linhas e workers. Usado pelo comando e, depois, pelas telas."""

from typing import Any

import redis
from celery import current_app
from django.db import connection
from django.db.models import Count
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerForaDoAr

from dlr.models import EventoLogico, Excecao, Mensagem, Recepcao, SituacaoDaExcecao
from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa import Caixa
from ingestao.caixa.medida import medir
from ingestao.capturas.consultas import contar_situacao
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from ingestao.models import Aplicativo, Captura, Dispositivo, Erro, Evento, Sessao

CAIXAS: dict[str, Caixa] = {"lotes": CAIXA_DE_LOTES, "recepcoes": CAIXA_DE_RECEPCOES}
CONTADOS = {
    "aplicativos": Aplicativo,
    "sessoes": Sessao,
    "eventos": Evento,
    "erros": Erro,
    "dispositivos": Dispositivo,
    "capturas": Captura,
    "mensagens": Mensagem,
    "recepcoes": Recepcao,
    "eventos_logicos": EventoLogico,
}
CONTAGEM_MAXIMA = 1_000_000  # profundidade acima disto é "muito"; contar mais só atrasaria a resposta
ESPERA_DOS_WORKERS_S = 1.0
EXCECOES_CONTADAS = 50_000  # dezenas de milissegundos; quem tem mais que isso não precisa do número exato
# Índice: excecao_por_situacao.
SQL_EXCECOES_RECENTES = """
    SELECT integracao_id, tipo, count(*) FROM (
        SELECT integracao_id, tipo FROM dlr_excecao WHERE situacao = %(aberta)s
        ORDER BY aberta_em DESC LIMIT %(teto)s
    ) AS recente GROUP BY 1, 2
"""


def retratar() -> dict[str, Any]:
    """Devolve o retrato; `workers_vivos` é None quando o broker não responde."""
    return {
        "filas": {nome: _retratar_caixa(caixa) for nome, caixa in CAIXAS.items()},
        "linhas": {nome: modelo._default_manager.count() for nome, modelo in CONTADOS.items()},
        "capturas": contar_situacao(timezone.now()),
        "excecoes_abertas": contar_excecoes_abertas(),
        "workers_vivos": contar_workers(),
    }


def _retratar_caixa(caixa: Caixa) -> dict[str, Any]:
    medida = medir(caixa, limite=CONTAGEM_MAXIMA)
    return {
        "profundidade": medida.profundidade,
        "mais_antigo_s": round(medida.idade_s(timezone.now()), 3),
        "estacionados": caixa.modelo._default_manager.filter(estacionado_em__isnull=False).count(),
    }


def contar_excecoes_abertas() -> dict[str, int]:
    """Quantas exceções abertas há de cada tipo; só os tipos que têm alguma. Índice: excecao_por_situacao."""
    abertas = Excecao.objects.filter(situacao=SituacaoDaExcecao.ABERTA).order_by()
    return dict(abertas.values_list("tipo").annotate(quantas=Count("id")).order_by("tipo"))


def contar_excecoes_recentes() -> dict[tuple[int, str], int]:
    """(integração, tipo) → abertas, entre as `EXCECOES_CONTADAS` mais recentes: o custo não cresce com o acervo."""
    parametros: dict[str, Any] = {"aberta": SituacaoDaExcecao.ABERTA.value, "teto": EXCECOES_CONTADAS}
    with connection.cursor() as cursor:
        cursor.execute(SQL_EXCECOES_RECENTES, parametros)
        return {(integracao_id, tipo): quantas for integracao_id, tipo, quantas in cursor.fetchall()}


def contar_workers() -> int | None:
    """Quantos workers respondem a um ping; None com o broker fora do ar."""
    try:
        return len(current_app.control.ping(timeout=ESPERA_DOS_WORKERS_S))
    except (
        BrokerForaDoAr,
        redis.RedisError,
        OSError,
    ):  # quem cai no meio do ping não é embrulhado pelo kombu
        return None
