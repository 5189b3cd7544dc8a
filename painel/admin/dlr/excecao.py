"""A lista de trabalho da operação: o que não se decidiu sozinho, com a evidência à mão."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from dlr.models import EventoLogico, Excecao, Integracao, Mensagem, Recepcao, SituacaoDaExcecao, TipoDeExcecao
from painel.admin.dlr.ato import ATOS, DescricaoDoAto
from painel.admin.dlr.atuacao import AtosDeExcecao
from painel.admin.dlr.candidata import listar_candidatas
from painel.admin.dlr.contagens import Iguais, agrupar_excecoes_abertas
from painel.admin.dlr.evento import mostrar_lido
from painel.admin.dlr.evidencia import listar_ocorrencias, montar_evidencia, telefones_de
from painel.admin.dlr.explicacoes import ATOS as NOMES_DOS_ATOS
from painel.admin.dlr.explicacoes import TIPOS
from painel.admin.dlr.filtros import PorIntegracaoRecente, nomear_integracao
from painel.admin.dlr.mensagem import (
    CORES_DOS_ESTADOS,
    descrever_estado,
    explicar,
    listar_eventos,
    projecao_de,
)
from painel.admin.ficha import Linha, mostrar_espera, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Escolha, Filtro, PorDono
from painel.admin.inerte import neutralizar
from painel.admin.recentes import PorIdade
from painel.admin.revelacao import ComRevelacao, esta_revelado, leitor
from painel.admin.texto_alheio import resumir
from painel.templatetags.ligacoes import pode_abrir

GRUPOS_MOSTRADOS = 12
CORES_DA_SITUACAO = {"aberta": "danger", "resolvida": "success", "descartada": ""}


class PorSituacao(Filtro):
    """Sem escolha, as abertas: é o trabalho. Não há “todas” porque só por situação há índice na ordem."""

    title = "situação"
    parameter_name = "situacao"
    template = FICHAS
    tudo = "Abertas"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("resolvida", "Resolvidas"), ("descartada", "Descartadas")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(situacao=self.value() or SituacaoDaExcecao.ABERTA)  # excecao_por_situacao


class PorTipo(Escolha):
    title = "tipo"
    parameter_name = campo = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(valor), str(rotulo)) for valor, rotulo in TipoDeExcecao.choices]


class PorResponsavel(PorDono):
    campo = "atribuida_a"


@admin.register(Excecao)
class ExcecaoAdmin(ComRevelacao, AtosDeExcecao):
    o_que_revela = "os telefones e os bytes da evidência"
    change_form_template = "painel/dlr/excecao.html"
    change_list_template = "painel/dlr/lista_de_excecoes.html"
    list_display = (
        "qual",
        "da_integracao",
        "alvo_da_excecao",
        "idade",
        "quantas_iguais",
        "o_que_houve",
        "quem_cuida",
    )
    list_filter = (PorSituacao, PorTipo, PorIntegracaoRecente, PorIdade, PorResponsavel)
    list_select_related = ("integracao", "atribuida_a")
    ordering = ("-aberta_em", "-id")  # índice excecao_por_situacao
    colunas_grandes = ("dicas",)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Anota em cada linha quantas abertas são do mesmo tipo e integração: uma consulta com teto."""
        lista = super().get_changelist_instance(request)
        grupos, ha_mais = agrupar_excecoes_abertas()
        lista.grupos, lista.ha_mais_grupos = mostrar_grupos(grupos), ha_mais
        lista.grupos_de_fora = max(0, len(grupos) - GRUPOS_MOSTRADOS)
        quantas = {(grupo.integracao_id, grupo.tipo): grupo.quantas for grupo in grupos}
        for excecao in lista.result_list:
            excecao.iguais = quantas.get((excecao.integracao_id, excecao.tipo))
        return lista

    @display(description="Iguais")
    def quantas_iguais(self, excecao: Excecao) -> SafeString | str | None:
        iguais = getattr(excecao, "iguais", None)
        if not iguais:
            return None
        url = f"?tipo={excecao.tipo}&integracao={excecao.integracao_id}"
        return format_html('<a class="text-link" href="{}">{}</a>', url, mostrar_quantidade(iguais))

    @display(description="Integração")
    def da_integracao(self, excecao: Excecao) -> SafeString:
        return nomear_integracao(excecao.integracao)

    @display(description="Exceção")
    def qual(self, excecao: Excecao) -> str:
        return f"{excecao.get_tipo_display()} #{excecao.pk}"

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """O alvo é um link só para quem pode abrir as três coisas que ele pode ser."""
        abre = all(pode_abrir(request.user, f"dlr.{m}") for m in ("mensagem", "eventologico", "recepcao"))
        return tuple("alvo_em_texto" if c == "alvo_da_excecao" and not abre else c for c in self.list_display)

    @display(description="Alvo")
    def alvo_da_excecao(self, excecao: Excecao) -> SafeString:
        nome, modelo, chave = alvo_da(excecao)
        rota = f"admin:{modelo.replace('.', '_')}_change"
        return format_html('<a class="text-link" href="{}">{}</a>', reverse(rota, args=[chave]), nome)

    @display(description="Alvo")
    def alvo_em_texto(self, excecao: Excecao) -> str:
        return alvo_da(excecao)[0]

    @display(description="Idade")
    def idade(self, excecao: Excecao) -> str:
        return mostrar_espera(excecao.aberta_em, timezone.now())

    @display(description="Detalhe")
    def o_que_houve(self, excecao: Excecao) -> SafeString | None:
        return resumir(excecao.detalhe or TIPOS[excecao.tipo].houve, 80)

    @display(description="Atribuída a")
    def quem_cuida(self, excecao: Excecao) -> str | None:
        return str(excecao.atribuida_a) if excecao.atribuida_a else None

    def nomear(self, registro: Excecao) -> str:
        return str(registro)

    def montar_pagina(self, request: HttpRequest, registro: Excecao) -> dict[str, Any]:
        recepcao = recepcao_da(registro)
        ocorrencias = listar_ocorrencias(recepcao.pk) if recepcao else []
        inteira = esta_revelado(request)
        nome_do_alvo, modelo_do_alvo, chave_do_alvo = alvo_da(registro)
        mensagem = registro.mensagem or (registro.evento.mensagem if registro.evento else None)
        return {
            "cor": CORES_DA_SITUACAO[registro.situacao],
            "explicacao": TIPOS[registro.tipo],
            "detalhe": leitor(request)(registro.detalhe),
            "ficha": _ficha(registro),
            "nome_do_alvo": nome_do_alvo,
            "modelo_do_alvo": modelo_do_alvo,
            "chave_do_alvo": chave_do_alvo,
            "botoes": self._botoes(request, registro),
            "candidatas": listar_candidatas(registro),
            "pode_ligar": self.has_atos_permission(request) and ATOS["ligar"].cabe(registro),
            "evento": registro.evento,
            "lido": mostrar_lido(registro.evento, inteiro=inteira) if registro.evento else [],
            "mensagem": mensagem,
            "da_mensagem": _mostrar_mensagem(mensagem) if mensagem else None,
            "eventos": listar_eventos(mensagem.pk) if mensagem else [],
            "titulo_do_lido": "O evento que já tinha este id"
            if registro.tipo == TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO
            else "O que se leu do recibo",
            "recepcao": recepcao,
            "evidencia": montar_evidencia(recepcao, telefones_de(ocorrencias), inteira=inteira)
            if recepcao and request.user.has_perm("dlr.view_recepcao")
            else None,
            "trilha": [
                {
                    "ato": passo,
                    "nome": NOMES_DOS_ATOS.get(passo.acao, passo.acao),
                    "motivo": neutralizar(passo.motivo),
                    "detalhes": _mostrar_detalhes(passo.detalhes),
                }
                for passo in registro.acoes.select_related("autor").order_by("-id")[:100]
            ],
        }

    def _botoes(self, request: HttpRequest, excecao: Excecao) -> list[tuple[str, DescricaoDoAto]]:
        if not self.has_atos_permission(request):
            return []
        base = f"?excecao={excecao.pk}"
        return [
            (reverse("admin:dlr_excecao_ato", args=[verbo]) + base, descricao)
            for verbo, descricao in ATOS.items()
            if descricao.cabe(excecao)
        ]


