"""As rotas dos aparelhos: autenticar, fazer, responder. O trabalho está nos módulos ao lado."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from config.erros import ErroDaApi
from config.rotas import RotaDeMaquina
from ingestao.capturas import esquema, quadros
from ingestao.capturas.atendimento import Resposta, atender, atender_ingestao, contar_recusa, responder
from ingestao.capturas.espera import esperar_pouco
from ingestao.capturas.leitura import QUADRO_MAXIMO_BYTES
from ingestao.capturas.recepcao import receber_pulso
from ingestao.eventos.corpo import CorpoRecusado, ler_json

VERSAO_DO_TUS = "1.0.0"
TIPO_DO_PEDACO = "application/offset+octet-stream"
STATUS_DE_DIVERGENCIA = 460  # extensão checksum do tus: o SHA-256 não confere
PULSO_MAXIMO_BYTES = 256 * 1024


class _DoAparelho(RotaDeMaquina):
    """As rotas dos aparelhos: também o método errado é uma chamada recusada, e contada."""

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Um método que a rota não usa."""
        contar_recusa(405, "metodo_nao_permitido", "")
        return super().http_method_not_allowed(request, *args, **kwargs)


class IngestaoDeCapturasView(_DoAparelho):
    """`POST /captura/ingestao`: até cem capturas, com os recortes."""

    @extend_schema(**esquema.INGESTAO)
    def post(self, request: Request) -> HttpResponse:
        """200 só depois do COMMIT, com um resultado por evento."""
        return _http(atender_ingestao(_corpo(request), request.META))


class PulsoView(_DoAparelho):
    """`POST /captura/pulso`: o estado do aparelho."""

    @extend_schema(**esquema.PULSO)
    def post(self, request: Request) -> HttpResponse:
        """Vale como contato, e leva descartes e latências como um lote levaria."""
        return _http(
            responder(
                lambda: atender(
                    request.META, lambda id_, agora: receber_pulso(id_, _ler_json(request), agora)
                )
            )
        )


class PedidosView(_DoAparelho):
    """`GET /captura/pedidos?espera_s=`: os quadros que se espera deste aparelho."""

    @extend_schema(**esquema.PEDIDOS)
    def get(self, request: Request) -> HttpResponse:
        """Na porta de produção quem espera não ocupa thread (`espera.py`); por WSGI, espera até um segundo."""
        return _http(esperar_pouco(request.META, request.META.get("QUERY_STRING", "")))


class QuadroView(_DoAparelho):
    """`/captura/quadros/<pedido>`: o envio retomável de um quadro (núcleo do tus 1.0.0)."""

    @extend_schema(**esquema.VER_ENVIO)
    def head(self, request: Request, pedido_id: str) -> HttpResponse:
        """Onde o envio parou."""
        avanco = self._atender(request, lambda id_, agora: _ver_envio(request, id_, pedido_id, agora))
        return HttpResponse(
            headers={
                "Upload-Offset": str(avanco.offset),
                "Upload-Length": str(avanco.total),
                "Cache-Control": "no-store",
            }
        )

    @extend_schema(**esquema.ENVIAR_PEDACO)
    def patch(self, request: Request, pedido_id: str) -> HttpResponse:
        """204 só depois do COMMIT do pedaço; no último, depois de conferido e guardado o quadro."""
        avanco = self._atender(request, lambda id_, agora: _receber_pedaco(request, id_, pedido_id, agora))
        if avanco.divergiu:
            return _divergencia()
        return HttpResponse(status=204, headers={"Upload-Offset": str(avanco.offset)})

    @extend_schema(exclude=True)
    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        """O que este servidor fala do tus. Sem token: não diz nada de ninguém."""
        return HttpResponse(
            status=204,
            headers={"Tus-Version": VERSAO_DO_TUS, "Tus-Max-Size": str(QUADRO_MAXIMO_BYTES)},
        )

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Toda resposta diz a versão do tus, erros também."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Tus-Resumable"] = VERSAO_DO_TUS
        return response

    def _atender(self, request: Request, trabalho: Callable[[UUID, datetime], Any]) -> quadros.Avanco:
        return atender(request.META, trabalho)


