"""A porta dos sites: conferir, gravar, acordar, responder."""

from typing import Any

import orjson
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from config.erros import ErroDaApi
from ingestao.caixa import PortaFechada
from ingestao.eventos import esquema
from ingestao.eventos.recepcao import Recusado, receber, recusar
from ingestao.tasks import despertador_de_lotes


class IngestaoView(APIView):
    """`POST /evento/ingestao`: um lote de eventos de um site. Sem token: a chave é pública."""

    @extend_schema(**esquema.INGESTAO)
    def post(self, request: Request) -> HttpResponse:
        """Responde 202 só depois do COMMIT do lote; toda recusa também é gravada antes de responder."""
        recebido_em = timezone.now()
        try:
            recibo = receber(request.body, request.META, recebido_em)
        except Recusado as recusa:
            recusar(recusa, recebido_em)
            despertador_de_lotes.acordar()
            raise ErroDaApi(
                recusa.status, recusa.codigo, recusa.detalhe, espera_s=recusa.espera_s
            ) from recusa
        except PortaFechada as fechada:
            raise ErroDaApi(
                503, "fila_cheia", "A fila está cheia; reenvie depois.", espera_s=fechada.espera_s
            ) from fechada
        if recibo.gravou:
            despertador_de_lotes.acordar()
        return HttpResponse(orjson.dumps(recibo.resposta), status=202, content_type="application/json")

    @extend_schema(exclude=True)
    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """Um OPTIONS que não é preflight (o preflight nem chega aqui)."""
        return HttpResponse(status=204, headers={"Allow": "POST, OPTIONS"})