def mostrar_grupos(grupos: Sequence[Iguais]) -> list[dict[str, Any]]:
    """Os grupos de iguais, com o nome da integração e a espera da mais antiga."""
    agora = timezone.now()
    slugs = dict(
        Integracao.objects.filter(pk__in={g.integracao_id for g in grupos}).values_list("pk", "slug")
    )
    return [
        {
            "grupo": grupo,
            "tipo": TipoDeExcecao(grupo.tipo).label,
            "integracao": slugs.get(grupo.integracao_id, ""),
            "espera": mostrar_espera(grupo.mais_antiga_em, agora),
        }
        for grupo in grupos[:GRUPOS_MOSTRADOS]
    ]


def alvo_da(excecao: Excecao) -> tuple[str, str, int]:
    """O assunto da exceção: o nome, o modelo e a chave da mensagem, do evento ou da recepção."""
    if excecao.mensagem_id is not None:
        return f"mensagem {excecao.mensagem_id}", "dlr.mensagem", excecao.mensagem_id
    if excecao.evento_id is not None:
        return f"evento {excecao.evento_id}", "dlr.eventologico", excecao.evento_id
    if excecao.recepcao_id is not None:
        return f"recepção {excecao.recepcao_id}", "dlr.recepcao", excecao.recepcao_id
    return excecao.alvo, "dlr.excecao", excecao.pk


