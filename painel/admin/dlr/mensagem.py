"""Mensagens: aceitação, estado do DLR e verificação independente, três coisas que não se misturam."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from dlr.models import (
    EventoLogico,
    Excecao,
    IdentificadorExterno,
    Integracao,
    Mensagem,
    Projecao,
    Verificacao,
)
from dlr.models.integracao import ESTADOS
from painel.admin.dlr.evento import listar_recepcoes
from painel.admin.dlr.explicacoes import MOTIVOS, PAPEIS
from painel.admin.dlr.filtros import PorIntegracao, nomear_integracao
from painel.admin.ficha import Linha, montar_ficha, mostrar_instante
from painel.admin.filtros import Escolha, Periodo, ler_inteiro
from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar
from painel.admin.recentes import PorAceitacao, PorRegistro, PorVerificacao
from painel.admin.revelacao import ComRevelacao, esta_revelado
from painel.admin.tabela_grande import TabelaGrande
from painel.admin.texto_alheio import resumir

EVENTOS_NA_HISTORIA = 200
RESTO_DA_HISTORIA = 50  # identificadores, verificações, decisões, reprojeções, exceções
ACHADAS_NA_BUSCA = 1_000
SEM_RECIBO = "sem_recibo"
ACEITACAO = {True: "aceita", False: "recusada", None: "não se sabe"}
CORES_DA_ACEITACAO = {"aceita": "success", "recusada": "danger", "não se sabe": ""}
CORES_DOS_ESTADOS = {
    "DELIVERED": "success",
    "EXPIRED": "danger",
    "DELETED": "danger",
    "UNDELIVERABLE": "danger",
    "REJECTED": "danger",
    "SKIPPED": "warning",
    "UNKNOWN": "warning",
    "ACCEPTED": "info",
    "ENROUTE": "info",
    "SCHEDULED": "info",
    SEM_RECIBO: "",
}


class PorEstado(Escolha):
    title = "estado"
    parameter_name = "estado"
    campo = "projecao__estado"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*ESTADOS, (SEM_RECIBO, "Sem recibo")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        if self.value() == SEM_RECIBO:
            return queryset.filter(projecao__estado__isnull=True)
        return super().filtrar(queryset)


class PeriodoDaIntegracao(Periodo):
    """Só com uma integração escolhida: o índice mensagem_por_criacao começa por ela."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> tuple[tuple[str, str], ...]:
        return self.opcoes if request.GET.get("integracao") else ()

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return super().queryset(request, queryset) if request.GET.get("integracao") else queryset


