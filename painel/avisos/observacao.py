"""O que há agora que mereça atenção: uma função por tipo, cada uma com uma consulta curta e o seu teto."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, Sum
from django.utils import timezone

from dlr.models import Integracao, TipoDeExcecao
from ingestao.caixa.medida import medir
from ingestao.capturas.consultas import listar_silenciosos
from ingestao.eventos.cota import periodo_de
from ingestao.models import (
    AvisoFranquia,
    Dispositivo,
    Erro,
    EstadoDoErro,
    PoliticaDeFranquia,
    RelatoDeDescarte,
    Uso,
)
from painel.avisos.regras import ITENS_MAXIMOS, Item, Observacao, limiar_de_excecoes
from painel.models import LimiarDeAviso, TipoDeAviso
from painel.situacao import CAIXAS, contar_excecoes_recentes

# Quanto basta para avisar, quando ninguém cadastrou outro.
EXCECOES_PADRAO = 10
FILA_PADRAO_S = 120  # a /prontidao desiste em 300 s: o aviso chega antes
ESTACIONADOS_PADRAO = 1
DESCARTES_PADRAO = 1
DESLIGADO = 0

JANELA_DE_DESCARTES = timedelta(hours=1)
CAUDA_DA_FRANQUIA = timedelta(days=1)  # o que se cruzou no fim do mês ainda é avisado depois da virada
RELATOS_LIDOS = REGRESSOES_LIDAS = 5_000
NOMES_DAS_CAIXAS = {"lotes": "A caixa de lotes", "recepcoes": "A caixa de recepções"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexto:
    """O que toda observação recebe: a hora e os limiares cadastrados."""

    agora: datetime
    limiares: Mapping[str, Mapping[tuple[int | None, str], int]]

    def limiar(self, tipo: TipoDeAviso, padrao: int) -> int:
        """O limiar geral de um tipo; `DESLIGADO` cala o tipo."""
        return self.limiares.get(tipo, {}).get((None, ""), padrao)


def observar(agora: datetime) -> list[Observacao]:
    """Todas as condições que valem em `agora`."""
    contexto = Contexto(agora=agora, limiares=_ler_limiares())
    return [observacao for olhar in OLHARES for observacao in olhar(contexto)]


def olhar_franquia(contexto: Contexto) -> Iterator[Observacao]:
    """Um por aplicativo e percentual cruzado no período, até ele virar ou a franquia crescer."""
    periodo = periodo_de(timezone.localdate(contexto.agora))
    avisos = list(
        AvisoFranquia.objects.filter(
            Q(periodo=periodo) | Q(criado_em__gte=contexto.agora - CAUDA_DA_FRANQUIA),
            aplicativo__deletado=False,
            aplicativo__franquia__isnull=False,
        ).select_related("aplicativo")
    )
    usos = _somar_usos(
        {aviso.aplicativo_id for aviso in avisos}, min((a.periodo for a in avisos), default=periodo)
    )
    for aviso in avisos:
        aplicativo = aviso.aplicativo
        uso = usos.get((aplicativo.pk, aviso.periodo), 0)
        if uso * 100 < (aplicativo.franquia or 0) * aviso.percentual:
            continue
        para = aviso.percentual >= 100 and aplicativo.politica == PoliticaDeFranquia.PARAR_INGESTAO
        yield Observacao(
            tipo=TipoDeAviso.FRANQUIA,
            alvo=str(aviso.pk),
            titulo=f"{aplicativo.nome}: {aviso.percentual}% da franquia de {aviso.periodo:%m/%Y}",
            critico=para,
            valor=float(aviso.percentual),
            itens=(_descrever_franquia(aviso),),
            qtd_itens=1,
            aplicativo_id=aplicativo.pk,
            avisa_dono=aviso.enviado_em is None,
        )


def _descrever_franquia(aviso: AvisoFranquia) -> Item:
    texto = (
        f"Gravou {aviso.quantidade} eventos de uma franquia de {aviso.franquia}. "
        f"Política: {aviso.aplicativo.get_politica_display()}."
    )
    return Item(chave=str(aviso.pk), texto=texto)


def _somar_usos(aplicativos: set[Any], desde: Any) -> dict[tuple[Any, Any], int]:
    """Eventos gravados por (aplicativo, período). Índice: uso_unico_no_dia."""
    usos: Counter[tuple[Any, Any]] = Counter()
    linhas = Uso.objects.filter(aplicativo_id__in=aplicativos, dia__gte=desde).order_by()
    for aplicativo_id, dia, quantos in linhas.values_list("aplicativo_id", "dia").annotate(
        quantos=Sum("quantidade_eventos")
    ):
        usos[aplicativo_id, periodo_de(dia)] += quantos
    return usos


def olhar_regressoes(contexto: Contexto) -> Iterator[Observacao]:
    """Um por aplicativo, com os erros que voltaram depois de resolvidos, até serem triados.

    Índice: erro_que_regrediu.
    """
    por_aplicativo: dict[Any, list[Erro]] = defaultdict(list)
    erros = Erro.objects.filter(
        regrediu_em__isnull=False, estado=EstadoDoErro.ABERTO, aplicativo__deletado=False
    )
    for erro in erros.select_related("aplicativo").order_by("-regrediu_em")[:REGRESSOES_LIDAS]:
        por_aplicativo[erro.aplicativo_id].append(erro)
    for aplicativo_id, dele in por_aplicativo.items():
        nome = dele[0].aplicativo.nome
        quantos = "voltou um erro resolvido" if len(dele) == 1 else f"voltaram {len(dele)} erros resolvidos"
        yield Observacao(
            tipo=TipoDeAviso.REGRESSAO,
            alvo=str(aplicativo_id),
            titulo=f"{nome}: {quantos}",
            valor=float(len(dele)),
            itens=[_descrever_regressao(erro) for erro in dele[:ITENS_MAXIMOS]],
            qtd_itens=len(dele),
            aplicativo_id=aplicativo_id,
            avisa_dono=any(_por_avisar(erro) for erro in dele),
        )


def _por_avisar(erro: Erro) -> bool:
    return erro.regressao_avisada_em is None or erro.regressao_avisada_em < (
        erro.regrediu_em or erro.regressao_avisada_em
    )


def _descrever_regressao(erro: Erro) -> Item:
    voltou = timezone.localtime(erro.regrediu_em)
    texto = f"“{erro.titulo}” voltou em {voltou:%d/%m/%Y %H:%M}; {erro.quantidade} ocorrências."
    return Item(chave=f"{erro.pk}:{erro.regressoes}", texto=texto)


def olhar_excecoes(contexto: Contexto) -> Iterator[Observacao]:
    """Um por integração e tipo de exceção acima do limiar."""
    limiares = contexto.limiares.get(TipoDeAviso.EXCECOES, {})
    slugs = dict(Integracao.objects.values_list("pk", "slug"))
    for (integracao_id, tipo), quantas in contar_excecoes_recentes().items():
        limiar = limiar_de_excecoes(limiares, integracao_id, tipo, EXCECOES_PADRAO)
        if limiar != DESLIGADO and quantas >= limiar:
            yield Observacao(
                tipo=TipoDeAviso.EXCECOES,
                alvo=f"{integracao_id}:{tipo}",
                titulo=f"{slugs[integracao_id]}: {quantas} × {TipoDeExcecao(tipo).label}",
                valor=float(quantas),
                qtd_itens=quantas,
            )


def olhar_filas(contexto: Contexto) -> Iterator[Observacao]:
    """Um por caixa cujo item mais antigo espera há tempo demais."""
    limiar = contexto.limiar(TipoDeAviso.FILA, FILA_PADRAO_S)
    for nome, caixa in CAIXAS.items():
        idade_s = medir(caixa, limite=1).idade_s(contexto.agora)
        if limiar != DESLIGADO and idade_s >= limiar:
            yield Observacao(
                tipo=TipoDeAviso.FILA,
                alvo=nome,
                titulo=f"{NOMES_DAS_CAIXAS[nome]} está atrasada: o mais antigo espera há {idade_s:.0f} s",
                critico=True,
                valor=round(idade_s, 1),
            )


def olhar_estacionados(contexto: Contexto) -> Iterator[Observacao]:
    """Um por caixa com itens que falharam até o teto e esperam uma pessoa."""
    limiar = contexto.limiar(TipoDeAviso.ESTACIONADOS, ESTACIONADOS_PADRAO)
    for nome, caixa in CAIXAS.items():
        estacionados = caixa.modelo._default_manager.filter(estacionado_em__isnull=False)
        ids = list(estacionados.order_by("-id").values_list("id", flat=True))
        if limiar != DESLIGADO and len(ids) >= limiar:
            yield Observacao(
                tipo=TipoDeAviso.ESTACIONADOS,
                alvo=nome,
                titulo=f"{NOMES_DAS_CAIXAS[nome]} tem {len(ids)} "
                f"{'item estacionado' if len(ids) == 1 else 'itens estacionados'}",
                critico=True,
                valor=float(len(ids)),
                itens=[Item(chave=str(id_), texto=f"Item {id_}") for id_ in ids[:ITENS_MAXIMOS]],
                qtd_itens=len(ids),
            )


def olhar_silencio(contexto: Contexto) -> Iterator[Observacao]:
    """Um só, com todos os aparelhos em silêncio: uma rede que cai não vira centenas de mensagens."""
    calados = listar_silenciosos(contexto.agora)
    quantos = calados.count()
    if quantos:
        yield Observacao(
            tipo=TipoDeAviso.SILENCIO,
            alvo="",
            titulo="1 dispositivo em silêncio" if quantos == 1 else f"{quantos} dispositivos em silêncio",
            valor=float(quantos),
            itens=[_descrever_silencio(d) for d in calados.reverse()[:ITENS_MAXIMOS]],
            qtd_itens=quantos,
        )


def _descrever_silencio(dispositivo: Dispositivo) -> Item:
    desde = timezone.localtime(dispositivo.ultimo_contato_em or dispositivo.criado_em)
    texto = f"{dispositivo.nome}: sem contato desde {desde:%d/%m/%Y %H:%M}"
    return Item(chave=str(dispositivo.pk), texto=texto)


def olhar_descartes(contexto: Contexto) -> Iterator[Observacao]:
    """Um só, com o que os aparelhos disseram ter descartado na última hora. Índice: relato_por_chegada."""
    relatos = (
        RelatoDeDescarte.objects.filter(recebido_em__gte=contexto.agora - JANELA_DE_DESCARTES)
        .select_related("dispositivo")
        .order_by("-recebido_em")[:RELATOS_LIDOS]
    )
    somas: Counter[tuple[Any, str, str]] = Counter()
    for relato in relatos:
        for motivo, quantos in relato.descartados.items():
            somas[relato.dispositivo_id, relato.dispositivo.nome, motivo] += quantos
    total = sum(somas.values())
    limiar = contexto.limiar(TipoDeAviso.DESCARTES, DESCARTES_PADRAO)
    if limiar != DESLIGADO and total >= limiar:
        yield Observacao(
            tipo=TipoDeAviso.DESCARTES,
            alvo="",
            titulo=f"{total} {'captura descartada' if total == 1 else 'capturas descartadas'} na última hora",
            valor=float(total),
            itens=[
                Item(chave=f"{id_}:{motivo}", texto=f"{nome}: {quantos} por {motivo}")
                for (id_, nome, motivo), quantos in somas.most_common(ITENS_MAXIMOS)
            ],
            qtd_itens=len(somas),
        )


OLHARES: tuple[Callable[[Contexto], Iterator[Observacao]], ...] = (
    olhar_franquia,
    olhar_regressoes,
    olhar_excecoes,
    olhar_filas,
    olhar_estacionados,
    olhar_silencio,
    olhar_descartes,
)


def _ler_limiares() -> dict[str, dict[tuple[int | None, str], int]]:
    limiares: dict[str, dict[tuple[int | None, str], int]] = defaultdict(dict)
    for tipo, integracao_id, excecao, valor in LimiarDeAviso.objects.values_list(
        "tipo", "integracao_id", "excecao", "valor"
    ):
        limiares[tipo][integracao_id, excecao] = valor
    return limiares
