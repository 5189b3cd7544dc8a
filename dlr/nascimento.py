"""Do item lido ao evento lógico gravado: o novo nasce atado à mensagem dele e com o papel que tem na projeção.

Gravá-lo solto e só então atá-lo e dar-lhe o papel custava duas regravações da linha (docs/decisoes/0019). Para
saber tudo antes, o id é reservado e as mensagens são travadas antes do INSERT. Outro worker pode gravar o mesmo
evento nesse meio: o que o INSERT não gravou é buscado, e as mensagens são recalculadas com o que ficou no banco.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dlr.amarracao import EventoSolto, Ligacao, Par, pendencia_ambigua, procurar
from dlr.dominio.correlacao import Resultado
from dlr.dominio.estados import Estado
from dlr.dominio.projecao import EventoDaMensagem
from dlr.gravacao import (
    SQL_ANTECIPAR_EVENTOS,
    SQL_BUSCAR_EVENTOS,
    SQL_GRAVAR_EVENTOS,
    executar,
    reservar_ids,
)
from dlr.integracoes import Elenco
from dlr.leitura import ItemLido
from dlr.materializacao import (
    EventoNaOrdem,
    EventosPorMensagem,
    Recalculo,
    Travada,
    recalcular,
    travar,
)
from dlr.pendencias import abrir

ChaveDoEvento = tuple[int, str]
Primeiros = dict[ChaveDoEvento, ItemLido]
Linha = dict[str, Any]


class EventoGravado(NamedTuple):
    """Um evento lógico como está no banco, depois de gravados os desta transação."""

    id: int
    conteudo: str
    mensagem_id: int | None
    recepcao_id: int
    indice: int


Gravados = dict[ChaveDoEvento, EventoGravado]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nascimento:
    """Os eventos dos itens, como estão no banco, e as projeções que falta gravar.

    `novos`: ids dos que nasceram agora; `antecipados`: dos que já existiam e cuja primeira recepção está nestes
    itens; `soltos`: dos novos, os que ficaram sem mensagem.
    """

    gravados: Gravados
    novos: set[int]
    antecipados: set[int]
    soltos: list[int]
    recalculo: Recalculo


def nascer(itens: Sequence[ItemLido], elenco: Elenco, agora: datetime) -> Nascimento:
    """Grava os eventos que ainda não existem, na transação aberta, e recalcula as mensagens deles."""
    primeiros = primeiros_itens(itens)
    ligacoes = procurar({_par(item) for item in primeiros.values()}, elenco)
    achadas = {ligacao.mensagem_id for ligacao in ligacoes.values() if ligacao.mensagem_id is not None}
    travadas = travar(achadas)
    gravados = buscar_gravados(primeiros)
    linhas = _montar_linhas(itens, primeiros, gravados, ligacoes)
    antecipados, mexidas = _acolher(itens, gravados, travadas)
    mexidas |= {linha["mensagem_id"] for linha in linhas.values()}
    recalculo = recalcular([t for t in travadas if t.id in mexidas], _por_nascer(linhas.values()))
    papeis = recalculo.papeis
    novos = {
        id_
        for (id_,) in executar(
            SQL_GRAVAR_EVENTOS, [{**linha, "papel": papeis.get(linha["id"])} for linha in linhas.values()]
        )
    }
    perdidas = [chave for chave, linha in linhas.items() if linha["id"] not in novos]
    nascidas = {chave: linha for chave, linha in linhas.items() if linha["id"] in novos}
    gravados |= {chave: _gravado(linha) for chave, linha in nascidas.items()}
    if perdidas:
        de_outro = buscar_gravados(perdidas)
        mais_antecipados, mais_mexidas = _acolher(itens, de_outro, travadas)
        antecipados |= mais_antecipados
        mexidas |= mais_mexidas
        gravados |= de_outro
        recalculo = recalcular([t for t in travadas if t.id in mexidas])
    _abrir_ambiguos(nascidas, primeiros, ligacoes, agora)
    soltos = [linha["id"] for linha in nascidas.values() if linha["mensagem_id"] is None]
    return Nascimento(
        gravados=gravados, novos=novos, antecipados=antecipados, soltos=soltos, recalculo=recalculo
    )


def primeiros_itens(itens: Sequence[ItemLido]) -> Primeiros:
    """O primeiro item de cada evento lógico, em ordem de recepção."""
    primeiros: Primeiros = {}
    for item in itens:
        if item.linha is not None:
            primeiros.setdefault(_chave(item.linha), item)
    return primeiros


def buscar_gravados(chaves: Iterable[ChaveDoEvento]) -> Gravados:
    """Os eventos lógicos destas chaves que estão no banco."""
    linhas = [{"integracao_id": integracao_id, "chave": chave} for integracao_id, chave in chaves]
    return {
        (integracao_id, chave): EventoGravado(id_, *resto)
        for id_, integracao_id, chave, *resto in executar(SQL_BUSCAR_EVENTOS, linhas)
    }


def antecipar(itens: Sequence[ItemLido], gravados: Gravados) -> dict[int, int | None]:
    """Corrige a primeira recepção dos eventos que outro worker gravou antes; devolve evento → mensagem dos corrigidos.

    Vale o primeiro item que conta o mesmo que o evento: antes dele pode haver outro, de id reutilizado.
    """
    linhas: dict[int, Linha] = {}
    for item in itens:
        if item.linha is None or _chave(item.linha) not in gravados:
            continue
        gravado, posicao = gravados[_chave(item.linha)], (item.recepcao.id, item.indice)
        if evento_do(item, gravados) is not None and posicao < (gravado.recepcao_id, gravado.indice):
            linhas.setdefault(
                gravado.id,
                {
                    "id": gravado.id,
                    "recepcao_id": item.recepcao.id,
                    "indice": item.indice,
                    "recebido_em": item.recepcao.recebida_em,
                },
            )
    return dict(executar(SQL_ANTECIPAR_EVENTOS, list(linhas.values())))


def evento_do(item: ItemLido, gravados: Gravados) -> int | None:
    """O evento lógico do item; None se ilegível, ou se o id de evento já é de outro conteúdo."""
    if item.linha is None:
        return None
    gravado = gravados[_chave(item.linha)]
    return gravado.id if gravado.conteudo == item.linha["conteudo"] else None


def _acolher(
    itens: Sequence[ItemLido], gravados: Gravados, travadas: list[Travada]
) -> tuple[set[int], set[int]]:
    """Trava as mensagens dos que já existiam e acerta a ordem; devolve os eventos antecipados e as mensagens deles.

    As mensagens que faltavam entram em `travadas`. São raras (um recibo atado à mão a outra mensagem, ou atado por
    outro enquanto o líamos): quase sempre o id externo do item já levou a elas.
    """
    _travar_mais(travadas, {gravado.mensagem_id for gravado in gravados.values()})
    antecipados = antecipar(itens, gravados)
    mexidas = {mensagem_id for mensagem_id in antecipados.values() if mensagem_id is not None}
    _travar_mais(travadas, mexidas)
    return set(antecipados), mexidas


def _travar_mais(travadas: list[Travada], ids: Iterable[int | None]) -> None:
    ja_travadas = {travada.id for travada in travadas}
    travadas += travar([id_ for id_ in ids if id_ is not None and id_ not in ja_travadas])


def _montar_linhas(
    itens: Sequence[ItemLido], primeiros: Primeiros, gravados: Gravados, ligacoes: Mapping[Par, Ligacao]
) -> dict[ChaveDoEvento, Linha]:
    """As linhas dos eventos que não estão no banco, com id reservado e já atadas ao que se achou."""
    faltam = {chave: item for chave, item in primeiros.items() if chave not in gravados}
    contas = _contar_recepcoes(itens, primeiros)
    linhas: dict[ChaveDoEvento, Linha] = {}
    for id_, (chave, item) in zip(reservar_ids(len(faltam)), faltam.items(), strict=True):
        assert item.linha is not None
        linha = {**item.linha, "id": id_, "qtd_recepcoes": contas[chave], "mensagem_id": None}
        ligacao = ligacoes.get(_par(item))
        if ligacao is not None:
            linha["mensagem_id"] = ligacao.mensagem_id
            linha["correlacao"] = ligacao.resultado.value
            linha["esperar_ate"] = None
            if linha["parte"] is None:
                linha["parte"] = ligacao.parte
        linhas[chave] = linha
    return linhas


def _contar_recepcoes(itens: Sequence[ItemLido], primeiros: Primeiros) -> Counter[ChaveDoEvento]:
    """Quantos itens desta transação contam o mesmo que o primeiro de cada evento lógico."""
    contas: Counter[ChaveDoEvento] = Counter()
    for item in itens:
        if item.linha is not None:
            chave = _chave(item.linha)
            primeiro = primeiros[chave].linha
            contas[chave] += primeiro is not None and primeiro["conteudo"] == item.linha["conteudo"]
    return contas


def _por_nascer(linhas: Iterable[Linha]) -> EventosPorMensagem:
    por_mensagem: EventosPorMensagem = defaultdict(list)
    for linha in linhas:
        if linha["mensagem_id"] is not None:
            estado = None if linha["estado"] is None else Estado(linha["estado"])
            evento = EventoDaMensagem(
                id=linha["id"], estado=estado, final=linha["final"], parte=linha["parte"]
            )
            por_mensagem[linha["mensagem_id"]].append(
                EventoNaOrdem(linha["recepcao_id"], linha["indice"], evento, None)
            )
    return por_mensagem


def _abrir_ambiguos(
    nascidas: Mapping[ChaveDoEvento, Linha],
    primeiros: Primeiros,
    ligacoes: Mapping[Par, Ligacao],
    agora: datetime,
) -> None:
    abrir(
        pendencia_ambigua(EventoSolto(linha["id"], *par), ligacoes[par], agora)
        for chave, linha in nascidas.items()
        if (par := _par(primeiros[chave])) in ligacoes and ligacoes[par].resultado == Resultado.VARIAS
    )


def _gravado(linha: Linha) -> EventoGravado:
    return EventoGravado(
        linha["id"], linha["conteudo"], linha["mensagem_id"], linha["recepcao_id"], linha["indice"]
    )


def _chave(linha: Linha) -> ChaveDoEvento:
    return linha["integracao_id"], linha["chave"]


def _par(item: ItemLido) -> Par:
    assert item.linha is not None
    return item.linha["integracao_id"], item.linha["id_externo"]
