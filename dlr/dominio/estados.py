"""Os estados de uma mensagem, com os nomes do SMPP, e quais encerram a história."""

from enum import StrEnum


class Estado(StrEnum):
    """Estados de `message_state` (SMPP 3.4, 5.2.28; SCHEDULED e SKIPPED são do 5.0).

    Ficam ao lado do estado bruto, nunca no lugar dele.
    """

    SCHEDULED = "SCHEDULED"
    ENROUTE = "ENROUTE"
    DELIVERED = "DELIVERED"
    EXPIRED = "EXPIRED"
    DELETED = "DELETED"
    UNDELIVERABLE = "UNDELIVERABLE"
    ACCEPTED = "ACCEPTED"
    UNKNOWN = "UNKNOWN"
    REJECTED = "REJECTED"
    SKIPPED = "SKIPPED"


MESSAGE_STATE = {
    "0": Estado.SCHEDULED,
    "1": Estado.ENROUTE,
    "2": Estado.DELIVERED,
    "3": Estado.EXPIRED,
    "4": Estado.DELETED,
    "5": Estado.UNDELIVERABLE,
    "6": Estado.ACCEPTED,
    "7": Estado.UNKNOWN,
    "8": Estado.REJECTED,
    "9": Estado.SKIPPED,
}

# ACCEPTED e UNKNOWN não têm classe comum entre fornecedores: o padrão prudente é que não encerram.
# Cada formato pode mudar o padrão e cada integração pode mudar o do formato (com versão).
FINAIS_PADRAO = frozenset(
    {
        Estado.DELIVERED,
        Estado.EXPIRED,
        Estado.DELETED,
        Estado.UNDELIVERABLE,
        Estado.REJECTED,
        Estado.SKIPPED,
    }
)

# Sem base confiável para ordenar intermediários (nem a chegada nem as datas servem), vale o que diz mais
# sobre o avanço da mensagem. UNKNOWN é o que menos diz.
AVANCO = {
    Estado.UNKNOWN: 0,
    Estado.SCHEDULED: 1,
    Estado.ACCEPTED: 2,
    Estado.ENROUTE: 3,
}
