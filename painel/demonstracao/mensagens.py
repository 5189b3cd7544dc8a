"""As mensagens da demonstração e o que se disse de cada uma, na ordem em que se disse. Puro."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from painel.demonstracao.semente import Semente, Tamanho, sortear_instantes
from painel.demonstracao.transportadoras import Recibo, Transportadora

ESQUECIDA_HA = (timedelta(days=3, hours=4), timedelta(days=4, hours=9), timedelta(days=8, hours=2))


class Enredo(Enum):
    """O que acontece com a mensagem."""

    ENTREGUE = "entregue"
    ENTREGUE_DE_UMA_VEZ = "entregue de uma vez"
    NAO_ENTREGUE = "não entregue"
    REJEITADA = "rejeitada"
    A_CAMINHO = "a caminho"
    REPETIDA = "repetida"
    TARDIA = "tardia"
    CONFLITANTE = "conflitante"
    RECUSADA = "recusada"
    RECIBO_DA_RECUSADA = "recibo da recusada"
    ESQUECIDA = "esquecida"


# Os estados comunicados, na ordem em que chegam.
COMUNICADOS: dict[Enredo, tuple[str, ...]] = {
    Enredo.ENTREGUE: ("ENROUTE", "DELIVERED"),
    Enredo.ENTREGUE_DE_UMA_VEZ: ("DELIVERED",),
    Enredo.NAO_ENTREGUE: ("ENROUTE", "UNDELIVERABLE"),
    Enredo.REJEITADA: ("REJECTED",),
    Enredo.A_CAMINHO: ("ENROUTE",),
    Enredo.REPETIDA: ("DELIVERED", "DELIVERED", "DELIVERED"),
    Enredo.TARDIA: ("DELIVERED", "ENROUTE"),
    Enredo.CONFLITANTE: ("DELIVERED", "UNDELIVERABLE"),
    Enredo.RECUSADA: (),
    Enredo.RECIBO_DA_RECUSADA: ("UNDELIVERABLE",),
    Enredo.ESQUECIDA: (),
}

# Uma mensagem em cada enredo raro, e o resto como no dia a dia.
RAROS = (
    Enredo.REPETIDA,
    Enredo.TARDIA,
    Enredo.CONFLITANTE,
    Enredo.RECUSADA,
    Enredo.RECIBO_DA_RECUSADA,
    Enredo.REJEITADA,
)
COMUNS = (
    *[Enredo.ENTREGUE] * 10,
    *[Enredo.ENTREGUE_DE_UMA_VEZ] * 4,
    *[Enredo.NAO_ENTREGUE] * 3,
    Enredo.A_CAMINHO,
    Enredo.REPETIDA,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mensagem:
    """Uma mensagem apresentada, e o enredo dela. `registrada_depois`: o recibo chega antes do registro."""

    transportadora: Transportadora
    id_interno: str
    id_externo: str
    destino: str
    apresentada_em: datetime
    enredo: Enredo
    registrada_depois: bool = False

    def descrever(self) -> dict[str, Any]:
        """Como se registra."""
        aceita = self.enredo not in (Enredo.RECUSADA, Enredo.RECIBO_DA_RECUSADA)
        return {
            "id_interno": self.id_interno,
            "ids_externos": [{"valor": self.id_externo}],
            "origem": self.transportadora.remetente,
            "destino": self.destino,
            "rota": self.transportadora.apelido,
            "registered_delivery": 1,
            "apresentada_em": self.apresentada_em.isoformat(timespec="seconds"),
            "aceita": aceita,
        }

    def recibos(self) -> Iterator[tuple[Recibo, datetime]]:
        """Cada recibo, e quando a transportadora o mandaria."""
        momento = self.apresentada_em
        vistos: dict[str, datetime] = {}
        for estado in COMUNICADOS[self.enredo]:
            # A repetição é o mesmo recibo, com as mesmas datas.
            momento = vistos.setdefault(estado, momento + timedelta(seconds=4))
            falhou = estado not in ("DELIVERED", "ENROUTE")
            recibo = Recibo(
                id_externo=self.id_externo,
                estado=estado,
                destino=self.destino,
                apresentada_em=self.apresentada_em,
                concluida_em=momento,
                erro="27" if falhou else "",
            )
            yield recibo, momento


def escrever_a_semana(
    transportadora: Transportadora, semente: Semente, tamanho: Tamanho, agora: datetime
) -> list[Mensagem]:
    """As mensagens da semana por esta transportadora, da mais antiga à mais nova."""
    acaso = semente.sorteio(f"mensagens por {transportadora.apelido}")
    quantas = transportadora.mensagens * tamanho.vezes
    recentes = sortear_instantes(acaso, quantas // 2, agora=agora, desde=agora - timedelta(hours=22))
    antigas = sortear_instantes(acaso, quantas - quantas // 2, agora=agora)
    instantes = sorted(min(i, agora - timedelta(seconds=30)) for i in (*antigas, *recentes))
    enredos = [*RAROS, *(acaso.choice(COMUNS) for _ in range(quantas - len(RAROS)))]
    acaso.shuffle(enredos)
    return [
        _escrever(transportadora, semente, acaso, f"{numero:04d}", instante, enredo)
        for numero, (instante, enredo) in enumerate(zip(instantes, enredos, strict=True), start=1)
    ]


def escrever_esquecidas(transportadora: Transportadora, semente: Semente, agora: datetime) -> list[Mensagem]:
    """As que foram aceitas, e de que nunca mais se ouviu falar."""
    acaso = semente.sorteio(f"esquecidas por {transportadora.apelido}")
    return [
        _escrever(transportadora, semente, acaso, f"esquecida-{numero}", agora - ha, Enredo.ESQUECIDA)
        for numero, ha in enumerate(ESQUECIDA_HA, start=1)
    ]


def _escrever(
    transportadora: Transportadora,
    semente: Semente,
    acaso: random.Random,
    numero: str,
    instante: datetime,
    enredo: Enredo,
) -> Mensagem:
    apelido = semente.slug(transportadora.apelido)
    exterior = transportadora.formato == "twilio"
    return Mensagem(
        transportadora=transportadora,
        id_interno=f"{apelido}-{numero}",
        id_externo=f"{acaso.randrange(16**12):012x}",
        # Números que ninguém tem: o prefixo 0000 do assinante não existe no Brasil, e 555-01XX é de ficção.
        destino=f"+1202555{acaso.randint(100, 199):04d}"
        if exterior
        else f"+55{acaso.choice((11, 21, 31, 41, 71, 81))}90000{acaso.randint(0, 9_999):04d}",
        apresentada_em=instante.replace(microsecond=0),
        enredo=enredo,
        registrada_depois=enredo is Enredo.ENTREGUE and acaso.random() < 0.1,
    )
