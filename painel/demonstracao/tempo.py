"""O que só o relógio do servidor data, posto no dia que a história conta. Só toca no que a demonstração mandou.

O remetente diz quando cada coisa ocorreu, e isso foi pelas rotas. Quando ela chegou é o servidor que diz, e ele diz a
verdade: agora. Aqui a chegada recua para logo depois da ocorrência, e as contagens por dia, hora e minuto vão junto.

Ficam com a hora de verdade o que o banco não deixa mudar (recepções, trilhas) e o que se prende a elas: eventos
lógicos, exceções (menos as de final que não veio), pedidos de quadro, triagens.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Model, QuerySet
from django.utils import timezone

from dlr.models import RecepcaoPorDia, RecepcaoPorMinuto, RecusaDeCallback
from ingestao.caixa import ItemDaCaixa
from ingestao.capturas.medidas import truncar_na_hora
from ingestao.eventos.minutos import RETENCAO
from ingestao.models import CapturaRecusada, Recusa, RecusaDeCaptura, RelatoDeDescarte, Uso, UsoPorMinuto

PRAZO_DA_CAIXA_S = 120
PASSO_S = 0.1
IDADE_DO_CADASTRO = timedelta(days=21)

# Índices: evento_do_aplicativo, sessao_do_aplicativo, uso_unico_no_dia, uso_unico_no_minuto.
SQL_ESPALHAR_SITES = (
    """UPDATE ingestao_evento SET criado_em = least(criado_em, ocorrido_em + interval '2 seconds')
    WHERE aplicativo_id = ANY(%(ids)s)""",
    """UPDATE ingestao_sessao SET criado_em = least(criado_em, primeira_atividade_em + interval '2 seconds')
    WHERE aplicativo_id = ANY(%(ids)s)""",
    """UPDATE ingestao_aplicativo SET criado_em = %(cadastro)s, primeiro_evento_em = (
        SELECT min(criado_em) FROM ingestao_evento e WHERE e.aplicativo_id = ingestao_aplicativo.id
    ) WHERE id = ANY(%(ids)s)""",
    # O uso é a contagem das linhas: contá-las de novo dá o mesmo total, cada dia com o seu.
    "UPDATE ingestao_uso SET quantidade_eventos = 0 WHERE aplicativo_id = ANY(%(ids)s)",
    """INSERT INTO ingestao_uso AS u (aplicativo_id, dia, quantidade_eventos)
    SELECT aplicativo_id, (criado_em AT TIME ZONE %(fuso)s)::date, count(*)
    FROM ingestao_evento WHERE aplicativo_id = ANY(%(ids)s) GROUP BY 1, 2
    ON CONFLICT (aplicativo_id, dia) DO UPDATE SET quantidade_eventos = excluded.quantidade_eventos""",
    "DELETE FROM ingestao_usoporminuto WHERE aplicativo_id = ANY(%(ids)s) AND motivo = ''",
    """INSERT INTO ingestao_usoporminuto (aplicativo_id, minuto, motivo, quantidade_eventos)
    SELECT aplicativo_id, date_trunc('minute', criado_em), '', count(*)
    FROM ingestao_evento WHERE aplicativo_id = ANY(%(ids)s) AND criado_em > %(minutos)s GROUP BY 1, 2""",
)
# A chegada recua, e com ela a idade que a captura tinha ao ser mandada.
SQL_RECUAR_CAPTURAS = """
    UPDATE ingestao_captura c SET gravado_em = r.gravado_em,
        idade_ms = greatest(0, idade_ms - extract(epoch FROM c.gravado_em - r.gravado_em) * 1000)
    FROM unnest(%(ids)s::uuid[], %(instantes)s::timestamptz[]) AS r(id_evento, gravado_em)
    WHERE c.id_evento = r.id_evento AND c.dispositivo_id = %(dispositivo_id)s
"""
# Índice: medida_unica.
SQL_RECUAR_MEDIDAS = """
    WITH tiradas AS (
        DELETE FROM ingestao_medidadecaptura
        WHERE dispositivo_id = %(dispositivo_id)s AND hora >= %(desde)s AND hora <> %(hora)s
        RETURNING medida, faixa, quantidade
    )
    INSERT INTO ingestao_medidadecaptura AS m (dispositivo_id, hora, medida, faixa, quantidade)
    SELECT %(dispositivo_id)s, %(hora)s, medida, faixa, sum(quantidade) FROM tiradas GROUP BY medida, faixa
    ON CONFLICT (dispositivo_id, hora, medida, faixa) DO UPDATE SET quantidade = m.quantidade + excluded.quantidade
