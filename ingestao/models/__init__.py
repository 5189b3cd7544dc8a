"""As tabelas da ingestão, um arquivo por substantivo."""

from ingestao.models.aplicativo import Aplicativo, PoliticaDeFranquia
from ingestao.models.aviso import AvisoFranquia
from ingestao.models.captura import Captura, CapturaRecusada, HoraSuspeita, SituacaoDaRecusa
from ingestao.models.dispositivo import Dispositivo
from ingestao.models.erro import Erro, EstadoDoErro
from ingestao.models.evento import Evento, TipoDeEvento
from ingestao.models.lote import Lote
from ingestao.models.medida import MedidaDeCaptura, RecusaDeCaptura, RelatoDeDescarte
from ingestao.models.pedido import (
    Ato,
    AtoDeCaptura,
    MotivoIndisponivel,
    PedacoDeQuadro,
    Pedido,
    SituacaoDoPedido,
)
from ingestao.models.sessao import Sessao
from ingestao.models.uso import Recusa, Uso

__all__ = [
    "Aplicativo",
    "Ato",
    "AtoDeCaptura",
    "AvisoFranquia",
    "Captura",
    "CapturaRecusada",
    "Dispositivo",
    "Erro",
    "EstadoDoErro",
    "Evento",
    "HoraSuspeita",
    "Lote",
    "MedidaDeCaptura",
    "MotivoIndisponivel",
    "PedacoDeQuadro",
    "Pedido",
    "PoliticaDeFranquia",
    "Recusa",
    "RecusaDeCaptura",
    "RelatoDeDescarte",
    "Sessao",
    "SituacaoDaRecusa",
    "SituacaoDoPedido",
    "TipoDeEvento",
    "Uso",
]
