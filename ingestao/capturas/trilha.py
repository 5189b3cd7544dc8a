"""A trilha das capturas: quem fez o quê, quando e por quê. Só se acrescenta."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ingestao.models import Ato, AtoDeCaptura

MOTIVO_CARACTERES = 1_000


def registrar(
    ato: Ato,
    captura_id: UUID,
    *,
    agora: datetime,
    pedido_id: UUID | None = None,
    autor: Any = None,
    motivo: str = "",
    **detalhes: Any,
) -> AtoDeCaptura:
    """Acrescenta um ato, na transação de quem chama. `autor` None é o aparelho ou o servidor."""
    return AtoDeCaptura.objects.create(
        ato=ato,
        captura_id=captura_id,
        pedido_id=pedido_id,
        autor=autor,
        motivo=motivo[:MOTIVO_CARACTERES],
        detalhes=detalhes,
        feito_em=agora,
    )