"""
SQL_RECUAR_MENSAGENS = """
    UPDATE dlr_mensagem SET criada_em = least(criada_em, apresentada_em + interval '1 second')
    WHERE integracao_id = ANY(%(ids)s)
"""
# Um final que não veio se cobra quando o prazo vence: é só da mensagem que ele depende, não de recepção nenhuma.
SQL_RECUAR_COBRANCAS = (
    """UPDATE dlr_excecao x SET aberta_em = least(x.aberta_em, m.criada_em + i.prazo_final_s * interval '1 second')
    FROM dlr_mensagem m JOIN dlr_integracao i ON i.id = m.integracao_id
    WHERE x.tipo = 'final_ausente' AND x.mensagem_id = m.id AND m.integracao_id = ANY(%(ids)s)""",
    """UPDATE dlr_acaodeexcecao a SET feita_em = x.aberta_em FROM dlr_excecao x
    WHERE a.excecao_id = x.id AND a.acao = 'abrir' AND x.tipo = 'final_ausente' AND x.integracao_id = ANY(%(ids)s)""",
)


class CaixaParada(Exception):
    """Os workers não aplicaram o que se mandou; a mensagem diz o que olhar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecusaDeSite:
    """O que uma chamada recusada somou, e quando a história diz que foi."""

    aplicativo_id: UUID | None
    motivo: str
    requisicoes: int
    eventos: int
    quando: datetime


def esperar_vazia(modelo: type[ItemDaCaixa], itens: QuerySet) -> None:
    """Espera os itens saírem da caixa. Levanta `CaixaParada` se em `PRAZO_DA_CAIXA_S` não saíram."""
    limite = time.monotonic() + PRAZO_DA_CAIXA_S
    while itens.filter(estacionado_em=None).exists():
        if time.monotonic() > limite:
            nome = modelo._meta.verbose_name_plural
            raise CaixaParada(f"Há {nome} por aplicar há {PRAZO_DA_CAIXA_S} s: algum worker está de pé?")
        time.sleep(PASSO_S)


