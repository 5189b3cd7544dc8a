"""`/saude` (o processo vive) e `/prontidao` (pode receber tráfego)."""

from collections.abc import Callable

import redis
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa.medida import idade_s
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from painel.verificacoes import broker_que_despeja, durabilidade_frouxa

CAIXAS = {"o lote mais antigo": CAIXA_DE_LOTES, "a recepção mais antiga": CAIXA_DE_RECEPCOES}
IDADE_MAXIMA_S = 300  # item esperando há mais que isto: os workers não estão dando conta
ESPERA_S = 5
SEM_BANCO = "o banco não responde ou falta migrar"


def saude(request: HttpRequest) -> JsonResponse:
    """O processo web responde. Não olha mais nada: reiniciá-lo não conserta um banco."""
    return JsonResponse({"situacao": "viva"})


def prontidao(request: HttpRequest) -> JsonResponse:
    """200 com tudo em ordem; 503 com o que falta, por parte e numa frase."""
    banco = _do_banco(_conferir_banco)
    fila = _do_banco(_conferir_fila) if banco == "ok" else "desconhecida"
    partes = {"banco": banco, "broker": _conferir_broker(), "fila": fila}
    faltas = [f"{parte}: {valor}" for parte, valor in partes.items() if valor != "ok"]
    if not faltas:
        return JsonResponse({"situacao": "pronta", **partes})
    corpo = {"detail": "; ".join(faltas), "codigo": "nao_pronta", "situacao": "indisponivel", **partes}
    return JsonResponse(corpo, status=503, headers={"Retry-After": str(ESPERA_S)})


def _do_banco(conferir: Callable[[], str]) -> str:
    try:
        return conferir()
    except DatabaseError:
        return SEM_BANCO


def _conferir_banco() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM ingestao_lote LIMIT 1")
    return durabilidade_frouxa() or "ok"


def _conferir_broker() -> str:
    try:
        return broker_que_despeja() or "ok"
    except redis.RedisError:
        return "o broker não responde; a ingestão segue e o processamento espera"


def _conferir_fila() -> str:
    """`ok` só com as duas caixas em dia; senão, o que espera em cada uma."""
    idades = {quem: idade_s(caixa) for quem, caixa in CAIXAS.items()}
    atrasos = [f"{quem} espera há {idade:.0f} s" for quem, idade in idades.items() if idade > IDADE_MAXIMA_S]
    return "; ".join(atrasos) or "ok"
