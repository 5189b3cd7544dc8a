"""Como um erro vira resposta: `{"detail": "<o que fazer>", "codigo": "<estável>"}`, nunca uma página."""

import logging
from collections.abc import Mapping

from django.http import HttpRequest, JsonResponse
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler

from config.banco.falhas import e_do_banco

registro = logging.getLogger("lastro.erros")

ESPERA_SEM_BANCO_S = 5
CODIGOS_DO_DRF = {
    "method_not_allowed": "metodo_nao_permitido",
    "not_authenticated": "nao_autenticado",
    "authentication_failed": "nao_autenticado",
    "permission_denied": "proibido",
    "not_found": "nao_encontrado",
    "parse_error": "corpo_invalido",
    "invalid": "campo_invalido",
    "unsupported_media_type": "tipo_de_conteudo_desconhecido",
    "throttled": "muitas_requisicoes",
}


class ErroDaApi(APIException):
    """Um erro com código estável para máquinas e uma frase para pessoas.

    `espera_s`, quando há, vira `Retry-After` em segundos inteiros; `cabecalhos` vão como estão.
    """

    def __init__(
        self,
        status: int,
        codigo: str,
        detalhe: str,
        *,
        espera_s: int | None = None,
        cabecalhos: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail=detalhe, code=codigo)
        self.status_code = status
        self.codigo = codigo
        self.espera_s = espera_s
        self.cabecalhos = cabecalhos or {}


def tratar_erro(erro: Exception, contexto: dict) -> Response | None:
    """Tratador do DRF. O banco fora do ar é 503 com `Retry-After`; o resto mantém o seu status."""
    if e_do_banco(erro):
        # Sem o traço: com o banco fora, ele se repetiria a cada requisição até encher o disco.
        registro.error("banco indisponivel", extra={"erro": str(erro).partition("\n")[0]})
        erro = sem_armazenamento()
    resposta = exception_handler(erro, contexto)
    if resposta is None or not isinstance(erro, APIException):
        return resposta
    codigo = getattr(erro, "codigo", None) or CODIGOS_DO_DRF.get(erro.default_code, erro.default_code)
    resposta.data = {"detail": str(erro.detail), "codigo": codigo}
    espera_s = getattr(erro, "espera_s", None)
    if espera_s is not None:
        resposta["Retry-After"] = str(espera_s)
    for nome, valor in getattr(erro, "cabecalhos", {}).items():
        resposta[nome] = valor
    return resposta


def sem_armazenamento() -> ErroDaApi:
    """503: não há onde gravar, logo nada foi guardado nem contado."""
    return ErroDaApi(
        503,
        "armazenamento_indisponivel",
        "Não foi possível gravar agora e nada foi guardado; reenvie depois do prazo de Retry-After.",
        espera_s=ESPERA_SEM_BANCO_S,
    )


def pagina_nao_encontrada(request: HttpRequest, exception: Exception) -> JsonResponse:
    """404 para qualquer caminho fora das rotas."""
    return _json(404, "rota_inexistente", "Esta rota não existe; veja /api/docs.")


def requisicao_invalida(request: HttpRequest, exception: Exception) -> JsonResponse:
    """400 do próprio Django (hospedeiro não listado, cabeçalho impossível)."""
    return _json(400, "requisicao_invalida", "Requisição inválida: confira o endereço e os cabeçalhos.")


def proibido(request: HttpRequest, exception: Exception) -> JsonResponse:
    """403 do próprio Django."""
    return _json(403, "proibido", "Sua conta não tem permissão para isto.")


def erro_interno(request: HttpRequest) -> JsonResponse:
    """500: um defeito nosso; o registro do servidor tem o traço, a resposta não."""
    return _json(500, "erro_interno", "Erro interno; nada foi confirmado. Reenvie em instantes.")


def _json(status: int, codigo: str, detalhe: str) -> JsonResponse:
    return JsonResponse({"detail": detalhe, "codigo": codigo}, status=status)
