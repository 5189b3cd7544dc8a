"""A tranca do login: poucas tentativas por pessoa e endereço; muitas, mas não infinitas, por endereço e por pessoa.

Quem existe e quem não existe recebem a mesma resposta. Acertar a senha zera só a conta da pessoa naquele
endereço: se zerasse a do endereço, quem tem uma conta a usaria para adivinhar, sem fim, a senha das outras.

A conta da pessoa, somada de todos os endereços, é contra quem adivinha de muitos. Para não virar um jeito de deixar
alguém de fora, ela não vale no endereço de onde a pessoa já entrou alguma vez.
"""

import math
from datetime import datetime
from ipaddress import ip_address
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import Max, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

USUARIO_CARACTERES = 150  # o maior nome que uma conta pode ter
FOLGA_DO_ENDERECO = 10  # um escritório inteiro sai por um endereço só
FOLGA_DA_PESSOA = (
    20  # cem erros por quarto de hora, venham de quantos endereços vierem (NIST SP 800-63B, 5.2.2)
)


class Tentativas(AxesDatabaseHandler):
    """As contas do django-axes no PostgreSQL, com folga para o endereço."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """O maior: os erros da pessoa no endereço, ou os do endereço ou os da pessoa em toda parte, sobre a folga."""
        return max(_somar(erros) // folga for erros, folga in self._contas(request, credentials))

    def reset_user_attempts(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Ao entrar, esquece os erros da pessoa neste endereço; devolve quantas linhas."""
        da_pessoa, _ = self.filter_user_attempts(request, credentials)
        quantas, _ = da_pessoa.delete()
        return quantas

    def livre_em(self, request: HttpRequest, credentials: dict[str, Any] | None) -> datetime:
        """Quando a tranca se abre sozinha: o prazo conta do último erro que valeu."""
        cheias = [
            tentativas
            for tentativas, folga in self._contas(request, credentials)
            if _somar(tentativas) >= settings.AXES_FAILURE_LIMIT * folga
        ]
        ultimas = [tentativas.aggregate(em=Max("attempt_time"))["em"] for tentativas in cheias]
        return max(ultimas, default=timezone.now()) + settings.AXES_COOLOFF_TIME

    def _contas(
        self, request: HttpRequest, credentials: dict[str, Any] | None
    ) -> list[tuple[QuerySet[AccessAttempt], int]]:
        """Cada conta de erros que corre, com a folga dela."""
        da_pessoa, do_endereco = self.get_user_attempts(request, credentials)
        em_toda_parte = AccessAttempt.objects.filter(
            username=ler_usuario(request, credentials),
            attempt_time__gte=timezone.now() - settings.AXES_COOLOFF_TIME,
        )
        if _e_de_casa(request, credentials):
            em_toda_parte = em_toda_parte.none()
        return [(da_pessoa, 1), (do_endereco, FOLGA_DO_ENDERECO), (em_toda_parte, FOLGA_DA_PESSOA)]


def esta_trancada(tentativa: AccessAttempt, agora: datetime) -> bool:
    """Diz se, só por esta linha, a pessoa está trancada neste endereço."""
    corre = tentativa.attempt_time + settings.AXES_COOLOFF_TIME > agora
    return bool(corre and tentativa.failures_since_start >= settings.AXES_FAILURE_LIMIT)


def ler_endereco(request: HttpRequest) -> str | None:
    """O endereço de quem tenta entrar; atrás de um proxy, o que ele acrescentou (o último da lista)."""
    if settings.ATRAS_DE_PROXY and (lista := request.META.get("HTTP_X_FORWARDED_FOR", "")):
        return _so_endereco(lista.rpartition(",")[2])
    return _so_endereco(request.META.get("REMOTE_ADDR", ""))


def ler_usuario(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """O nome tentado, na medida da tabela: um nome de 5.000 caracteres é um erro de login, não um 500."""
    nome = (credentials or {}).get("username") or request.POST.get("username", "")
    return str(nome).replace("\0", "\ufffd")[:USUARIO_CARACTERES]


def responder(request: HttpRequest, _resposta: Any, credentials: dict[str, Any] | None) -> HttpResponse:
    """429 com o prazo, em português; não diz se a pessoa existe nem se a senha estava certa."""
    livre_em = Tentativas().livre_em(request, credentials)
    espera_s = max(1, math.ceil((livre_em - timezone.now()).total_seconds()))
    contexto = {**_contexto_do_site(request), "minutos": math.ceil(espera_s / 60), "livre_em": livre_em}
    resposta = render(request, "painel/acesso/trancado.html", contexto, status=429)
    resposta["Retry-After"] = str(espera_s)
    return resposta


def _e_de_casa(request: HttpRequest, credentials: dict[str, Any] | None) -> bool:
    """Diz se a pessoa já entrou deste endereço."""
    nome, endereco = ler_usuario(request, credentials), ler_endereco(request)
    return endereco is not None and AccessLog.objects.filter(username=nome, ip_address=endereco).exists()


def _contexto_do_site(request: HttpRequest) -> dict[str, Any]:
    from django.contrib import admin  # o axes importa este módulo antes de o site existir

    return {**admin.site.each_context(request), "title": "Muitas tentativas"}


def _somar(tentativas: QuerySet[AccessAttempt]) -> int:
    return tentativas.aggregate(total=Sum("failures_since_start"))["total"] or 0


def _so_endereco(texto: str) -> str | None:
    """Só um IP entra na tabela: um cabeçalho forjado com outra coisa vale como nenhum."""
    limpo = texto.strip().strip("[]")
    try:
        return str(ip_address(limpo))
    except ValueError:
        return None
