"""O estado de uma mensagem: uma função dos eventos lógicos dela, das decisões de pessoas e das regras.

É recalculada inteira a cada evento; por isso aplicar um a um e reprocessar tudo dão o mesmo, por
construção. A ordem de recepção só decide um empate: entre dois finais incompatíveis, o primeiro recebido
fica, e a contradição vira exceção. Datas comunicadas não ordenam nada.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dlr.dominio.estados import AVANCO, FINAIS_PADRAO, Estado


class Motivo(StrEnum):
    """Por que o estado é o que é."""

    SEM_RECIBO = "sem_recibo"
    INTERMEDIARIO = "intermediario"
    FINAL = "final"
    CONFLITO = "conflito_mantem_o_primeiro"
    DECISAO = "decisao_de_pessoa"
    PARTES_INCOMPLETAS = "partes_incompletas"
    PARTES_DIVERGENTES = "partes_divergentes"


class Papel(StrEnum):
    """O que um evento fez pela projeção."""

    SUSTENTA = "sustenta"
    CONFIRMA = "confirma"
    SUPERADO = "superado"
    TARDIO = "tardio"
    CONTRADIZ = "contradiz"
    NAO_MAPEADO = "nao_mapeado"


@dataclass(frozen=True, slots=True, kw_only=True)
class Regras:
    """A versão das regras da integração e os estados que, por ela, encerram a história."""

    versao: int
    finais: frozenset[Estado] = FINAIS_PADRAO


@dataclass(frozen=True, slots=True, kw_only=True)
class EventoDaMensagem:
    """Um evento lógico já correlacionado. `estado` None: estado não mapeado. `final`: dito pela transportadora."""

    id: Hashable
    estado: Estado | None
    final: bool | None = None
    parte: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisao:
    """Uma pessoa escolheu qual final vale para uma parte (None: a mensagem inteira)."""

    estado: Estado
    parte: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Projecao:
    """O estado calculado e de onde ele vem.

    `papeis` diz o que cada evento fez, na ordem dada. `conflito`: há finais incompatíveis sem decisão.
    `divergente`: as partes terminaram diferente.
    """

    estado: Estado | None
    final: bool
    motivo: Motivo
    papeis: tuple[tuple[Hashable, Papel], ...] = ()
    conflito: bool = False
    divergente: bool = False
    versao_das_regras: int = 1

    @property
    def sustentam(self) -> tuple[Hashable, ...]:
        """Os eventos que sustentam o estado."""
        return tuple(id_ for id_, papel in self.papeis if papel in (Papel.SUSTENTA, Papel.CONFIRMA))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ParteProjetada:
    estado: Estado | None
    final: bool
    motivo: Motivo
    conflito: bool
    papeis: dict[Hashable, Papel]


def projetar(
    eventos: Sequence[EventoDaMensagem],
    regras: Regras,
    *,
    partes: Sequence[int | None] = (None,),
    decisoes: Sequence[Decisao] = (),
) -> Projecao:
    """Calcula o estado da mensagem. `eventos` em ordem de recepção; `partes` são as registradas.

    Um evento sem parte, numa mensagem de várias, fala da mensagem inteira e vale para todas as partes.
    """
    todas = _partes_de(eventos, partes)
    decididas = {decisao.parte: decisao.estado for decisao in decisoes}
    projetadas = [
        _projetar_parte(
            [e for e in eventos if e.parte is None or e.parte == parte or parte is None],
            regras,
            decididas.get(parte, decididas.get(None)),
        )
        for parte in todas
    ]
    estado, final, motivo = _juntar(projetadas, decididas.get(None))
    papeis = tuple((evento.id, _papel_do(evento.id, projetadas)) for evento in eventos)
    return Projecao(
        estado=estado,
        final=final,
        motivo=motivo,
        papeis=papeis,
        conflito=any(parte.conflito for parte in projetadas),
        divergente=motivo == Motivo.PARTES_DIVERGENTES,
        versao_das_regras=regras.versao,
    )


def e_final(evento: EventoDaMensagem, regras: Regras) -> bool:
    """A palavra da transportadora sobre o recibo, quando há; senão a regra da integração."""
    if evento.estado is None:
        return False
    return evento.final if evento.final is not None else evento.estado in regras.finais


def _partes_de(eventos: Sequence[EventoDaMensagem], registradas: Sequence[int | None]) -> list[int | None]:
    numeradas: set[int] = {p for p in registradas if p is not None} | {
        e.parte for e in eventos if e.parte is not None
    }
    todas: list[int | None] = [*sorted(numeradas)]
    return todas or [None]


def _projetar_parte(
    eventos: Sequence[EventoDaMensagem], regras: Regras, decidido: Estado | None
) -> _ParteProjetada:
    papeis: dict[Hashable, Papel] = {e.id: Papel.NAO_MAPEADO for e in eventos if e.estado is None}
    mapeados = [(e.id, e.estado, e_final(e, regras)) for e in eventos if e.estado is not None]
    finais = [(id_, estado) for id_, estado, final in mapeados if final]
    if not finais:
        return _sem_final(mapeados, papeis)
    escolhido = decidido if decidido in {estado for _, estado in finais} else finais[0][1]
    encerrada = False
    for id_, estado, final in mapeados:
        if not final:
            papeis[id_] = Papel.TARDIO if encerrada else Papel.SUPERADO
        elif estado == escolhido:
            papeis[id_] = Papel.CONFIRMA if Papel.SUSTENTA in papeis.values() else Papel.SUSTENTA
            encerrada = True
        else:
            papeis[id_] = Papel.CONTRADIZ
            encerrada = True
    motivo = Motivo.FINAL
    if Papel.CONTRADIZ in papeis.values():
        motivo = Motivo.DECISAO if decidido == escolhido else Motivo.CONFLITO
    return _ParteProjetada(
        estado=escolhido, final=True, motivo=motivo, conflito=motivo == Motivo.CONFLITO, papeis=papeis
    )


def _sem_final(
    mapeados: Sequence[tuple[Hashable, Estado, bool]], papeis: dict[Hashable, Papel]
) -> _ParteProjetada:
    """Só intermediários: vale o que diz mais sobre o avanço, não o último a chegar."""
    if not mapeados:
        return _ParteProjetada(
            estado=None, final=False, motivo=Motivo.SEM_RECIBO, conflito=False, papeis=papeis
        )
    # Um estado que a regra fez intermediário (ou a transportadora disse não ser final) avança mais que ACCEPTED.
    escolhido = max(
        (estado for _, estado, _ in mapeados),
        key=lambda estado: (AVANCO.get(estado, len(AVANCO)), estado.value),
    )
    for id_, estado, _ in mapeados:
        if estado != escolhido:
            papeis[id_] = Papel.SUPERADO
        else:
            papeis[id_] = Papel.CONFIRMA if Papel.SUSTENTA in papeis.values() else Papel.SUSTENTA
    return _ParteProjetada(
        estado=escolhido, final=False, motivo=Motivo.INTERMEDIARIO, conflito=False, papeis=papeis
    )


def _juntar(partes: Sequence[_ParteProjetada], decidido: Estado | None) -> tuple[Estado | None, bool, Motivo]:
    """O estado do todo: o comum a todas as partes; enquanto falta alguma, o menos avançado.

    `decidido` é o que uma pessoa escolheu para a mensagem inteira: desempata partes que terminaram diferente.
    """
    if len(partes) == 1:
        return partes[0].estado, partes[0].final, partes[0].motivo
    estados = {parte.estado for parte in partes}
    if all(parte.final for parte in partes):
        if len(estados) == 1:
            motivo = next((p.motivo for p in partes if p.motivo != Motivo.FINAL), Motivo.FINAL)
            return partes[0].estado, True, motivo
        if decidido in estados:
            return decidido, True, Motivo.DECISAO
        # Metade entregue não é entregue: o todo não chegou inteiro, e uma pessoa decide.
        return Estado.UNKNOWN, False, Motivo.PARTES_DIVERGENTES
    pendentes = [parte.estado for parte in partes if not parte.final and parte.estado is not None]
    if not pendentes and not any(parte.final for parte in partes):
        return None, False, Motivo.SEM_RECIBO
    menos = min(pendentes, key=lambda e: (AVANCO.get(e, len(AVANCO)), e.value), default=Estado.ENROUTE)
    return menos, False, Motivo.PARTES_INCOMPLETAS


def _papel_do(id_: Hashable, partes: Sequence[_ParteProjetada]) -> Papel:
    """O papel de um evento; se ele fala de várias partes, o que mais pede atenção."""
    papeis = {parte.papeis[id_] for parte in partes if id_ in parte.papeis}
    return next(papel for papel in _ATENCAO if papel in papeis)


_ATENCAO = (
    Papel.CONTRADIZ,
    Papel.NAO_MAPEADO,
    Papel.SUSTENTA,
    Papel.CONFIRMA,
    Papel.TARDIO,
    Papel.SUPERADO,
)
