"""A que mensagem um recibo pertence. Pelo id externo e por mais nada; na dúvida, a nenhuma.

Atribuir errado é pior que esperar: viraria a entrega de outra mensagem. Destino, texto, hora e remetente
nunca decidem; servem só para uma pessoa olhar.
"""

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

NUNCA_CASAM = frozenset(
    {"", "null", "none", "undefined", "nil", "nan"}
)  # o que sistemas escrevem por "não há"
# Até 200 algarismos: nenhum SMSC passa de 65 (SMPP 3.4, message_id), e o custo da conversão fica limitado.
_DECIMAL = re.compile(r"[0-9]{1,200}\Z")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{1,200}\Z")


class Resultado(StrEnum):
    """O que se concluiu sobre um recibo."""

    UNICA = "unica"
    NENHUMA = "nenhuma"
    VARIAS = "varias"
    SEM_ID = "sem_id"


class Semelhanca(StrEnum):
    """No que um quase acerto difere: o que a pessoa vê como dica."""

    CAIXA = "caixa"
    ZEROS = "zeros"
    BASE = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpcoesDeId:
    """O que a integração autoriza a igualar; tudo desligado por padrão."""

    ignorar_caixa: bool = False
    ignorar_zeros: bool = False
    hex_decimal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidata:
    """Uma mensagem com um id externo parecido com o do recibo."""

    mensagem: Hashable
    id_externo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dica:
    """Um quase acerto: a mensagem, o id dela e no que difere. Nunca é aplicado sozinho."""

    mensagem: Hashable
    id_externo: str
    diferencas: tuple[Semelhanca, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlacao:
    """A conclusão: `mensagem` só existe em `UNICA`; `candidatas` são as que empataram em `VARIAS`."""

    resultado: Resultado
    mensagem: Hashable | None = None
    candidatas: tuple[Hashable, ...] = ()
    dicas: tuple[Dica, ...] = ()


def casavel(id_externo: str | None) -> bool:
    """Diz se o id pode casar com alguma coisa."""
    return id_externo is not None and id_externo.strip().lower() not in NUNCA_CASAM


def formas(id_externo: str) -> frozenset[str]:
    """Todas as formas sob as quais o id pode ser procurado, com qualquer opção ligada.

    Guardadas com a mensagem e comparadas com as do recibo: a interseção traz o certo e os quase acertos,
    e `correlacionar` decide qual é qual.
    """
    if not casavel(id_externo):
        return frozenset()
    minusculo = id_externo.lower()
    todas = {f"t:{minusculo}"}
    if _HEXADECIMAL.match(id_externo):
        todas.add(f"z:{minusculo.lstrip('0') or '0'}")
        todas.add(f"n:{_inteiro(id_externo, 16)}")
    if _DECIMAL.match(id_externo):
        todas.add(f"n:{_inteiro(id_externo, 10)}")
    return frozenset(todas)


def correlacionar(id_externo: str | None, candidatas: Iterable[Candidata], opcoes: OpcoesDeId) -> Correlacao:
    """Decide entre as candidatas. O id idêntico vale sempre e antes das formas autorizadas.

    Duas mensagens diferentes empatadas: `VARIAS`, e nenhuma muda.
    """
    if id_externo is None or not casavel(id_externo):
        return Correlacao(resultado=Resultado.SEM_ID)
    exatas: dict[Hashable, None] = {}
    autorizadas: dict[Hashable, None] = {}
    dicas: list[Dica] = []
    for candidata in candidatas:
        diferencas = comparar(id_externo, candidata.id_externo)
        if diferencas is None:
            continue
        if not diferencas:
            exatas[candidata.mensagem] = None
        elif all(_autoriza(opcoes, diferenca) for diferenca in diferencas):
            autorizadas[candidata.mensagem] = None
        else:
            dicas.append(
                Dica(mensagem=candidata.mensagem, id_externo=candidata.id_externo, diferencas=diferencas)
            )
    achadas = tuple(exatas or autorizadas)
    if not achadas:
        return Correlacao(resultado=Resultado.NENHUMA, dicas=tuple(dicas))
    if len(achadas) > 1:
        return Correlacao(resultado=Resultado.VARIAS, candidatas=achadas, dicas=tuple(dicas))
    return Correlacao(resultado=Resultado.UNICA, mensagem=achadas[0], dicas=tuple(dicas))


def comparar(um: str, outro: str) -> tuple[Semelhanca, ...] | None:
    """No que dois ids diferem: () se idênticos, as diferenças que os separam, ou None se nada os une.

    Zeros e base só se comparam entre números inteiros (decimais ou hexadecimais): um UUID que começa por
    zero não é um número.
    """
    if not casavel(um) or not casavel(outro):
        return None
    if um == outro:
        return ()
    if um.lower() == outro.lower():
        return (Semelhanca.CAIXA,)
    if not (_HEXADECIMAL.match(um) and _HEXADECIMAL.match(outro)):
        return None
    sem_zeros = um.lstrip("0") or "0", outro.lstrip("0") or "0"
    if sem_zeros[0] == sem_zeros[1]:
        return (Semelhanca.ZEROS,)
    if sem_zeros[0].lower() == sem_zeros[1].lower():
        return (Semelhanca.CAIXA, Semelhanca.ZEROS)
    return _comparar_bases(um, outro)


def _comparar_bases(um: str, outro: str) -> tuple[Semelhanca, ...] | None:
    """Um é o decimal do hexadecimal do outro, em precisão arbitrária."""
    for decimal, hexadecimal in ((um, outro), (outro, um)):
        if _DECIMAL.match(decimal) and _inteiro(decimal, 10) == _inteiro(hexadecimal, 16):
            tem_zeros = any(texto != "0" and texto.startswith("0") for texto in (decimal, hexadecimal))
            return (Semelhanca.BASE, Semelhanca.ZEROS) if tem_zeros else (Semelhanca.BASE,)
    return None


def _inteiro(texto: str, base: int) -> int:
    """O valor, em precisão arbitrária."""
    return int(texto, base)


def _autoriza(opcoes: OpcoesDeId, diferenca: Semelhanca) -> bool:
    return {
        Semelhanca.CAIXA: opcoes.ignorar_caixa,
        Semelhanca.ZEROS: opcoes.ignorar_zeros,
        Semelhanca.BASE: opcoes.hex_decimal,
    }[diferenca]
