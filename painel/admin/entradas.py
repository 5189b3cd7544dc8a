"""Quem entrou no painel, e quem está travado por errar a senha."""

from typing import Any, cast

from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from painel.acesso.tranca import esta_trancada
from painel.admin.ficha import VAZIO, mostrar_instante
from painel.admin.texto_alheio import resumir
from painel.admin.trilha import SemPagina

TRAVADO, CONTANDO, VENCIDO = "travado", "contando", "vencido"
CORES = {TRAVADO: "danger", CONTANDO: "warning", VENCIDO: ""}


@admin.register(AccessAttempt)
class LoginTravadoAdmin(SemPagina):
    """As contas de senhas erradas. Não guardam a senha; somem sozinhas depois do prazo."""

    list_display = ("conta", "endereco", "situacao", "erros", "ultimo", "livre_em")
    ordering = ("-attempt_time", "-id")
    actions = ("destravar",)

    def has_destravar_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("axes.delete_accessattempt")

    @display(description="Usuário tentado")
    def conta(self, tentativa: AccessAttempt) -> SafeString | str:
        return resumir(tentativa.username, 60) or VAZIO

    @display(description="Endereço")
    def endereco(self, tentativa: AccessAttempt) -> str:
        return tentativa.ip_address or "desconhecido"

    @display(description="Situação", label=CORES)
    def situacao(self, tentativa: AccessAttempt) -> str:
        if tentativa.attempt_time + settings.AXES_COOLOFF_TIME <= timezone.now():
            return VENCIDO
        return TRAVADO if esta_trancada(tentativa, timezone.now()) else CONTANDO

    @display(description="Erros")
    def erros(self, tentativa: AccessAttempt) -> str:
        return f"{tentativa.failures_since_start} de {settings.AXES_FAILURE_LIMIT}"

    @display(description="Último erro")
    def ultimo(self, tentativa: AccessAttempt) -> SafeString | str:
        return mostrar_instante(tentativa.attempt_time)

    @display(description="Zera em")
    def livre_em(self, tentativa: AccessAttempt) -> SafeString | str:
        return mostrar_instante(tentativa.attempt_time + settings.AXES_COOLOFF_TIME)

    @action(description="Destravar os selecionados", permissions=["destravar"])
    def destravar(self, request: HttpRequest, queryset: QuerySet) -> None:
        """Esquece os erros escolhidos e diz quantas contas ficaram livres."""
        with transaction.atomic():
            tentativas = list(queryset.select_for_update().order_by("pk"))
            LogEntry.objects.log_actions(
                cast("User", request.user).pk, tentativas, DELETION, "Destravou o login."
            )
            AccessAttempt.objects.filter(pk__in=[tentativa.pk for tentativa in tentativas]).delete()
        quantos = "1 login destravado" if len(tentativas) == 1 else f"{len(tentativas)} logins destravados"
        messages.success(request, f"{quantos}: pode tentar de novo agora.")


@admin.register(AccessLog)
class EntradaAdmin(SemPagina):
    list_display = ("entrou", "quem", "de_onde", "navegador", "saiu")

    @display(description="Entrou em")
    def entrou(self, entrada: AccessLog) -> SafeString | str:
        return mostrar_instante(entrada.attempt_time)

    @display(description="Quem")
    def quem(self, entrada: AccessLog) -> SafeString | None:
        return resumir(entrada.username, 60)

    @display(description="Endereço")
    def de_onde(self, entrada: AccessLog) -> str:
        return entrada.ip_address or "desconhecido"

    @display(description="Navegador")
    def navegador(self, entrada: AccessLog) -> SafeString | None:
        return resumir(entrada.user_agent, 60)

    @display(description="Saiu em")
    def saiu(self, entrada: AccessLog) -> SafeString | str:
        return mostrar_instante(entrada.logout_time)
