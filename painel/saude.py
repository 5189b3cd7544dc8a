"""`/saude` (o processo vive) e `/prontidao` (pode receber tráfego)."""

import redis
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa.medida import idade_s
from ingestao.eventos.processamento import CAIXA_DE_LOTES
from painel.verificacoes import broker_que_despeja, durabilidade_frouxa

CAIXAS = {"o lote mais antigo": CAIXA_DE_LOTES, "a recepção mais antiga": CAIXA_DE_RECEPCOES}
IDADE_MAXIMA_S = 300  # item esperando há mais que isto: os workers não estão dando conta


def saude(request: HttpRequest) -> JsonResponse:
    """O processo web responde. Não olha mais nada: reiniciá-lo não conserta um banco."""
    return JsonResponse({"situacao": "viva"})


def prontidao(request: HttpRequest) -> JsonResponse:
    """200 com tudo em ordem; 503 com o que falta, por parte."""
    partes = {"banco": _conferir_banco(), "broker": _conferir_broker()}
    partes["fila"] = _conferir_fila() if partes["banco"] == "ok" else "desconhecida"
    pronta = all(valor == "ok" for valor in partes.values())
    resposta = JsonResponse(
        {"situacao": "pronta" if pronta else "indisponivel", **partes}, status=200 if pronta else 503
    )
    if not pronta:
        resposta["Retry-After"] = "5"
    return resposta


def _conferir_banco() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM ingestao_lote LIMIT 1")
        return durabilidade_frouxa() or "ok"
    except DatabaseError:
        return "o banco não responde ou falta migrar"


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
