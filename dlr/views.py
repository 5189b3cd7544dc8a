"""As rotas dos recibos: conferir, gravar, acordar, responder."""

import csv
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import orjson
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from config.chegada import Pedido
from config.erros import ErroDaApi
from config.rotas import RotaDeMaquina, chegada_do_django
from dlr import atendimento, consultas, esquema, porta
from dlr.autenticacao import buscar_por_bearer
from dlr.models import Integracao, Mensagem
from dlr.registro import MENSAGENS_POR_CHAMADA, RegistroInvalido, gravar_verificacao, registrar

PERIODO_MAXIMO = timedelta(days=92)


@extend_schema_view(
    get=extend_schema(operation_id="callback_por_get"), post=extend_schema(operation_id="callback_por_post")
)
class CallbackView(RotaDeMaquina):
    """`/dlr/callback/<slug>[/<token>]`: a chamada da transportadora."""

    @extend_schema(**esquema.CALLBACK)
    def get(self, request: Request, slug: str, token: str | None = None) -> HttpResponse:
        """Formatos que chamam por GET."""
        return self._receber(request, slug, token)

    @extend_schema(**esquema.CALLBACK)
    def post(self, request: Request, slug: str, token: str | None = None) -> HttpResponse:
        """Autêntica, é gravada e confirmada, mesmo ilegível: um recibo que não se lê é evidência."""
        return self._receber(request, slug, token)

    def http_method_not_allowed(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Um método que nenhum formato usa: recusado e contado."""
        atendimento.contar_recusa(405, "metodo_nao_permitido", "")
        return super().http_method_not_allowed(request, *args, **kwargs)

    def _receber(self, request: Request, slug: str, token: str | None) -> HttpResponse:
        chegada = chegada_do_django(request._request, slug=slug, token=token)
        try:
            (resposta,) = atendimento.atender([Pedido(chegada)])
        finally:
            # Um 5xx é registrado pelo Django com o caminho, e nele vai o token.
            request._request.path = porta.mascarar(request._request.path, token)
        saida = HttpResponse(resposta.corpo, status=resposta.status, content_type=resposta.tipo)
        if resposta.espera_s is not None:
            saida["Retry-After"] = str(resposta.espera_s)
        return saida


@extend_schema_view(
    get=extend_schema(operation_id="callback_com_token_por_get"),
    post=extend_schema(operation_id="callback_com_token_por_post"),
)
class CallbackComTokenView(CallbackView):
    """O mesmo callback, com o token no caminho."""


class _DaIntegracao(RotaDeMaquina):
    """As rotas de quem envia: `Authorization: Bearer <token da integração>`."""

    def integracao(self, request: Request) -> Integracao:
        """A integração do token. Levanta 401."""
        integracao = buscar_por_bearer(request.headers.get("Authorization", ""))
        if integracao is None:
            atendimento.contar_recusa(401, "token_invalido", "")
            raise ErroDaApi(401, "token_invalido", "Mande Authorization: Bearer com o token da integração.")
        return integracao

    def ler_json(self, request: Request) -> Any:
        """O corpo em JSON. Levanta 400."""
        try:
            return orjson.loads(request.body)
        except RequestDataTooBig as erro:
            raise ErroDaApi(413, "corpo_grande", "O corpo é grande demais; divida a chamada.") from erro
        except orjson.JSONDecodeError as erro:
            raise ErroDaApi(400, "json_invalido", "O corpo não é JSON em UTF-8 que se possa ler.") from erro


class MensagensView(_DaIntegracao):
    """`POST /dlr/mensagens`: registra o que foi enviado."""

    @extend_schema(**esquema.REGISTRO)
    def post(self, request: Request) -> HttpResponse:
        """Repetível pelo `id_interno`; o id externo pode vir depois, na mesma chamada repetida."""
        integracao = self.integracao(request)
        corpo = self.ler_json(request)
        crus = corpo.get("mensagens") if isinstance(corpo, dict) and "mensagens" in corpo else corpo
        if isinstance(crus, dict):
            crus = [crus]
        if not isinstance(crus, list):
            raise ErroDaApi(400, "mensagens_ausentes", "Mande uma mensagem, uma lista ou {mensagens: […]}.")
        if len(crus) > MENSAGENS_POR_CHAMADA:
            raise ErroDaApi(413, "mensagens_demais", f"Até {MENSAGENS_POR_CHAMADA} mensagens por chamada.")
        registradas = registrar(integracao, crus, timezone.now())
        return _json({"resultados": [_enxugar(r) for r in registradas]})


class MensagemView(_DaIntegracao):
    """`GET /dlr/mensagens/<id>`: a mensagem explicada."""

    @extend_schema(**esquema.MENSAGEM)
    def get(self, request: Request, id_da_mensagem: int) -> HttpResponse:
        """Aceitação, estado do DLR e verificação independente, separados; e a história inteira."""
        mensagem = consultas.buscar_mensagem(self.integracao(request).pk, id_da_mensagem)
        if mensagem is None:
            raise _mensagem_inexistente()
        return _json(mensagem)


class VerificacoesView(_DaIntegracao):
    """`POST /dlr/mensagens/<id>/verificacoes`: uma prova feita fora do DLR."""

    @extend_schema(**esquema.VERIFICACAO)
    def post(self, request: Request, id_da_mensagem: int) -> HttpResponse:
        """Nunca muda o estado do DLR. A mesma verificação duas vezes é uma."""
        integracao = self.integracao(request)
        if not Mensagem.objects.filter(pk=id_da_mensagem, integracao=integracao).exists():
            raise _mensagem_inexistente()
        try:
            verificacao = gravar_verificacao(self.ler_json(request), id_da_mensagem)
        except RegistroInvalido as erro:
            raise ErroDaApi(400, erro.codigo, erro.detalhe) from erro
        return _json({"id": verificacao.pk}, status=201)


class RelatorioView(_DaIntegracao):
    """`GET /dlr/relatorio?de&ate`: aceitação, estado e verificação, em contagens; JSON ou CSV."""

    @extend_schema(**esquema.RELATORIO)
    def get(self, request: Request) -> HttpResponse:
        """Da integração do token; `formato=csv` para planilhas."""
        integracao = self.integracao(request)
        pedida = request.query_params.get("integracao")
        if pedida not in (None, "", integracao.slug):
            raise ErroDaApi(403, "integracao_alheia", "O token só vê a própria integração.")
        de, ate = _periodo(request)
        linhas = list(consultas.relatar(integracao.pk, de, ate))
        if request.query_params.get("formato") == "csv":
            return _csv(linhas)
        return _json(
            {"linhas": [dict(zip(consultas.COLUNAS_DO_RELATORIO, linha, strict=True)) for linha in linhas]}
        )


def _periodo(request: Request) -> tuple[datetime, datetime]:
    """De e até, ISO 8601; sem fuso, o do servidor; sem nada, os últimos sete dias."""
    agora = timezone.now()
    try:
        de = _instante(request.query_params.get("de")) or agora - timedelta(days=7)
        ate = _fim(request.query_params.get("ate")) or agora
        longo = ate - de > PERIODO_MAXIMO
    except (ValueError, OverflowError) as erro:
        raise ErroDaApi(400, "periodo_invalido", "`de` e `ate` são datas ISO 8601.") from erro
    if de > ate or longo:
        raise ErroDaApi(
            400, "periodo_invalido", f"`de` vem antes de `ate`, e até {PERIODO_MAXIMO.days} dias."
        )
    return de, ate


def _fim(texto: str | None) -> datetime | None:
    """Como `_instante`; uma data sem hora vale até o fim do dia, como quem pede um dia espera."""
    instante = _instante(texto)
    so_data = instante is not None and len(texto or "") == len("AAAA-MM-DD")
    return instante + timedelta(days=1) if instante is not None and so_data else instante


def _instante(texto: str | None) -> datetime | None:
    if not texto:
        return None
    lido = datetime.fromisoformat(texto)
    return (lido if lido.tzinfo else timezone.make_aware(lido)).astimezone(UTC)


def _csv(linhas: list[tuple[Any, ...]]) -> HttpResponse:
    saida = StringIO()
    escritor = csv.writer(saida)
    escritor.writerow(consultas.COLUNAS_DO_RELATORIO)
    escritor.writerows([consultas.neutralizar(celula) for celula in linha] for linha in linhas)
    return HttpResponse(
        saida.getvalue(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="relatorio-dlr.csv"'},
    )


def _enxugar(registrada: Any) -> dict[str, Any]:
    return {
        campo: getattr(registrada, campo)
        for campo in registrada.__slots__
        if getattr(registrada, campo) is not None
    }


def _mensagem_inexistente() -> ErroDaApi:
    return ErroDaApi(404, "mensagem_inexistente", "Esta mensagem não existe nesta integração.")


def _json(corpo: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(corpo, default=str), status=status, content_type="application/json")
