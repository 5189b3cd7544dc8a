"""Aparelhos: a lista com os sinais de defeito, a página com os gráficos, e o cadastro."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.capturas.autenticacao import gerar_token, resumir_token
from ingestao.capturas.consultas import resumir, resumir_por_dispositivo
from ingestao.capturas.medidas import Resumo, truncar_na_hora
from ingestao.models import Captura, CapturaRecusada, Dispositivo, Pedido, RelatoDeDescarte, SituacaoDoPedido
from painel.admin.capturas.filtros import PorContato
from painel.admin.capturas.series import buscar_pontos, escolher_janela, montar_graficos
from painel.admin.capturas.situacao import CORES, Sinal, decidir_situacao, listar_sinais
from painel.admin.capturas.vida import VidaDeDispositivo
from painel.admin.ficha import (
    VAZIO,
    Linha,
    montar_ficha,
    mostrar_espera,
    mostrar_instante,
    mostrar_quantidade,
)
from painel.admin.filtros import ler_uuid
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import ListaOrdenada
from painel.admin.texto_alheio import resumir as resumir_texto
from painel.graficos import mostrar_bytes, mostrar_duracao, mostrar_percentual
from painel.inicio.visao import Visao

JANELA_DOS_SINAIS = timedelta(hours=24)
DO_PULSO = ("ultimo_pulso_em", "versao", "boot_id", "quadros_qtd")


class FormularioDeDispositivo(forms.ModelForm):
    class Meta:
        model = Dispositivo
        fields = ("nome", "silencioso_apos_s")

    def clean_nome(self) -> str:
        """O nome aparece em avisos e listas: sem controles nem direção forçada."""
        nome = self.cleaned_data["nome"].strip()
        if neutralizar(nome) != nome or "\n" in nome:
            raise forms.ValidationError("O nome tem caracteres invisíveis; escreva-o de novo.")
        return nome


@admin.register(Dispositivo)
class DispositivoAdmin(VidaDeDispositivo):
    form = FormularioDeDispositivo
    change_form_template = "painel/capturas/dispositivo.html"
    change_list_template = "painel/lista.html"
    list_display = ("nome_do_aparelho", "situacao", "contato", "na_fila", "latencia", "sinais")
    list_filter = (PorContato,)
    search_fields = ("nome",)
    search_help_text = "Nome, ou o id inteiro"
    ordering = ("nome", "id")
    sortable_by = ()
    list_per_page = 50  # as medidas são somadas só para os aparelhos da página
    show_full_result_count = False
    list_max_show_all = 0
    warn_unsaved_form = True
    fieldsets = ((None, {"fields": ("nome", "silencioso_apos_s")}),)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: as capturas apontam para ele. Excluir é `deletado`, que tira o token de uso."""
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ListaOrdenada]:
        return ListaOrdenada

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota nas linhas as medidas delas: duas consultas, qualquer que seja a página."""
        lista = super().get_changelist_instance(request)
        agora = timezone.now()
        ids = [aparelho.pk for aparelho in lista.result_list]
        do_dia = resumir_por_dispositivo(agora - JANELA_DOS_SINAIS, agora, ids) if ids else {}
        da_hora = resumir_por_dispositivo(comeco_da_hora(agora), agora, ids) if ids else {}
        for aparelho in lista.result_list:
            aparelho.agora = agora
            aparelho.achados = listar_sinais(aparelho, do_dia.get(aparelho.pk))
            aparelho.da_hora = da_hora.get(aparelho.pk)
        return lista

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip().replace("\0", "")
        if not termo:
            return queryset, False
        return queryset.filter(Q(nome__icontains=termo) | Q(pk=ler_uuid(termo))), False

    @display(description="Dispositivo")
    def nome_do_aparelho(self, aparelho: Any) -> SafeString | None:
        return resumir_texto(aparelho.nome, 60)

    @display(description="Situação", label={str(situacao): cor for situacao, cor in CORES.items()})
    def situacao(self, aparelho: Any) -> str:
        return str(decidir_situacao(aparelho, aparelho.agora))

    @display(description="Último contato")
    def contato(self, aparelho: Any) -> SafeString | str:
        em = aparelho.ultimo_contato_em
        return (
            format_html('<span title="{}">há {}</span>', em, mostrar_espera(em, aparelho.agora))
            if em
            else VAZIO
        )

    @display(description="Fila")
    def na_fila(self, aparelho: Any) -> SafeString | str:
        """Quantos, a idade do mais antigo e os de quarentena, como o último pulso disse."""
        linhas = []
        if aparelho.fila_qtd and aparelho.fila_mais_antigo_s is not None:
            linhas.append(f"mais antigo: {mostrar_duracao(aparelho.fila_mais_antigo_s * 1_000)}")
        if aparelho.quarentena:
            linhas.append(f"quarentena: {mostrar_quantidade(aparelho.quarentena)}")
        miudas = format_html_join(
            "", '<small class="capturas-menor">{}</small>', ((linha,) for linha in linhas)
        )
        return format_html(
            '<span class="capturas-celula">{}{}</span>', mostrar_quantidade(aparelho.fila_qtd), miudas
        )

    @display(description="Latência p50 · p95")
    def latencia(self, aparelho: Any) -> SafeString | str:
        if aparelho.da_hora is None or aparelho.da_hora.latencia_ms.p50 is None:
            return VAZIO
        return format_html(
            '<span title="{}" class="whitespace-nowrap">{}</span>',
            f"{aparelho.da_hora.latencia_ms.amostras} informadas na última hora",
            mostrar_percentis(aparelho.da_hora),
        )

    @display(description="Sinais em 24 h")
    def sinais(self, aparelho: Any) -> SafeString | str:
        return escrever_sinais(aparelho.achados) if aparelho.achados else VAZIO

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        return super().get_object(request, object_id, from_field) if ler_uuid(object_id) else None

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            context |= self.contexto(request, obj) | self.montar_pagina(request, obj, timezone.now())
        context |= {"subtitle": None, "show_save_and_add_another": False, "show_save_and_continue": False}
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def montar_pagina(self, request: HttpRequest, aparelho: Dispositivo, agora: Any) -> dict[str, Any]:
        janela = escolher_janela(request.GET.get("por"), agora)
        visao = Visao(request)
        do_dia = resumir(agora - JANELA_DOS_SINAIS, agora, aparelho.pk)
        situacao = decidir_situacao(aparelho, agora)

        def ligar(o_que: str, codigo: str) -> str:
            modelo = {"gravadas": Captura, "descartes": RelatoDeDescarte}.get(o_que, CapturaRecusada)
            return visao.lista(modelo, dispositivo=aparelho.pk, **({"codigo": codigo} if codigo else {}))

        return {
            "situacao": situacao,
            "cor": CORES[situacao],
            "sinais": listar_sinais(aparelho, do_dia),
            "numeros": _numeros(aparelho, do_dia, agora),
            "janela": janela,
            "graficos": montar_graficos(buscar_pontos(janela, aparelho.pk), janela, ligar),
            "pulso": _pulso(aparelho),
            "botoes": self.listar_botoes(request, aparelho),
            "listas": [
                ("Capturas", ligar("gravadas", "")),
                ("Contestações", visao.lista(Pedido, dispositivo=aparelho.pk)),
                ("Capturas recusadas", ligar("recusados", "")),
                ("Descartes", ligar("descartes", "")),
            ],
            "esperando": Pedido.objects.filter(
                dispositivo=aparelho.pk, situacao=SituacaoDoPedido.ABERTO
            ).count(),
        }

    def save_model(self, request: HttpRequest, obj: Dispositivo, form: forms.ModelForm, change: bool) -> None:
        """Grava só o que o formulário mudou: um token trocado no meio não é desfeito. Ao criar, gera o token."""
        if change:
            obj.save(update_fields=form.changed_data)
            return
        request.token_novo = gerar_token()  # type: ignore[attr-defined]
        obj.token_resumo = resumir_token(request.token_novo)  # type: ignore[attr-defined]
        obj.save(force_insert=True)

    def response_add(
        self, request: HttpRequest, obj: Dispositivo, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Mostra o token, que não fica guardado em lugar nenhum."""
        return self.mostrar_token(request, obj, request.token_novo)  # type: ignore[attr-defined]


