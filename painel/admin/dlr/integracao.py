"""Integrações: o cadastro, os segredos que só entram, os finais, e a exclusão que guarda a história."""

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from dlr.cofre import gerar_token, resumir_token
from dlr.models import Integracao, RegraDeIntegracao
from painel.admin.dlr import finais
from painel.admin.dlr.contagens import contar_excecoes_abertas, contar_recepcoes_do_dia
from painel.admin.dlr.experimento import experimentar
from painel.admin.dlr.formulario import FormularioDeExperimento, FormularioDeFinais, FormularioDeIntegracao
from painel.admin.ficha import mostrar_quantidade
from painel.admin.ingestao.aplicativo import PorExclusao
from painel.admin.tabela_grande import ListaOrdenada

RESTAURAVEL, EM_USO = {"restaurar"}, {"mudar_os_finais", "trocar_o_token", "excluir"}


class PorExclusaoDeIntegracao(PorExclusao):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("excluidos", "Excluídas"), ("todos", "Todas")]


@admin.register(Integracao)
class IntegracaoAdmin(ModelAdmin):
    form = FormularioDeIntegracao
    change_form_template = "painel/dlr/integracao.html"
    change_list_template = "painel/lista.html"
    list_display = ("slug_e_situacao", "de_que_formato", "opcoes", "recepcoes_do_dia", "excecoes_abertas")
    list_filter = (PorExclusaoDeIntegracao,)
    search_fields = ("slug",)
    search_help_text = "Slug ou nome"
    ordering = ("slug",)
    sortable_by = ()
    show_full_result_count = False
    list_max_show_all = 0
    actions_detail = ("experimentar", "mudar_os_finais", "trocar_o_token", "excluir", "restaurar")
    warn_unsaved_form = True
    compressed_fields = True

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: recepções e mensagens apontam para ela. Excluir é `deletado`, que a tira de uso."""
        return False

    def has_exclusao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("dlr.delete_integracao")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListaOrdenada]:
        return ListaOrdenada

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota nas linhas da página as contagens com teto: duas consultas, qualquer que seja a página."""
        lista = super().get_changelist_instance(request)
        recepcoes = contar_recepcoes_do_dia([i.pk for i in lista.result_list], timezone.now())
        abertas, ha_mais = contar_excecoes_abertas()
        for integracao in lista.result_list:
            quantas = abertas.get(integracao.pk, 0)
            integracao.recepcoes_contadas = recepcoes.get(integracao.pk, "0")
            integracao.abertas_contadas = (quantas, mostrar_quantidade(quantas) + "+" * ha_mais)
        return lista

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        return queryset.filter(Q(slug__icontains=termo) | Q(nome__icontains=termo)), False

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        so_leitura = obj is not None and not self.has_change_permission(request, obj)
        segredos: tuple[Any, ...] = (("segredo", "senha"),)
        if obj is not None:
            segredos = (*segredos, ("apagar_segredo", "apagar_senha"))
        prova = ("usuario", *(() if so_leitura else segredos), "redes")
        return (
            (None, {"fields": ("slug", "nome", "formato", "fuso")}),
            ("O que o id pode igualar", {"fields": ("id_base", "id_zeros", "id_caixa")}),
            ("Prazos", {"fields": ("janela_espera_s", "recibo_do_aparelho", "prazo_final_s")}),
            ("Quem prova que é a transportadora", {"fields": prova}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """O slug está no endereço que a transportadora chama: não muda depois de criado."""
        return ("slug",) if obj is not None else ()

    @display(description="integração")
    def slug_e_situacao(self, integracao: Integracao) -> SafeString | str:
        if not integracao.deletado:
            return integracao.slug
        return format_html('{} <span class="lastro-selo lastro-selo-danger">excluída</span>', integracao.slug)

    @display(description="formato")
    def de_que_formato(self, integracao: Integracao) -> str:
        return integracao.get_formato_display()

    @display(description="opções ligadas")
    def opcoes(self, integracao: Integracao) -> str | None:
        return ", ".join(listar_opcoes(integracao)) or None

    @display(description="recepções em 24 h")
    def recepcoes_do_dia(self, integracao: Integracao) -> str:
        return integracao.recepcoes_contadas  # type: ignore[attr-defined]

    @display(description="exceções abertas", label={True: "danger", False: ""})
    def excecoes_abertas(self, integracao: Integracao) -> tuple[bool, str]:
        quantas, texto = integracao.abertas_contadas  # type: ignore[attr-defined]
        return quantas > 0, texto

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """Só as ações que o estado da integração admite."""
        acoes = super().get_actions_detail(request, object_id)
        deletado = Integracao.objects.filter(pk=object_id, deletado=True).exists()
        fora = EM_USO if deletado else RESTAURAVEL
        return [acao for acao in acoes if not acao.action_name.endswith(tuple(fora))]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.reprojetar)
        return [
            path("<path:object_id>/reprojecao/", view, name="dlr_integracao_reprojecao"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context["subtitle"] = None
        if obj is not None:
            context |= {
                "endereco": request.build_absolute_uri(f"/dlr/callback/{obj.slug}/"),
                "finais": finais.finais_em_vigor(obj),
                "versoes": finais.listar_versoes(obj),
                "pode_reprojetar": pode_reprojetar(request) and not obj.deletado,
            }
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def save_model(self, request: HttpRequest, obj: Integracao, form: forms.ModelForm, change: bool) -> None:
        """Grava só o que o formulário mudou; ao criar, gera o token e a primeira versão das regras."""
        colunas = cast("FormularioDeIntegracao", form).colunas_dos_segredos()
        for coluna, cifrado in colunas.items():
            setattr(obj, coluna, cifrado)
        if change:
            proprios = {campo.name for campo in obj._meta.fields}
            obj.save(update_fields=[*(n for n in form.changed_data if n in proprios), *colunas])
            return
        request.token_novo = gerar_token()  # type: ignore[attr-defined]
        obj.token_resumo = resumir_token(request.token_novo)  # type: ignore[attr-defined]
        obj.save()
        RegraDeIntegracao.objects.create(
            integracao=obj,
            versao=1,
            finais=sorted(obj.formato_lido.finais),
            autor=cast("User", request.user),
            motivo="padrão do formato",
        )

    def response_add(
        self, request: HttpRequest, obj: Integracao, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Mostra o token, que não fica guardado em lugar nenhum."""
        return self.mostrar_token(request, obj, request.token_novo)  # type: ignore[attr-defined]

    def mostrar_token(self, request: HttpRequest, integracao: Integracao, token: str) -> HttpResponse:
        """A única página que traz o token; o painel inteiro já responde `no-store`."""
        contexto = self._contexto(request, integracao) | {
            "token": token,
            "url": request.build_absolute_uri(f"/dlr/callback/{integracao.slug}/{token}"),
        }
        return TemplateResponse(request, "painel/dlr/token.html", contexto)

    def _contexto(self, request: HttpRequest, integracao: Integracao) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": integracao,
            "title": integracao.slug,
        }

    def _buscar(self, request: HttpRequest, object_id: str) -> Integracao | None:
        return cast("Integracao | None", self.get_object(request, object_id))

    @action(
        description="Experimentar um payload", url_path="experimentar", permissions=["view"], icon="science"
    )
    def experimentar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Lê uma chamada colada e mostra o que ela viraria. Nada é gravado."""
        integracao = self._buscar(request, object_id)
        if integracao is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        formulario = FormularioDeExperimento(request.POST or None)
        itens = None
        if request.method == "POST" and formulario.is_valid():
            itens = experimentar(integracao, agora=timezone.now(), **formulario.cleaned_data)
        contexto = self._contexto(request, integracao) | {"formulario": formulario, "itens": itens}
        return TemplateResponse(request, "painel/dlr/experimento.html", contexto)

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

    @action(description="Trocar o token", url_path="trocar-token", permissions=["change"], icon="key")
    def trocar_o_token(self, request: HttpRequest, object_id: str) -> HttpResponse:
        token = gerar_token()

        def trocar(integracao: Integracao) -> None:
            integracao.token_resumo = resumir_token(token)
            integracao.save(update_fields=["token_resumo"])

        return self.confirmar(
            request,
            object_id,
            "painel/dlr/confirmar_token.html",
            "Trocou o token.",
            trocar,
            lambda integracao: self.mostrar_token(request, integracao, token),
        )

    @action(
        description="Excluir",
        url_path="excluir",
        permissions=["exclusao"],
        icon="delete",
        variant=ActionVariant.DANGER,
    )
    def excluir(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._marcar(request, object_id, True, "painel/dlr/confirmar_exclusao.html", "Excluiu.")

    @action(
        description="Restaurar", url_path="restaurar", permissions=["exclusao"], icon="restore_from_trash"
    )
    def restaurar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._marcar(request, object_id, False, "painel/dlr/confirmar_restauracao.html", "Restaurou.")

    def _marcar(
        self, request: HttpRequest, object_id: str, deletado: bool, template: str, historico: str
    ) -> HttpResponse:
        def marcar(integracao: Integracao) -> None:
            integracao.deletado = deletado
            integracao.save(update_fields=["deletado"])

        def dizer(integracao: Integracao) -> HttpResponse:
            feito = (
                "excluída: os callbacks dela são recusados em segundos e a história fica"
                if deletado
                else "restaurada: os callbacks dela voltam a entrar em segundos"
            )
            messages.success(request, f"“{integracao.slug}” {feito}.")
            return redirect("admin:dlr_integracao_change", integracao.pk)

        return self.confirmar(request, object_id, template, historico, marcar, dizer)

    def confirmar(
        self,
        request: HttpRequest,
        object_id: str,
        template: str,
        historico: str,
        mudar: Callable[[Integracao], None],
        responder: Callable[[Integracao], HttpResponse],
    ) -> HttpResponse:
        """GET mostra o que vai acontecer; POST muda, com a integração travada, e responde."""
        integracao = self._buscar(request, object_id)
        if integracao is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if request.method != "POST":
            return TemplateResponse(request, template, self._contexto(request, integracao))
        with transaction.atomic():
            travada = Integracao.objects.select_for_update().get(pk=integracao.pk)
            mudar(travada)
            self.log_change(request, travada, historico)
        return responder(travada)


def pode_reprojetar(request: HttpRequest) -> bool:
    """Recalcular os estados é da operação, que não muda o cadastro da integração."""
    return request.user.has_perm("dlr.change_projecao")


def listar_opcoes(integracao: Integracao) -> list[str]:
    """O que difere do padrão, como se liga em `--opcao`; dos segredos, só que existem."""
    ligadas = [
        ("id_base=hex_decimal", integracao.id_base != "exata"),
        ("id_zeros=ignorar", integracao.id_zeros != "exatos"),
        ("id_caixa=ignorar", integracao.id_caixa != "exata"),
        (f"fuso={integracao.fuso}", integracao.fuso != "UTC"),
        ("sem recibo do aparelho", not integracao.recibo_do_aparelho),
        ("assinatura", bool(integracao.segredo_cifrado)),
        ("Basic", bool(integracao.senha_cifrada)),
        ("redes", bool(integracao.redes)),
    ]
    return [nome for nome, ligada in ligadas if ligada]
