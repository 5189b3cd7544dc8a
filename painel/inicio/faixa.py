"""Algo perdido, atrasado ou recusado? A resposta de relance. Regra pura: recebe os números e a hora."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

from painel.admin.ficha import mostrar_quantidade
from painel.inicio.capturas import Capturas
from painel.inicio.chegadas import Chegadas
from painel.inicio.filas import ATRASO_S, Filas

MUITO_ATRASO_S = 300  # o mesmo teto de /prontidao
RECUSA_GRAVE = 0.10  # um décimo do que tentou entrar na hora


class Nivel(IntEnum):
    """Do melhor ao pior; cada um tem ícone e palavra próprios, não só cor."""

    BEM = 0
    ATENCAO = 1
    GRAVE = 2

    @property
    def cor(self) -> str:
        return ("success", "warning", "danger")[self]

    @property
    def icone(self) -> str:
        return ("check_circle", "warning", "error")[self]

    @property
    def palavra(self) -> str:
        return ("Em dia", "Atenção", "Grave")[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Achado:
    """Uma coisa fora do lugar, numa frase, e o endereço na própria página onde ela está."""

    nivel: Nivel
    frase: str
    ancora: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """A resposta a uma das três perguntas; sem achados, `calma` é a frase."""

    pergunta: str
    calma: str
    achados: list[Achado]

    @property
    def nivel(self) -> Nivel:
        return max((achado.nivel for achado in self.achados), default=Nivel.BEM)


def responder(
    *, chegadas: Chegadas | None, filas: Filas | None, capturas: Capturas | None, agora: datetime
) -> list[Resposta]:
    """As perguntas que estes números respondem; o que a pessoa não vê é None e não responde nada."""
    respostas = []
    if capturas is not None:
        respostas.append(Resposta(pergunta="Perdido", calma="nada em 24 h", achados=_perdido(capturas)))
    if filas is not None or capturas is not None:
        respostas.append(
            Resposta(pergunta="Atrasado", calma="nada espera", achados=_atrasado(filas, capturas, agora))
        )
    if chegadas is not None and chegadas.fluxos:
        respostas.append(
            Resposta(pergunta="Recusado", calma="nada na última hora", achados=_recusado(chegadas))
        )
    return respostas


def resumir_respostas(respostas: Sequence[Resposta]) -> tuple[Nivel, str]:
    """O pior nível e a frase do alto."""
    pior = max((resposta.nivel for resposta in respostas), default=Nivel.BEM)
    fora = [resposta.pergunta.lower() for resposta in respostas if resposta.nivel]
    if not fora:
        nada = [f"nada {resposta.pergunta.lower()}" for resposta in respostas]
        return pior, f"{enumerar(nada).capitalize()}." if nada else "Nada a acompanhar com o seu acesso."
    return pior, f"Há algo {enumerar(fora)}."


def enumerar(itens: Sequence[str]) -> str:
    """`a`, `a e b`, `a, b e c`."""
    *antes, ultimo = itens
    return f"{', '.join(antes)} e {ultimo}" if antes else ultimo


def _perdido(capturas: Capturas) -> list[Achado]:
    """O que um aparelho desistiu de mandar: é o único lugar onde algo se perde, e ele o conta."""
    if not capturas.descartes:
        return []
    quantas = _n(capturas.descartes, "captura descartada", "capturas descartadas")
    return [Achado(nivel=Nivel.GRAVE, frase=f"{quantas} pelos aparelhos em 24 h", ancora="capturas")]


def _atrasado(filas: Filas | None, capturas: Capturas | None, agora: datetime) -> list[Achado]:
    achados = []
    if filas is not None:
        if filas.workers == 0:
            achados.append(
                Achado(nivel=Nivel.GRAVE, frase="nenhum worker vivo: nada se aplica", ancora="filas")
            )
        elif filas.workers is None:
            frase = "o Valkey não responde: não se sabe dos workers"
            achados.append(Achado(nivel=Nivel.ATENCAO, frase=frase, ancora="filas"))
        for fila in filas.filas:
            if (idade := fila.idade_s(agora)) > ATRASO_S:
                nivel = Nivel.GRAVE if idade > MUITO_ATRASO_S else Nivel.ATENCAO
                frase = f"{fila.nome.lower()}: o mais antigo espera há {_duracao(idade)}"
                achados.append(Achado(nivel=nivel, frase=frase, ancora="filas"))
        if estacionados := sum(fila.estacionados for fila in filas.filas):
            frase = _n(estacionados, "item estacionado espera", "itens estacionados esperam") + " alguém"
            achados.append(Achado(nivel=Nivel.ATENCAO, frase=frase, ancora="filas"))
    if capturas is not None and capturas.qtd_silenciosos:
        frase = _n(capturas.qtd_silenciosos, "aparelho silencioso", "aparelhos silenciosos")
        achados.append(Achado(nivel=Nivel.ATENCAO, frase=frase, ancora="capturas"))
    return achados


def _recusado(chegadas: Chegadas) -> list[Achado]:
    recusas, entradas = chegadas.na_hora(recusado=True), chegadas.na_hora(recusado=False)
    if not recusas:
        return []
    nivel = Nivel.GRAVE if recusas >= RECUSA_GRAVE * (recusas + entradas) else Nivel.ATENCAO
    quantas = _n(recusas, "recusa", "recusas")
    frase = f"{quantas} na última hora, a maior parte por {chegadas.maior_recusa()}"
    return [Achado(nivel=nivel, frase=frase, ancora="hora")]


def _n(quantos: int, um: str, muitos: str) -> str:
    return f"{mostrar_quantidade(quantos)} {um if quantos == 1 else muitos}"


def _duracao(segundos: float) -> str:
    if segundos < 120:
        return f"{int(segundos)} s"
    if segundos < 7_200:
        return f"{int(segundos // 60)} min"
    return f"{int(segundos // 3_600)} h"
