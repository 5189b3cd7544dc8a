"""O acaso repetível: a mesma semente dá os mesmos ids, nomes e sorteios. Puro."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import NAMESPACE_OID, UUID, uuid5

SEMENTE_PADRAO = 1
DIAS = 7
# O movimento de um dia, hora a hora: pouco de madrugada, dois picos no expediente e um à noite.
MOVIMENTO = (1, 1, 1, 1, 1, 2, 4, 7, 10, 13, 14, 13, 10, 12, 14, 14, 12, 10, 8, 8, 9, 8, 5, 2)


class Tamanho(StrEnum):
    """Quanto mandar. O médio passa do limite por minuto de um site, e espera por ele."""

    PEQUENO = "pequeno"
    MEDIO = "medio"

    @property
    def vezes(self) -> int:
        """Por quanto se multiplicam as quantidades do pequeno."""
        return {Tamanho.PEQUENO: 1, Tamanho.MEDIO: 6}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Semente:
    """Um número que decide tudo o que não é hora. Com outro, é outra demonstração, ao lado da primeira."""

    numero: int = SEMENTE_PADRAO

    def sorteio(self, assunto: str) -> random.Random:
        """Um gerador só deste assunto: mexer num não muda os outros."""
        return random.Random(f"lastro:{self.numero}:{assunto}")

    def uuid(self, nome: str) -> UUID:
        """O UUID de uma coisa da demonstração."""
        return uuid5(NAMESPACE_OID, f"lastro-demonstracao:{self.numero}:{nome}")

    def nome(self, nome: str) -> str:
        """O nome, que só a semente padrão usa sem número."""
        return nome if self.numero == SEMENTE_PADRAO else f"{nome} ({self.numero})"

    def slug(self, slug: str) -> str:
        """O mesmo, para slugs, chaves e domínios."""
        return slug if self.numero == SEMENTE_PADRAO else f"{slug}-{self.numero}"


def sortear_instantes(
    acaso: random.Random,
    quantos: int,
    *,
    agora: datetime,
    desde: datetime | None = None,
    um_na_hora_a_cada: int = 8,
) -> list[datetime]:
    """Instantes da semana que termina em `agora` (no fuso que ele tem), em ordem e com o movimento de um dia comum.

    Um em cada tantos cai na última hora, para o que se mostra por minuto ter o que mostrar. `desde` encurta a semana.
    """
    desde = max(desde or agora - timedelta(days=DIAS), agora - timedelta(days=DIAS))
    instantes: list[datetime] = []
    while len(instantes) < quantos:
        if len(instantes) % um_na_hora_a_cada == 0:
            instante = agora - timedelta(seconds=acaso.uniform(20, 3_500))
        else:
            instante = desde + (agora - desde) * acaso.random()
            if acaso.random() > MOVIMENTO[instante.hour] / max(MOVIMENTO):
                continue
        instantes.append(max(instante, desde))
    return sorted(instantes)
