"""O retrato do servidor: filas, idade, linhas e workers. Usado pelo comando e, depois, pelas telas."""

from typing import Any

from celery import current_app
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


def contar_workers() -> int | None:
    """Quantos workers respondem a um ping; None com o broker fora do ar."""
    try:
        return len(current_app.control.ping(timeout=ESPERA_DOS_WORKERS_S))
    except (BrokerForaDoAr, OSError):
        return None