class IndisponivelView(_DoAparelho):
    """`POST /captura/quadros/<pedido>/indisponivel`: o aparelho não tem mais o quadro."""

    @extend_schema(**esquema.INDISPONIVEL)
    def post(self, request: Request, pedido_id: str) -> HttpResponse:
        """Repetível; encerra o pedido com o motivo."""

        def declarar(dispositivo_id: UUID, agora: datetime) -> dict[str, str]:
            cru = _ler_json(request)
            motivo = cru.get("motivo") if isinstance(cru, dict) else None
            return quadros.declarar_indisponivel(dispositivo_id, pedido_id, motivo, agora)

        return _http(responder(lambda: atender(request.META, declarar)))


def _ver_envio(request: Request, dispositivo_id: UUID, pedido_id: str, agora: datetime) -> quadros.Avanco:
    _conferir_versao(request, obrigatoria=False)
    return quadros.ver_envio(dispositivo_id, pedido_id, agora)


def _receber_pedaco(
    request: Request, dispositivo_id: UUID, pedido_id: str, agora: datetime
) -> quadros.Avanco:
    _conferir_versao(request, obrigatoria=True)
    if request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != TIPO_DO_PEDACO:
        raise ErroDaApi(415, "tipo_de_conteudo_desconhecido", f"Mande Content-Type: {TIPO_DO_PEDACO}.")
    inicio = request.META.get("HTTP_UPLOAD_OFFSET", "")
    if not (inicio.isascii() and inicio.isdigit() and len(inicio) <= 18):
        raise ErroDaApi(400, "campo_invalido", "`Upload-Offset` é um inteiro: onde este pedaço começa.")
    pedaco = _corpo(request)
    if len(pedaco) > quadros.PEDACO_MAXIMO_BYTES:
        raise ErroDaApi(413, "corpo_grande", "O pedaço passa de 4 MiB; mande pedaços de 256 KiB.")
    return quadros.receber_pedaco(dispositivo_id, pedido_id, int(inicio), pedaco, agora)


def _conferir_versao(request: Request, *, obrigatoria: bool) -> None:
    versao = request.META.get("HTTP_TUS_RESUMABLE")
    if versao == VERSAO_DO_TUS or (versao is None and not obrigatoria):
        return
    raise ErroDaApi(
        412,
        "versao_do_tus",
        f"Mande Tus-Resumable: {VERSAO_DO_TUS}.",
        cabecalhos={"Tus-Version": VERSAO_DO_TUS},
    )


def _divergencia() -> HttpResponse:
    erro = {
        "detail": "O SHA-256 do quadro não é o informado na captura; nada foi guardado. Envie de novo do começo.",
        "codigo": "hash_divergente",
    }
    return HttpResponse(
        orjson.dumps(erro),
        status=STATUS_DE_DIVERGENCIA,
        content_type="application/json",
        headers={"Upload-Offset": "0"},
    )


def _ler_json(request: Request) -> Any:
    corpo = _corpo(request)
    if len(corpo) > PULSO_MAXIMO_BYTES:
        raise ErroDaApi(413, "corpo_grande", "O corpo passa de 256 KiB.")
    try:
        return ler_json(corpo, com_constantes=True)
    except CorpoRecusado as erro:
        raise ErroDaApi(400, "corpo_ilegivel", "O corpo não é JSON em UTF-8 que se possa ler.") from erro


def _corpo(request: Request) -> bytes:
    try:
        return request.body
    except RequestDataTooBig as erro:
        contar_recusa(413, "corpo_grande", "")
        raise ErroDaApi(413, "corpo_grande", "O corpo passa de 16 MiB; divida o lote ao meio.") from erro


def _http(resposta: Resposta) -> HttpResponse:
    saida = HttpResponse(resposta.corpo, status=resposta.status, content_type="application/json")
    if resposta.espera_s is not None:
        saida["Retry-After"] = str(resposta.espera_s)
    return saida