@admin.register(Mensagem)
class MensagemAdmin(ComRevelacao, TabelaGrande):
    o_que_revela = "os telefones"
    change_form_template = "painel/dlr/mensagem.html"
    list_display = ("nome", "da_integracao", "para", "aceitacao", "estado_do_dlr", "provada", "criada")
    list_filter = (PorIntegracao, PeriodoDaIntegracao, PorRegistro, PorAceitacao, PorEstado, PorVerificacao)
    list_select_related = ("integracao", "projecao")
    search_fields = ("id_interno",)
    search_help_text = "Número, id interno ou id externo, exatos"
    tem_historico = True

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Pela chave; de uma integração só, pela criação (índice mensagem_por_criacao)."""
        return ("-criada_em", "-id") if request.GET.get("integracao") else ("-id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Mensagem]:
        verificadas = Verificacao.objects.filter(mensagem=OuterRef("pk"))
        return super().get_queryset(request).annotate(verificada=Exists(verificadas))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        return (queryset.filter(pk__in=buscar_mensagens(termo)), False) if termo else (queryset, False)

    @display(description="Integração")
    def da_integracao(self, mensagem: Mensagem) -> SafeString:
        return nomear_integracao(mensagem.integracao)

    @display(description="Mensagem")
    def nome(self, mensagem: Mensagem) -> SafeString | None:
        return resumir(str(mensagem), 40)

    @display(description="Destino")
    def para(self, mensagem: Mensagem) -> str | None:
        return mascarar(mensagem.destino_e164 or mensagem.destino)

    @display(description="Apresentação", label=CORES_DA_ACEITACAO)
    def aceitacao(self, mensagem: Mensagem) -> str:
        return ACEITACAO[mensagem.aceita]

    @display(description="Estado do DLR", label=CORES_DOS_ESTADOS)
    def estado_do_dlr(self, mensagem: Mensagem) -> tuple[str, str]:
        return descrever_estado(projecao_de(mensagem))

    @display(description="Verificação")
    def provada(self, mensagem: Mensagem) -> str | None:
        return "há" if mensagem.verificada else None  # type: ignore[attr-defined]

    @display(description="Registrada em")
    def criada(self, mensagem: Mensagem) -> SafeString | str:
        return mostrar_instante(mensagem.criada_em)

    def nomear(self, registro: Mensagem) -> str:
        return f"Mensagem {registro.pk}"

    def montar_pagina(self, request: HttpRequest, registro: Mensagem) -> dict[str, Any]:
        eventos = listar_eventos(registro.pk)
        projecao = projecao_de(registro)
        cor_e_estado = descrever_estado(projecao)
        return {
            "nome": neutralizar(str(registro)),
            "integracao": registro.integracao,
            "aceitacao": _aceitacao(registro),
            "aceita": ACEITACAO[registro.aceita],
            "cor_da_aceitacao": CORES_DA_ACEITACAO[ACEITACAO[registro.aceita]],
            "estado": cor_e_estado[1],
            "cor_do_estado": CORES_DOS_ESTADOS.get(cor_e_estado[0], ""),
            "motivo": explicar(projecao),
            "projecao": projecao,
            "dlr": _dlr(projecao),
            "verificacoes": [
                {"verificacao": v, "origem": neutralizar(v.origem), "detalhe": neutralizar(v.detalhe)}
                for v in registro.verificacoes.all()[:RESTO_DA_HISTORIA]
            ],
            "ficha": _ficha(registro, inteira=esta_revelado(request)),
            "eventos": eventos,
            "eventos_demais": len(eventos) == EVENTOS_NA_HISTORIA,
            "recepcoes": listar_recepcoes([linha["evento"].pk for linha in eventos]),
            "decisoes": registro.decisoes.select_related("autor").order_by("-id")[:RESTO_DA_HISTORIA],
            "mudancas": registro.mudancas.all()[:RESTO_DA_HISTORIA],
            "excecoes": Excecao.objects.filter(
                Q(mensagem=registro) | Q(evento__in=[linha["evento"].pk for linha in eventos])
            ).order_by("-id")[:RESTO_DA_HISTORIA],
        }


def projecao_de(mensagem: Mensagem) -> Projecao | None:
    """O estado calculado, ou None se nunca se calculou."""
    return getattr(mensagem, "projecao", None)


def descrever_estado(projecao: Projecao | None) -> tuple[str, str]:
    """O estado (que escolhe a cor) e como se diz."""
    if projecao is None or projecao.estado is None:
        return SEM_RECIBO, "sem recibo"
    return projecao.estado, projecao.estado + ("" if projecao.final else " · não final")


def explicar(projecao: Projecao | None) -> str:
    """Por que o estado é o que é, numa frase."""
    motivo = projecao.motivo if projecao else SEM_RECIBO
    return MOTIVOS.get(motivo, motivo)


def listar_eventos(mensagem_id: int) -> list[dict[str, Any]]:
    """Os eventos da mensagem em ordem de recepção, com o papel de cada um."""
    eventos = (
        EventoLogico.objects.filter(mensagem_id=mensagem_id)
        .defer("extras", "componentes")
        .order_by("recepcao_id", "indice")[:EVENTOS_NA_HISTORIA]
    )
    return [
        {
            "evento": evento,
            "papel": PAPEIS.get(evento.papel or ""),
            "estado": evento.estado or neutralizar(evento.estado_bruto or ""),
            "bruto": neutralizar(evento.estado_bruto or ""),
            "erro": neutralizar(evento.codigo_erro or ""),
            "comunicada": mostrar_instante(evento.concluida_em) if evento.concluida_em else "",
            "repeticoes": max(0, evento.qtd_recepcoes - 1),
        }
        for evento in eventos
    ]


def buscar_mensagens(termo: str) -> list[int]:
    """Os ids das mensagens com este número, este id interno ou este id externo (até `ACHADAS_NA_BUSCA`).

    Procura dentro de cada integração porque os índices mensagem_unica_por_id_interno e
    identificador_por_valor começam por ela. Sem ORDER BY: o planejador trocaria o índice pelo da ordem.
    """
    integracoes = list(Integracao.objects.values_list("pk", flat=True))
    internas = Mensagem.objects.filter(integracao_id__in=integracoes, id_interno=termo).order_by()
    externas = IdentificadorExterno.objects.filter(integracao_id__in=integracoes, valor=termo).order_by()
    achadas = {
        *internas.values_list("pk", flat=True)[:ACHADAS_NA_BUSCA],
        *externas.values_list("mensagem_id", flat=True)[:ACHADAS_NA_BUSCA],
    }
    numero = ler_inteiro(termo)
    return [*achadas] if numero is None else [*achadas, numero]


def _aceitacao(mensagem: Mensagem) -> list[Linha]:
    return [
        Linha(rotulo="Apresentada em", valor=mostrar_instante(mensagem.apresentada_em)),
        Linha(
            rotulo="Recibo pedido",
            valor="não se sabe"
            if mensagem.registered_delivery is None
            else f"registered_delivery={mensagem.registered_delivery}",
        ),
    ]


def _dlr(projecao: Projecao | None) -> list[Linha]:
    if projecao is None:
        return []
    return [
        Linha(rotulo="Final", valor="sim" if projecao.final else "não"),
        Linha(rotulo="Regras", valor=f"versão {projecao.versao_das_regras}"),
        Linha(rotulo="Calculado em", valor=mostrar_instante(projecao.atualizada_em)),
    ]


def _ficha(mensagem: Mensagem, *, inteira: bool) -> list[Linha]:
    externos = [
        f"{neutralizar(i.valor)}{f' (parte {i.parte})' if i.parte is not None else ''}"
        for i in mensagem.identificadores.order_by("parte", "id")[:RESTO_DA_HISTORIA]
    ]
    telefone = neutralizar if inteira else mascarar
    enderecos = ("origem", "destino", "destino_e164")
    proprios = {campo: telefone(getattr(mensagem, campo) or "") for campo in enderecos}
    campos = ("id_interno", "origem", "destino", "destino_e164", "rota", "criada_em")
    ids = Linha(rotulo="Ids externos", valor="\n".join(externos) or "nenhum ainda")
    ficha = montar_ficha(mensagem, campos, proprios=proprios)
    return [*ficha[:1], ids, *ficha[1:]] if mensagem.id_interno else [ids, *ficha]
