"""As regras dos avisos: puras, sobre valores e um `agora`. O banco fica em `observacao.py` e `rodada.py`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Literal
from uuid import UUID
from zoneinfo import ZoneInfo

# Uma condição que some e volta (a fila que oscila em torno do limiar) não vira um par de mensagens por minuto.
SOSSEGO = timedelta(minutes=5)
NOVIDADE_NO_MAXIMO_A_CADA = timedelta(minutes=15)
ITENS_MAXIMOS = 200  # guardados e comparados por condição; a contagem (`qtd_itens`) é a verdadeira

RECUO_INICIAL_S = 30.0
RECUO_MAXIMO_S = 3_600.0
TENTATIVAS_MAXIMAS = 12  # com os recuos, cerca de seis horas: uma noite de manutenção do outro lado

# Vivem de um ato ou de uma data, não de uma medida que oscila: acabam na hora.
ACABAM_NA_HORA = frozenset({"franquia", "regressao", "estacionados"})
SEM_LEMBRETE = frozenset({"franquia"})  # contrato da ingestão: uma vez por período

Movimento = Literal["abriu", "novidade", "repetiu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Um caso dentro de uma condição: a chave o identifica, o texto o mostra."""

    chave: str
    texto: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observacao:
    """Uma condição vista agora. `aplicativo_id` só quando ela é de um; `avisa_dono` se ele ainda não soube."""

    tipo: str
    alvo: str
    titulo: str
    critico: bool = False
    valor: float | None = None
    itens: Sequence[Item] = ()
    qtd_itens: int = 0
    aplicativo_id: UUID | None = None
    avisa_dono: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Aberto:
    """O que as regras precisam saber de um aviso aberto."""

    tipo: str
    alvo: str
    visto_em: datetime
    chaves: frozenset[str]


@dataclass(slots=True)
class Mudancas:
    """O que a rodada grava: condições novas, as que continuam (e quais com novidade), as que acabaram."""

    abrir: list[Observacao] = field(default_factory=list)
    continuar: list[Observacao] = field(default_factory=list)
    com_novidade: set[tuple[str, str]] = field(default_factory=set)
    resolver: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Atencao:
    """O estado de um aviso diante de quem o ouve."""

    tipo: str
    novidade_em: datetime
    silenciado_ate: datetime | None = None
    reconhecido_em: datetime | None = None


def comparar(abertos: Iterable[Aberto], observacoes: Iterable[Observacao], agora: datetime) -> Mudancas:
    """O que mudou entre o que estava aberto e o que se vê agora."""
    por_alvo = {(aberto.tipo, aberto.alvo): aberto for aberto in abertos}
    mudancas = Mudancas()
    for observacao in observacoes:
        chave = (observacao.tipo, observacao.alvo)
        aberto = por_alvo.pop(chave, None)
        if aberto is None:
            mudancas.abrir.append(observacao)
            continue
        mudancas.continuar.append(observacao)
        if any(item.chave not in aberto.chaves for item in observacao.itens):
            mudancas.com_novidade.add(chave)
    for chave, aberto in por_alvo.items():
        if aberto.tipo in ACABAM_NA_HORA or agora - aberto.visto_em >= SOSSEGO:
            mudancas.resolver.append(chave)
    return mudancas


def decidir_movimento(
    atencao: Atencao, *, ultima_em: datetime | None, repetir_apos_h: int | None, agora: datetime
) -> Movimento | None:
    """O que mandar a quem ouviu por último em `ultima_em` (None = nunca); None para calar.

    `repetir_apos_h` None é quem não recebe lembretes. Reconhecer cala os lembretes; silenciar cala tudo, e a
    novidade que houver no meio sai ao fim.
    """
    if atencao.silenciado_ate is not None and atencao.silenciado_ate > agora:
        return None
    if ultima_em is None:
        return "abriu"
    if atencao.novidade_em > ultima_em:
        return "novidade" if agora - ultima_em >= NOVIDADE_NO_MAXIMO_A_CADA else None
    if atencao.tipo in SEM_LEMBRETE or repetir_apos_h is None or atencao.reconhecido_em is not None:
        return None
    return "repetiu" if agora - ultima_em >= timedelta(hours=repetir_apos_h) else None


def sair_em(agora: datetime, de: time | None, ate: time | None, fuso: str) -> datetime:
    """`agora`, ou o fim do silêncio se é hora dele. `de` > `ate` atravessa a meia-noite; iguais é o dia todo não."""
    if de is None or ate is None or de == ate:
        return agora
    local = agora.astimezone(ZoneInfo(fuso))
    hora = local.time()
    if not (de <= hora < ate if de < ate else hora >= de or hora < ate):
        return agora
    dia = local.date() + timedelta(days=int(hora >= ate))
    return max(agora, datetime.combine(dia, ate, tzinfo=local.tzinfo))


def limiar_de_excecoes(
    limiares: Mapping[tuple[int | None, str], int], integracao_id: int, excecao: str, padrao: int
) -> int:
    """O limiar que vale: o da integração e do tipo, depois o da integração, o do tipo, o geral, o padrão."""
    especificos = ((integracao_id, excecao), (integracao_id, ""), (None, excecao), (None, ""))
    return next((limiares[chave] for chave in especificos if chave in limiares), padrao)


def recuo_s(tentativas: int) -> float:
    """Espera depois da n-ésima falha, em segundos: exponencial com teto."""
    return min(RECUO_INICIAL_S * 2.0 ** (tentativas - 1), RECUO_MAXIMO_S)
