"""Integrações: a lista, o cadastro com os segredos que só entram, e o experimento."""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display

from dlr.cofre import gerar_token, resumir_token
from dlr.models import Integracao, RegraDeIntegracao
from painel.admin.dlr import finais
from painel.admin.dlr.contagens import contar_excecoes_abertas, contar_recepcoes_do_dia
from painel.admin.dlr.experimento import experimentar
from painel.admin.dlr.formulario import FormularioDeExperimento, FormularioDeIntegracao
from painel.admin.dlr.regras import RegrasDeIntegracao, pode_reprojetar
from painel.admin.dlr.vida import VidaDeIntegracao
from painel.admin.ficha import mostrar_quantidade
from painel.admin.ingestao.aplicativo import PorExclusao
from painel.admin.tabela_grande import ListaOrdenada

# As outras ações têm o botão no cartão do que elas mudam: todas juntas não cabem no cabeçalho.
NO_CABECALHO = {True: "restaurar", False: "excluir"}


class PorExclusaoDeIntegracao(PorExclusao):
    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("excluidos", "Excluídas"), ("todos", "Todas")]


@admin.register(Integracao)
class IntegracaoAdmin(VidaDeIntegracao, RegrasDeIntegracao):
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

    @display(description="Integração")
    def slug_e_situacao(self, integracao: Integracao) -> SafeString | str:
        if not integracao.deletado:
            return integracao.slug
        return format_html('{} <span class="lastro-selo lastro-selo-danger">excluída</span>', integracao.slug)

    @display(description="Formato")
    def de_que_formato(self, integracao: Integracao) -> str:
        return integracao.get_formato_display()

    @display(description="Opções ligadas")
    def opcoes(self, integracao: Integracao) -> str | None:
        return ", ".join(listar_opcoes(integracao)) or None

    @display(description="Recepções em 24 h")
    def recepcoes_do_dia(self, integracao: Integracao) -> str:
        return integracao.recepcoes_contadas  # type: ignore[attr-defined]

    @display(description="Exceções abertas", label={True: "danger", False: ""})
    def excecoes_abertas(self, integracao: Integracao) -> tuple[bool, str]:
        quantas, texto = integracao.abertas_contadas  # type: ignore[attr-defined]
        return quantas > 0, texto

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """No cabeçalho, só a que o estado da integração admite."""
        acoes = super().get_actions_detail(request, object_id)
        integracao = self.get_object(request, object_id)  # None também para uma chave que nem número é
        deletada = integracao is not None and integracao.deletado
        return [acao for acao in acoes if acao.action_name.endswith(NO_CABECALHO[deletada])]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        context["subtitle"] = None
        if obj is not None:
            context |= {
                "endereco": request.build_absolute_uri(f"/dlr/callback/{obj.slug}/"),
                "finais": finais.finais_em_vigor(obj),
                "versoes": finais.listar_versoes(obj),
                "pode_mudar": self.has_change_permission(request, obj) and not obj.deletado,
                "pode_reprojetar": pode_reprojetar(request) and not obj.deletado,
                "experimento": FormularioDeExperimento(),
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