def comeco_da_hora(agora: Any) -> Any:
    """A hora cheia anterior: as medidas são por hora, e às 14h01 a das 14h ainda não diz nada."""
    return truncar_na_hora(agora) - timedelta(hours=1)


def mostrar_percentis(resumo: Resumo) -> str:
    """`180 ms · 1,2 s`; — sem amostras."""
    if resumo.latencia_ms.p50 is None:
        return VAZIO
    return f"{mostrar_duracao(resumo.latencia_ms.p50)} · {mostrar_duracao(resumo.latencia_ms.p95)}"


def mostrar_fila(aparelho: Dispositivo) -> str:
    """`12, o mais antigo há 3 min`; — se ele nunca disse."""
    if aparelho.fila_qtd is None:
        return VAZIO
    quantos = mostrar_quantidade(aparelho.fila_qtd)
    if not aparelho.fila_qtd or aparelho.fila_mais_antigo_s is None:
        return quantos
    return f"{quantos}, o mais antigo há {mostrar_duracao(aparelho.fila_mais_antigo_s * 1_000)}"


def escrever_sinais(sinais: list[Sinal]) -> SafeString:
    """Um selo por sinal, com a explicação na dica."""
    selos = ((sinal.cor, sinal.explicacao, sinal.nome) for sinal in sinais)
    juntos = format_html_join("", '<span class="lastro-selo lastro-selo-{}" title="{}">{}</span>', selos)
    return format_html('<span class="capturas-selos">{}</span>', juntos)


def _numeros(aparelho: Dispositivo, resumo: Resumo, agora: Any) -> list[Linha]:
    em = aparelho.ultimo_contato_em
    taxa = resumo.taxa_de_reenvio
    return [
        Linha(rotulo="Último contato", valor=f"há {mostrar_espera(em, agora)}" if em else "nunca"),
        Linha(rotulo="Na fila dele", valor=mostrar_fila(aparelho)),
        Linha(rotulo="Gravadas em 24 h", valor=mostrar_quantidade(resumo.gravadas)),
        Linha(rotulo="Latência p50 · p95", valor=mostrar_percentis(resumo)),
        Linha(rotulo="Reenvios em 24 h", valor=mostrar_percentual(None if taxa is None else taxa * 100)),
        Linha(rotulo="Descartes em 24 h", valor=mostrar_quantidade(sum(resumo.descartados.values()))),
    ]


def _pulso(aparelho: Dispositivo) -> list[Linha]:
    """O que o último pulso contou, mais o id e a criação."""
    linhas = [
        Linha(rotulo="Id", valor=str(aparelho.pk)),
        Linha(rotulo="Criado em", valor=mostrar_instante(aparelho.criado_em)),
        *montar_ficha(aparelho, DO_PULSO),
    ]
    for rotulo, quantos in (
        ("Quadros guardados (tamanho)", aparelho.quadros_bytes),
        ("Disco livre", aparelho.disco_livre_bytes),
    ):
        if quantos is not None:
            linhas.append(Linha(rotulo=rotulo, valor=mostrar_bytes(quantos)))
    if aparelho.quarentena is not None:
        linhas.append(Linha(rotulo="Em quarentena", valor=mostrar_quantidade(aparelho.quarentena)))
    return linhas
