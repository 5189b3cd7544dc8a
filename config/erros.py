"""Como um erro vira resposta: `{"detail": "<o que fazer>", "codigo": "<estável>"}`.

Só o painel, aberto num navegador, responde com uma página.
"""

import logging
from collections.abc import Mapping

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from rest_framework.exceptions import APIException, NotFound
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
    "not_acceptable": "formato_nao_oferecido",
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
    if isinstance(erro, Http404):
        erro = NotFound()
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


def pagina_nao_encontrada(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: JSON para programas; no painel, uma página."""
    if _e_tela(request):
        detalhe = "O endereço mudou, o registro já passou da retenção, ou nunca existiu."
        return _pagina(request, 404, "Não há nada aqui", detalhe)
    return _json(404, "rota_inexistente", "Esta rota não existe; veja /api/docs.")


def requisicao_invalida(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400 do próprio Django (hospedeiro não listado, cabeçalho impossível, filtro escrito no endereço)."""
    if _e_tela(request):
        return _pagina(request, 400, "O painel não entendeu o pedido", "Volte e use os filtros da tela.")
    return _json(400, "requisicao_invalida", "Requisição inválida: confira o endereço e os cabeçalhos.")


def proibido(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403 do próprio Django."""
    if _e_tela(request):
        detalhe = "O seu papel não inclui isto. Se precisa, peça à Administração."
        return _pagina(request, 403, "Fora do seu papel", detalhe)
    return _json(403, "proibido", "Sua conta não tem permissão para isto.")


def formulario_vencido(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403 do CSRF: o formulário é velho, ou veio de outro site."""
    registro.warning("formulario recusado", extra={"motivo": reason})
    if _e_tela(request):
        detalhe = "Ele ficou aberto tempo demais, ou veio de outro lugar. Volte, recarregue e envie de novo."
        return _pagina(request, 403, "O formulário venceu", detalhe)
    return _json(403, "formulario_vencido", "Recarregue a página e envie de novo.")


def erro_interno(request: HttpRequest) -> HttpResponse:
    """500: um defeito nosso; o registro do servidor tem o traço, a resposta não.

    Sem página: o que falhou pode ser o que a página usaria.
    """
    return _json(500, "erro_interno", "Erro interno; nada foi confirmado. Reenvie em instantes.")


def _e_tela(request: HttpRequest) -> bool:
    """Diz se quem pede é um navegador no painel, com a sessão já lida (um 400 pode vir antes dela)."""
    no_painel = request.path_info.startswith("/admin") and hasattr(request, "user")
    return no_painel and "text/html" in request.headers.get("Accept", "")


def _pagina(request: HttpRequest, status: int, titulo: str, detalhe: str) -> HttpResponse:
    contexto = {**admin.site.each_context(request), "title": titulo, "detalhe": detalhe, "status": status}
    de_dentro = admin.site.has_permission(request)
    contexto["moldura"] = "admin/base_site.html" if de_dentro else "unfold/layouts/unauthenticated.html"
    return render(request, "painel/recado.html", contexto, status=status)


def _json(status: int, codigo: str, detalhe: str) -> JsonResponse:
    return JsonResponse({"detail": detalhe, "codigo": codigo}, status=status)
