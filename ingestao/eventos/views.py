"""A porta dos sites como view do Django; o trabalho está em `atendimento.py`."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from config.chegada import Pedido
from config.rotas import RotaDeMaquina, chegada_do_django
from ingestao.eventos import esquema
from ingestao.eventos.atendimento import atender


class IngestaoView(RotaDeMaquina):
    """`POST /evento/ingestao`: um lote de eventos de um site. Sem token: a chave é pública."""

    @extend_schema(**esquema.INGESTAO)
    def post(self, request: Request) -> HttpResponse:
        """202 só depois do COMMIT do lote."""
        (resposta,) = atender([Pedido(chegada_do_django(request._request))])
        saida = HttpResponse(resposta.corpo, status=resposta.status, content_type="application/json")
        if resposta.espera_s is not None:
            saida["Retry-After"] = str(resposta.espera_s)
        return saida

    @extend_schema(exclude=True)
    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """Um OPTIONS que não é preflight (o preflight nem chega aqui)."""
        return HttpResponse(status=204, headers={"Allow": "POST, OPTIONS"})