def espalhar_sites(ids: Sequence[UUID], agora: datetime) -> None:
    """Eventos e sessões chegam logo depois de ocorrer; o uso de cada dia e minuto se conta de novo. Repetível."""
    valores: dict[str, Any] = {
        "ids": list(ids),
        "fuso": timezone.get_default_timezone_name(),
        "cadastro": agora - IDADE_DO_CADASTRO,
        "minutos": agora - RETENCAO,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        for sql in SQL_ESPALHAR_SITES:
            cursor.execute(sql, valores)


def espalhar_recusas_de_sites(recusas: Iterable[RecusaDeSite], desde: datetime) -> None:
    """Leva cada recusa mandada a partir de `desde` para o dia e o minuto dela."""
    for recusa in recusas:
        chave = {"aplicativo_id": recusa.aplicativo_id, "motivo": recusa.motivo}
        quantias = {"quantidade_requisicoes": recusa.requisicoes, "quantidade_eventos": recusa.eventos}
        levar_ao_dia(Recusa, chave, quantias, desde, recusa.quando)
        levar_ao_minuto(UsoPorMinuto, chave, quantias, desde, recusa.quando)
        if recusa.aplicativo_id is not None:
            do_uso = {"quantidade_recusados": recusa.eventos}
            levar_ao_dia(Uso, {"aplicativo_id": recusa.aplicativo_id}, do_uso, desde, recusa.quando)


def espalhar_recusas_de_capturas(recusas: Iterable[tuple[str, datetime]], desde: datetime) -> None:
    """O mesmo, para chamadas de aparelhos que a porta não deixa entrar, e que não se contam de aparelho nenhum."""
    for motivo, quando in recusas:
        chave = {"dispositivo_id": None, "motivo": motivo}
        levar_ao_dia(RecusaDeCaptura, chave, {"quantidade": 1}, desde, quando)


def espalhar_recibos(
    ids: Sequence[int],
    recepcoes: Sequence[tuple[int, datetime]],
    recusas: Sequence[tuple[int | None, str, datetime]],
    desde: datetime,
) -> None:
    """As mensagens nascem ao serem apresentadas; o que se contou de recepções e recusas vai para o dia delas."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_RECUAR_MENSAGENS, {"ids": list(ids)})
    for modelo, coisas in (
        (RecepcaoPorDia, [({"integracao_id": i}, quando) for i, quando in recepcoes]),
        (RecusaDeCallback, [({"integracao_id": i, "motivo": m}, quando) for i, m, quando in recusas]),
    ):
        for chave, dia, quantas in _juntar(coisas, timezone.localdate):
            _levar(modelo, chave, {"quantidade": quantas}, "dia", timezone.localdate(desde), dia)
    dos_minutos = [({"integracao_id": i, "motivo": ""}, quando) for i, quando in recepcoes]
    dos_minutos += [({"integracao_id": i, "motivo": m}, quando) for i, m, quando in recusas]
    for chave, minuto, quantas in _juntar(dos_minutos, lambda quando: _minuto_vivo(quando, desde)):
        _levar(RecepcaoPorMinuto, chave, {"quantidade": quantas}, "minuto", _minuto(desde), minuto)


def recuar_cobrancas(ids: Sequence[int]) -> None:
    """As cobranças de final passam a ter sido feitas quando o prazo de cada mensagem venceu. Repetível."""
    with transaction.atomic(), connection.cursor() as cursor:
        for sql in SQL_RECUAR_COBRANCAS:
            cursor.execute(sql, {"ids": list(ids)})


def recuar_contato(
    dispositivo_id: UUID, desde: datetime, quando: datetime, gravadas: Mapping[UUID, datetime]
) -> None:
    """Um contato feito a partir de `desde` passa a ter sido em `quando`: medidas, descartes, recusas e capturas."""
    valores: dict[str, Any] = {
        "dispositivo_id": dispositivo_id,
        "desde": truncar_na_hora(desde),
        "hora": truncar_na_hora(quando),
        "ids": list(gravadas),
        "instantes": list(gravadas.values()),
    }
    com_este = {"dispositivo_id": dispositivo_id}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(SQL_RECUAR_CAPTURAS, valores)
            cursor.execute(SQL_RECUAR_MEDIDAS, valores)
        RelatoDeDescarte.objects.filter(**com_este, recebido_em__gte=desde).update(recebido_em=quando)
        CapturaRecusada.objects.filter(**com_este, primeira_em__gte=desde).update(primeira_em=quando)
        CapturaRecusada.objects.filter(**com_este, ultima_em__gte=desde).update(ultima_em=quando)


def levar_ao_dia(
    modelo: type[Model],
    chave: Mapping[str, Any],
    quantias: Mapping[str, int],
    desde: datetime,
    quando: datetime,
) -> None:
    """Tira as quantias das linhas do dia de `desde` em diante e as soma na do dia de `quando`."""
    _levar(modelo, chave, quantias, "dia", timezone.localdate(desde), timezone.localdate(quando))


def levar_ao_minuto(
    modelo: type[Model],
    chave: Mapping[str, Any],
    quantias: Mapping[str, int],
    desde: datetime,
    quando: datetime,
) -> None:
    """O mesmo, por minuto; o que já teria vencido some."""
    _levar(modelo, chave, quantias, "minuto", _minuto(desde), _minuto_vivo(quando, desde))


def _levar(
    modelo: type[Model],
    chave: Mapping[str, Any],
    quantias: Mapping[str, int],
    eixo: str,
    desde: Any,
    para: Any,
) -> None:
    """Nunca tira mais do que há nem cria do nada: o que se soma é o que se tirou. `para` None: só tira."""
    linhas = modelo._default_manager.filter(**chave)
    somadas: dict[str, int] = dict.fromkeys(quantias, 0)
    contadores = [campo.name for campo in modelo._meta.fields if campo.name.startswith("quantidade")]
    with transaction.atomic():
        for linha in linhas.filter(**{f"{eixo}__gte": desde}).order_by(f"-{eixo}").select_for_update():
            if getattr(linha, eixo) == para:
                continue
            for coluna, quantos in quantias.items():
                tirados = min(quantos - somadas[coluna], getattr(linha, coluna))
                somadas[coluna] += tirados
                setattr(linha, coluna, getattr(linha, coluna) - tirados)
            if any(getattr(linha, contador) for contador in contadores):
                linha.save()
            else:
                linha.delete()
        if para is not None and any(somadas.values()):
            destino, _ = linhas.get_or_create(**chave, **{eixo: para})
            linhas.filter(pk=destino.pk).update(**{c: F(c) + quantos for c, quantos in somadas.items()})


def _juntar(
    coisas: Iterable[tuple[dict[str, Any], datetime]], balde: Callable[[datetime], Any]
) -> list[tuple[dict[str, Any], Any, int]]:
    """Quantas de cada (chave, balde do instante): uma ida ao banco por grupo, e não por coisa."""
    grupos = Counter((tuple(chave.items()), balde(quando)) for chave, quando in coisas)
    return [(dict(chave), onde, quantas) for (chave, onde), quantas in grupos.items()]


def _minuto(instante: datetime) -> datetime:
    return instante.replace(second=0, microsecond=0)


def _minuto_vivo(quando: datetime, desde: datetime) -> datetime | None:
    """O minuto de `quando`; None se as contagens dele já teriam vencido."""
    return _minuto(quando) if quando > desde - RETENCAO else None
