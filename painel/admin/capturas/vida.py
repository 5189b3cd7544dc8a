"""A vida de um aparelho: o token que aparece uma vez, desligar, religar, excluir e restaurar.

Cada ato mostra antes o que vai acontecer, pede confirmação, trava o aparelho e deixa trilha.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action

from ingestao.capturas.dispositivos import CARENCIA_DO_TOKEN_ANTERIOR, revogar, trocar_token
from ingestao.models import Dispositivo
from painel.admin.capturas.instalacao import montar_trechos
from painel.admin.inerte import neutralizar
from painel.admin.somente_leitura import Apresentado

AGORA = "agora"  # o valor do botão que troca o token sem carência


class VidaDeDispositivo(ModelAdmin):
    """Os atos. Os botões estão na página, junto do que eles mudam, e não no cabeçalho do tema."""

    actions_detail = ("trocar_o_token", "desligar", "religar", "excluir", "restaurar")

    def has_exclusao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("ingestao.delete_dispositivo")

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """Nenhum no cabeçalho do tema."""
        return []

    def listar_botoes(self, request: HttpRequest, dispositivo: Dispositivo) -> list[tuple[str, str, str]]:
        """Os que o estado e a permissão admitem: (rota, rótulo, classe)."""
        muda, exclui = self.has_change_permission(request, dispositivo), self.has_exclusao_permission(request)
        if dispositivo.deletado:
            return [("restaurar", "Restaurar", "")] if exclui else []
        botoes = []
        if muda and dispositivo.revogado_em is None:
            botoes = [("trocar_o_token", "Trocar o token", ""), ("desligar", "Desligar", "")]
        elif muda:
            botoes = [("religar", "Religar", "lastro-botao-forte")]
        return [*botoes, ("excluir", "Excluir", "")] if exclui else botoes

    @action(description="Trocar o token", url_path="trocar-token", permissions=["change"], icon="key")
    def trocar_o_token(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Com carência de sete dias, ou na hora; o token novo aparece na resposta, uma vez."""
        imediata = request.POST.get("quando") == AGORA
        carencia = timedelta(0) if imediata else CARENCIA_DO_TOKEN_ANTERIOR
        historico = (
            "Trocou o token; o anterior deixou de valer." if imediata else "Trocou o token, com carência."
        )
        return self._com_token(request, object_id, "trocar_token", historico, carencia)

    @action(description="Religar", url_path="religar", permissions=["change"], icon="power")
    def religar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Um aparelho desligado volta com um token novo; o velho não vale mais."""
        return self._com_token(request, object_id, "religar", "Religou, com um token novo.", timedelta(0))

    @action(description="Desligar", url_path="desligar", permissions=["change"], icon="power_off")
    def desligar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        frase = "“{}” desligado: as chamadas dele levam 403 e a fila dele espera."
        return self._confirmar(request, object_id, "desligar", "Desligou.", revogar, self._voltar(frase))

    @action(description="Excluir", url_path="excluir", permissions=["exclusao"], icon="delete")
    def excluir(self, request: HttpRequest, object_id: str) -> HttpResponse:
        frase = "“{}” excluído: o token dele é recusado e a história fica."
        return self._confirmar(request, object_id, "excluir", "Excluiu.", _marcar(True), self._voltar(frase))

    @action(
        description="Restaurar", url_path="restaurar", permissions=["exclusao"], icon="restore_from_trash"
    )
    def restaurar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        frase = "“{}” restaurado, como estava antes de ser excluído."
        return self._confirmar(
            request, object_id, "restaurar", "Restaurou.", _marcar(False), self._voltar(frase)
        )

    def _com_token(
        self, request: HttpRequest, object_id: str, ato: str, historico: str, carencia: timedelta
    ) -> HttpResponse:
        tokens: list[str] = []
        return self._confirmar(
            request,
            object_id,
            ato,
            historico,
            lambda dispositivo: tokens.append(trocar_token(dispositivo, carencia)),
            lambda request, dispositivo: self.mostrar_token(request, dispositivo, tokens[0]),
        )

    def _confirmar(
        self,
        request: HttpRequest,
        object_id: str,
        ato: str,
        historico: str,
        mudar: Callable[[Dispositivo], Any],
        responder: Callable[[HttpRequest, Dispositivo], HttpResponse],
    ) -> HttpResponse:
        """GET mostra o que vai acontecer; POST muda, com o aparelho travado, e responde."""
        dispositivo = cast("Dispositivo | None", self.get_object(request, object_id))
        if dispositivo is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            return TemplateResponse(
                request, f"painel/capturas/vida/{ato}.html", self.contexto(request, dispositivo)
            )
        with transaction.atomic():
            travado = Dispositivo.objects.select_for_update().get(pk=dispositivo.pk)
            if not _cabe(ato, travado):
                messages.warning(request, "Nada mudou: isto não cabe no estado em que o aparelho está agora.")
                return redirect("admin:ingestao_dispositivo_change", travado.pk)
            mudar(travado)
            self.log_change(request, travado, historico)
        return responder(request, travado)

    def _voltar(self, frase: str) -> Callable[[HttpRequest, Dispositivo], HttpResponse]:
        def voltar(request: HttpRequest, dispositivo: Dispositivo) -> HttpResponse:
            messages.success(request, frase.format(neutralizar(dispositivo.nome)))
            return redirect("admin:ingestao_dispositivo_change", dispositivo.pk)

        return voltar

    def contexto(self, request: HttpRequest, dispositivo: Dispositivo) -> dict[str, Any]:
        """O que toda tela do aparelho leva, com o nome dele inerte."""
        nome = neutralizar(dispositivo.nome)
        agora = timezone.now()
        ate = dispositivo.token_anterior_ate
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": Apresentado(dispositivo, nome),
            "nome": nome,
            "title": nome,
            "anterior_ate": ate if ate and ate > agora else None,
        }

    def mostrar_token(self, request: HttpRequest, dispositivo: Dispositivo, token: str) -> HttpResponse:
        """A única página que traz o token; o painel inteiro já responde `no-store`."""
        url = request.build_absolute_uri("/").rstrip("/")
        contexto = self.contexto(request, dispositivo) | {
            "token": token,
            "trechos": montar_trechos(url, token),
        }
        return TemplateResponse(request, "painel/capturas/token.html", contexto)


def _marcar(deletado: bool) -> Callable[[Dispositivo], None]:
    def marcar(dispositivo: Dispositivo) -> None:
        dispositivo.deletado = deletado
        dispositivo.save(update_fields=["deletado"])

    return marcar


def _cabe(ato: str, dispositivo: Dispositivo) -> bool:
    """Se o ato faz sentido agora: de duas abas abertas, a segunda não desfaz a primeira."""
    if dispositivo.deletado or ato == "restaurar":
        return dispositivo.deletado and ato == "restaurar"
    if ato in ("desligar", "trocar_token"):
        return dispositivo.revogado_em is None
    return ato != "religar" or dispositivo.revogado_em is not None
