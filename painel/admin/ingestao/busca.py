"""Procurar sessões e eventos: pelo id, pela pessoa, ou por um texto num aplicativo e num período.

Não há índice de texto: um GIN de trigramas dobraria o custo de gravar cada evento. O texto se procura, por
índice, nas linhas de um aplicativo e um período, e só nas `JANELA_DE_BUSCA` mais recentes delas; a tela diz até
onde olhou. Um dia de um aplicativo costuma caber inteiro.
"""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from ingestao.eventos.processamento import uuid5_texto
from ingestao.models import Aplicativo, Sessao
from painel.admin.filtros import Campo, ler_inteiro, ler_uuid
from painel.admin.inerte import neutralizar
from painel.admin.tabela_grande import recortar

ACHADAS_NA_BUSCA = 1_000  # um usuário com mais sessões que isto se procura dentro de um período
DA_PESSOA = ("usuario_id", "anonimo_id")
ONDE_SE_PROCURA = ("mensagem", "nome", "url", "texto", "seletor")
DIZER_ONDE = "mensagem, nome, URL, texto e seletor"
FALTA_O_RECORTE = (
    "Para procurar um texto, escolha o aplicativo e um período ou um dia: sem eles a busca leria a tabela inteira. "
    "Um id de evento ou um número de sessão se acham sem isso."
)
TERMO_MINIMO = 3  # menos que isto acha tudo


class PorDia(Campo):
    """Um dia inteiro, pela hora de chegada, no fuso do servidor."""

    title = "dia"
    parameter_name = "dia"
    tipo_do_campo = "date"

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value():
            return queryset
        dia = ler_dia(self.value())
        if dia is None:
            return queryset.none()
        return queryset.filter(
            criado_em__gte=_meia_noite(dia), criado_em__lt=_meia_noite(dia + timedelta(days=1))
        )


class DaPessoa(Campo):
    """Os eventos das sessões de um usuário ou anônimo, exato. Índices sessao_por_usuario, evento_da_sessao."""

    title = "usuário ou anônimo"
    parameter_name = "pessoa"

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if (pessoa := self.value()) is None:
            return queryset
        aplicativo = ler_uuid(request.GET.get("aplicativo"))
        return queryset.filter(sessao_id__in=buscar_sessoes_da_pessoa(pessoa, aplicativo))


def buscar_sessoes(termo: str, aplicativo: UUID | None) -> list[int]:
    """Os ids das sessões com este número, esta sessão externa, este usuário ou este anônimo.

    Até `ACHADAS_NA_BUSCA` de cada. Procura dentro de cada aplicativo porque os índices
    sessao_unica_no_aplicativo, sessao_por_usuario e sessao_por_anonimo começam por ele. Sem ORDER BY: o
    planejador trocaria o índice pelo da ordem.
    """
    achadas = _buscar_por(("sessao_externa", *DA_PESSOA), termo, aplicativo)
    numero = ler_inteiro(termo)
    return [*achadas] if numero is None else [*achadas, numero]


def buscar_sessoes_da_pessoa(valor: str, aplicativo: UUID | None) -> list[int]:
    """Os ids das sessões de um usuário ou anônimo, exato (até `ACHADAS_NA_BUSCA` de cada)."""
    return [*_buscar_por(DA_PESSOA, valor, aplicativo)]


def _buscar_por(campos: Sequence[str], valor: str, aplicativo: UUID | None) -> set[int]:
    aplicativos = (
        list(Aplicativo.objects.values_list("id", flat=True)) if aplicativo is None else [aplicativo]
    )
    achadas: set[int] = set()
    for campo in campos:
        iguais = Sessao.objects.filter(aplicativo_id__in=aplicativos, **{campo: valor}).order_by()
        achadas.update(iguais.values_list("pk", flat=True)[:ACHADAS_NA_BUSCA])
    return achadas


def procurar(request: HttpRequest, queryset: QuerySet, termo: str) -> QuerySet:
    """Os eventos com este id ou, se há aplicativo e período, com este texto; anota na requisição o que cobriu."""
    if (exatos := queryset.filter(pk__in=ids_possiveis(termo))).exists():
        return exatos
    avisos: dict[str, Any] = request.__dict__
    if not recortada(request):
        avisos["aviso_da_busca"] = FALTA_O_RECORTE
        return queryset.none()
    if len(termo) < TERMO_MINIMO:
        avisos["aviso_da_busca"] = f"Escreva ao menos {TERMO_MINIMO} letras."
        return queryset.none()
    queryset, avisos["busca_recortada"] = recortar(queryset, "criado_em")
    avisos["aviso_da_busca"] = (
        f"“{neutralizar(termo)}” procurado em {DIZER_ONDE}; a pilha e o payload não entram."
    )
    condicao = Q()
    for campo in ONDE_SE_PROCURA:
        condicao |= Q(**{f"{campo}__icontains": termo})
    return queryset.filter(condicao)


def recortada(request: HttpRequest) -> bool:
    """Diz se o endereço limita a busca: um aplicativo e um tempo, ou uma pessoa, uma sessão ou um erro."""
    pedido = request.GET
    no_tempo = bool(pedido.get("periodo") or pedido.get("dia"))
    return bool(
        (pedido.get("aplicativo") and no_tempo)
        or pedido.get("pessoa")
        or pedido.get("sessao")
        or pedido.get("erro")
    )


def ids_possiveis(termo: str) -> list[str]:
    """Os ids que um evento teria: o próprio termo, ou o calculado dele para cada aplicativo."""
    ids = [uuid5_texto(f"{id_}:{termo}") for id_ in Aplicativo.objects.values_list("id", flat=True)]
    return ids if (id_ := ler_uuid(termo)) is None else [*ids, str(id_)]


def ler_dia(texto: str | None) -> date | None:
    """`2026-11-30` como data, ou None."""
    try:
        return date.fromisoformat(texto or "")
    except ValueError:
        return None


def _meia_noite(dia: date) -> datetime:
    return timezone.make_aware(datetime.combine(dia, time.min))