def recepcao_da(excecao: Excecao) -> Recepcao | None:
    """A recepção que é a evidência: a da exceção, a do evento, a do recibo que contradiz, ou a última."""
    id_ = excecao.recepcao_id or (excecao.evento.recepcao_id if excecao.evento else None)
    if id_ is None and excecao.mensagem_id is not None:
        eventos = EventoLogico.objects.filter(mensagem_id=excecao.mensagem_id)
        recepcoes = eventos.values_list("recepcao_id", flat=True)
        id_ = (
            recepcoes.filter(papel="contradiz").order_by("recepcao_id").first()
            or recepcoes.order_by("-recepcao_id").first()
        )
    return Recepcao.objects.filter(pk=id_).first() if id_ is not None else None


def _mostrar_mensagem(mensagem: Mensagem) -> dict[str, Any]:
    projecao = projecao_de(mensagem)
    cor, estado = descrever_estado(projecao)
    return {
        "nome": neutralizar(str(mensagem)),
        "cor": CORES_DOS_ESTADOS.get(cor, ""),
        "estado": estado,
        "motivo": explicar(projecao),
    }


def _ficha(excecao: Excecao) -> list[Linha]:
    agora = timezone.now()
    linhas = [
        Linha(rotulo="Integração", valor=excecao.integracao.slug),
        Linha(rotulo="Aberta em", valor=mostrar_instante(excecao.aberta_em)),
        Linha(rotulo="Atribuída a", valor=str(excecao.atribuida_a or "ninguém")),
    ]
    if excecao.encerrada_em is None:
        return [*linhas, Linha(rotulo="Espera há", valor=mostrar_espera(excecao.aberta_em, agora))]
    return [
        *linhas,
        Linha(rotulo="Encerrada em", valor=mostrar_instante(excecao.encerrada_em)),
        Linha(rotulo="Como se encerrou", valor=neutralizar(excecao.encerramento)),
    ]


def _mostrar_detalhes(detalhes: Any) -> str:
    if not isinstance(detalhes, dict):
        return ""
    return ", ".join(
        f"{neutralizar(str(nome))}: {neutralizar(str(valor))}"
        for nome, valor in detalhes.items()
        if valor is not None
    )
