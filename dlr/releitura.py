"""Ler de novo recepções já aplicadas, com o leitor de hoje: o que mudou é corrigido no lugar.

O evento de mesma chave é regravado com o que se lê hoje na primeira recepção dele; o item que passou a ter
outra chave aponta para o evento dela; o evento que ficou sem recepção nenhuma deixa a mensagem.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import F

from dlr.amarracao import EventoSolto, atar
from dlr.dominio.correlacao import Resultado
from dlr.gravacao import (
    SQL_GRAVAR_EVENTOS,
    SQL_TRAVAR_MENSAGENS,
    consultar_por_ids,
    executar,
    ler_recepcoes,
)
from dlr.integracoes import Elenco
from dlr.leitura import DETALHE_CARACTERES, ItemLido, ler_recepcao, limpar
from dlr.models import AcaoDeExcecao, EventoLogico, Excecao, Ocorrencia, SituacaoDaExcecao, TipoDeExcecao
from dlr.models.evento import ESPERANDO
from dlr.nascimento import Gravados, antecipar, buscar_gravados, primeiros_itens
from dlr.pendencias import abrir, alvo_da_ocorrencia, alvo_do_evento, fechar
from dlr.processamento import (
    REUTILIZADO,
    montar_recepcao,
    pendencia_ilegivel,
    pendencia_nao_mapeado,
    pendencia_reutilizado,
)

LIDOS = (
    "id_externo estado_bruto estado final codigo_erro origem destino apresentada_bruto apresentada_em "
    "concluida_bruto concluida_em notas extras conteudo componentes versao_da_chave versao_do_leitor"
).split()
DESMENTIDA = "o leitor de hoje lê este recibo"
OUTRO_EVENTO = "o leitor de hoje lê outra coisa neste recibo"

Posicao = tuple[int, int]  # (recepção, índice)


def reler_recepcoes(ids: Sequence[int], agora: datetime) -> list[int]:
    """Relê as recepções, na transação aberta; devolve as mensagens atingidas, que falta materializar."""
    recepcoes = [montar_recepcao(linha) for linha in ler_recepcoes(ids)]
    elenco = Elenco(recepcao.integracao_id for recepcao in recepcoes)
    itens = [item for r in recepcoes for item in ler_recepcao(r, elenco.vista(r.integracao_id))]
    primeiros = primeiros_itens(itens)
    executar(SQL_GRAVAR_EVENTOS, [item.linha for item in primeiros.values() if item.linha is not None])
    gravados = buscar_gravados(primeiros)
    ausentes = _donos_ausentes(primeiros, gravados, ids)
    if ausentes:
        return reler_recepcoes(sorted({*ids, *ausentes}), agora)
    ocorrencias = _ocorrencias_de(ids)
    _travar(gravados, ocorrencias)
    antecipadas = antecipar(itens, gravados)
    atingidas = {id_ for id_ in antecipadas.values() if id_ is not None}
    gravados = buscar_gravados(primeiros)
    donos = {_posicao(i): i for i in itens if i.linha and _posicao(i) == _dono(i, gravados)}
    reutilizados = [i for i in itens if i.linha is not None and _e_reutilizado(i, gravados, donos)]
    atingidas |= _reapontar(itens, gravados, reutilizados, ocorrencias, agora)
    atingidas |= _regravar(list(donos.values()), gravados, agora)
    soltos = EventoLogico.objects.filter(
        pk__in=[gravado.id for gravado in gravados.values()], mensagem__isnull=True
    ).order_by("pk")
    reatar = [EventoSolto(*linha) for linha in soltos.values_list("pk", "integracao_id", "id_externo")]
    atingidas |= set(atar(reatar, elenco, agora).mensagens)
    _rever_pendencias(itens, gravados, reutilizados, agora)
    return sorted(atingidas)


def _posicao(item: ItemLido) -> Posicao:
    return item.recepcao.id, item.indice


def _dono(item: ItemLido, gravados: Gravados) -> Posicao:
    """Onde está a primeira recepção do evento do item: é ela que diz o que o evento conta."""
    assert item.linha is not None
    gravado = gravados[item.linha["integracao_id"], item.linha["chave"]]
    return gravado.recepcao_id, gravado.indice


def _donos_ausentes(
    primeiros: dict[tuple[int, str], ItemLido], gravados: Gravados, ids: Sequence[int]
) -> set[int]:
    """As recepções que é preciso reler junto: sem elas não se sabe se o conteúdo é outro ou só o leitor."""
    return {
        gravados[chave].recepcao_id
        for chave, item in primeiros.items()
        if item.linha is not None and gravados[chave].conteudo != item.linha["conteudo"]
    } - set(ids)


def _e_reutilizado(item: ItemLido, gravados: Gravados, donos: dict[Posicao, ItemLido]) -> bool:
    """O id de evento do item já contou outra coisa, lida também com o leitor de hoje."""
    assert item.linha is not None
    dono = donos.get(_dono(item, gravados))
    gravado = gravados[item.linha["integracao_id"], item.linha["chave"]]
    esperado = dono.linha["conteudo"] if dono and dono.linha else gravado.conteudo
    return bool(item.linha["conteudo"] != esperado)


def _ocorrencias_de(ids: Sequence[int]) -> dict[Posicao, Ocorrencia]:
    ocorrencias = Ocorrencia.objects.filter(recepcao__in=list(ids)).select_related("evento").order_by("pk")
    return {(o.recepcao_id, o.indice): o for o in ocorrencias}


def _travar(gravados: Gravados, ocorrencias: dict[Posicao, Ocorrencia]) -> None:
    """Trava as mensagens de hoje e as de ontem antes de tocar em eventos (a ordem de `dlr.gravacao`)."""
    de_hoje = {gravado.mensagem_id for gravado in gravados.values()}
    de_ontem = {o.evento.mensagem_id for o in ocorrencias.values() if o.evento is not None}
    consultar_por_ids(SQL_TRAVAR_MENSAGENS, [id_ for id_ in de_hoje | de_ontem if id_ is not None])


def _regravar(donos: Sequence[ItemLido], gravados: Gravados, agora: datetime) -> set[int]:
    """Regrava o que o leitor de hoje lê diferente; devolve as mensagens dos eventos mudados."""
    itens = {gravados[i.linha["integracao_id"], i.linha["chave"]].id: i for i in donos if i.linha}
    atingidas: set[int] = set()
    for evento in EventoLogico.objects.filter(pk__in=itens).order_by("pk"):
        linha = itens[evento.pk].linha
        assert linha is not None
        mudou = [campo for campo in LIDOS if getattr(evento, campo) != linha[campo]]
        if linha["parte"] not in (None, evento.parte):  # None não desfaz a parte que veio do registro
            mudou.append("parte")
        if not mudou:
            continue
        if evento.mensagem_id is not None:
            atingidas.add(evento.mensagem_id)
        if "id_externo" in mudou and not _ligado_a_mao(evento):
            evento.mensagem_id, evento.correlacao, evento.esperar_ate = None, ESPERANDO, agora
            mudou += ["mensagem", "correlacao", "esperar_ate"]
        for campo in set(mudou) & linha.keys() - {"correlacao", "esperar_ate"}:
            setattr(evento, campo, linha[campo])
        evento.save(update_fields=mudou)
    return atingidas


def _ligado_a_mao(evento: EventoLogico) -> bool:
    return AcaoDeExcecao.objects.filter(excecao__evento=evento, acao="ligar").exists()


def _reapontar(
    itens: Sequence[ItemLido],
    gravados: Gravados,
    reutilizados: Sequence[ItemLido],
    ocorrencias: dict[Posicao, Ocorrencia],
    agora: datetime,
) -> set[int]:
    """Cada ocorrência aponta para o evento que o leitor de hoje lê nela; devolve as mensagens que perderam algum."""
    atingidas: set[int] = set()
    de_outro = {_posicao(item) for item in reutilizados}
    for item in itens:
        ocorrencia = ocorrencias.get(_posicao(item)) or Ocorrencia(
            recepcao_id=item.recepcao.id, indice=item.indice
        )
        novo, motivo = None, limpar(item.ilegivel.detalhe) if item.ilegivel else REUTILIZADO
        if item.linha is not None and _posicao(item) not in de_outro:
            novo, motivo = gravados[item.linha["integracao_id"], item.linha["chave"]].id, ""
        antigo = ocorrencia.evento_id
        if ocorrencia.pk is not None and (antigo == novo or novo is None):
            continue  # o leitor de hoje não lê o que o de ontem leu: a evidência já aceita fica
        ocorrencia.evento_id = novo
        ocorrencia.repeticao = novo is not None and _dono(item, gravados) != _posicao(item)
        ocorrencia.ilegivel = motivo[:DETALHE_CARACTERES]
        ocorrencia.versao_do_leitor = item.versao_do_leitor
        ocorrencia.save()
        EventoLogico.objects.filter(pk=novo).update(qtd_recepcoes=F("qtd_recepcoes") + 1)
        EventoLogico.objects.filter(pk=novo, correlacao=Resultado.SEM_ID).update(
            correlacao=ESPERANDO, esperar_ate=agora
        )
        if antigo is not None:
            atingidas |= _soltar(antigo, agora)
    return atingidas


def _soltar(evento_id: int, agora: datetime) -> set[int]:
    """Tira uma recepção do evento; sem nenhuma, ele deixa a mensagem e as exceções. Devolve a mensagem dele."""
    evento = EventoLogico.objects.get(pk=evento_id)
    mensagens = {evento.mensagem_id} - {None}
    evento.qtd_recepcoes -= 1
    primeira = evento.ocorrencias.select_related("recepcao").order_by("recepcao_id", "indice").first()
    if primeira is not None:
        evento.recepcao_id, evento.indice = primeira.recepcao_id, primeira.indice
        evento.recebido_em = primeira.recepcao.recebida_em
    else:
        evento.mensagem_id, evento.correlacao = None, Resultado.SEM_ID.value
        evento.papel = evento.esperar_ate = None
        tipos = (
            TipoDeExcecao.SEM_CORRELACAO,
            TipoDeExcecao.CORRELACAO_AMBIGUA,
            TipoDeExcecao.ESTADO_NAO_MAPEADO,
        )
        fechar([(tipo, alvo_do_evento(evento_id), OUTRO_EVENTO) for tipo in tipos], agora)
    evento.save()
    return {id_ for id_ in mensagens if id_ is not None}


def _rever_pendencias(
    itens: Sequence[ItemLido], gravados: Gravados, reutilizados: Sequence[ItemLido], agora: datetime
) -> None:
    """Fecha o que o leitor de hoje desmente e abre o que só ele mostra."""
    ocorrencias = _ocorrencias_de(sorted({item.recepcao.id for item in itens}))
    de_outro = {_posicao(item) for item in reutilizados}
    por_fechar: list[tuple[TipoDeExcecao, str, str]] = []
    por_abrir = [
        pendencia_reutilizado(i, gravados[i.linha["integracao_id"], i.linha["chave"]], agora)
        for i in reutilizados
        if i.linha
    ]
    por_fechar += _reutilizados_desmentidos(ocorrencias, {linha["alvo"] for linha in por_abrir})
    for item in itens:
        if item.ilegivel is not None and ocorrencias[_posicao(item)].evento_id is None:
            por_abrir.append(pendencia_ilegivel(item, agora))
        if item.linha is None:
            continue
        alvo = alvo_da_ocorrencia(item.recepcao.id, item.indice)
        por_fechar.append((TipoDeExcecao.FORMATO_NAO_RECONHECIDO, alvo, DESMENTIDA))
        por_fechar.append((TipoDeExcecao.RECIBO_PARCIAL, alvo, DESMENTIDA))
        evento_id = gravados[item.linha["integracao_id"], item.linha["chave"]].id
        if _posicao(item) in de_outro or _posicao(item) != _dono(item, gravados):
            continue
        if item.linha["estado"] is None:
            por_abrir.append(pendencia_nao_mapeado(item, evento_id, agora))
        else:
            por_fechar.append((TipoDeExcecao.ESTADO_NAO_MAPEADO, alvo_do_evento(evento_id), DESMENTIDA))
    fechar(por_fechar, agora)
    abrir(por_abrir)


def _reutilizados_desmentidos(
    ocorrencias: dict[Posicao, Ocorrencia], continuam: set[str]
) -> list[tuple[TipoDeExcecao, str, str]]:
    abertas = Excecao.objects.filter(
        tipo=TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO,
        situacao=SituacaoDaExcecao.ABERTA,
        recepcao__in={recepcao_id for recepcao_id, _ in ocorrencias},
    ).exclude(alvo__in=continuam)
    return [(TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO, excecao.alvo, DESMENTIDA) for excecao in abertas]
