"""Mudar os finais de uma integração e reprojetar o que já chegou, com prévia."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.decorators import action

from painel.admin.dlr import finais
from painel.admin.dlr.formulario import FormularioDeFinais
from painel.admin.dlr.vida import PaginasDeIntegracao
from painel.admin.ficha import mostrar_quantidade


class RegrasDeIntegracao(PaginasDeIntegracao):
    """As páginas das regras: o formulário dos finais e a prévia do que elas mudam."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.reprojetar)
        return [
            path("<path:object_id>/reprojecao/", view, name="dlr_integracao_reprojecao"),
            *super().get_urls(),
        ]

    @action(description="Mudar os finais", url_path="mudar-finais", permissions=["change"], icon="flag")
    def mudar_os_finais(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """O formulário grava a versão nova e segue para a prévia do que já chegou."""
        integracao = self._buscar(request, object_id)
        if integracao is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        inicial = {"finais": finais.finais_em_vigor(integracao)}
        formulario = FormularioDeFinais(request.POST or None, initial=inicial)
        if request.method == "POST" and formulario.is_valid():
            try:
                regra = finais.mudar_finais(
                    integracao.pk,
                    formulario.cleaned_data["finais"],
                    autor=cast("User", request.user),
                    motivo=formulario.cleaned_data["motivo"],
                    agora=timezone.now(),
                )
            except finais.NadaMudou as erro:
                formulario.add_error("finais", str(erro))
            else:
                self.log_change(request, integracao, f"Mudou os finais: versão {regra.versao} das regras.")
                messages.success(request, f"Versão {regra.versao} gravada: vale para o que chegar agora.")
                seguinte = "reprojecao" if pode_reprojetar(request) else "change"
                return redirect(f"admin:dlr_integracao_{seguinte}", integracao.pk)
        contexto = self._contexto(request, integracao) | {
            "formulario": formulario,
            "regra": finais.regra_em_vigor(integracao),
        }
        return TemplateResponse(request, "painel/dlr/finais.html", contexto)

    def reprojetar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """GET mostra que mensagens mudam com as regras de hoje; POST aplica e diz quantas mudaram."""
        integracao = self._buscar(request, object_id)
        if integracao is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not pode_reprojetar(request):
            raise PermissionDenied
        grande = finais.grande_demais(integracao)
        if request.method == "POST" and not grande:
            mudaram = finais.aplicar(integracao, timezone.now())
            frase = "1 mensagem mudou" if mudaram == 1 else f"{mostrar_quantidade(mudaram)} mensagens mudaram"
            self.log_change(request, integracao, f"Reprojetou: {frase}.")
            messages.success(request, f"{frase}; como eram ficou guardado.")
            return redirect("admin:dlr_integracao_change", integracao.pk)
        contexto = self._contexto(request, integracao) | {
            "regra": finais.regra_em_vigor(integracao),
            "grande": grande,
            "previa": None if grande else finais.prever(integracao, timezone.now()),
        }
        return TemplateResponse(request, "painel/dlr/reprojecao.html", contexto)


def pode_reprojetar(request: HttpRequest) -> bool:
    """Recalcular os estados é da operação, que não muda o cadastro da integração."""
    return request.user.has_perm("dlr.change_projecao")
