"""As tabelas da ingestão, um arquivo por substantivo."""

from ingestao.models.aplicativo import Aplicativo, PoliticaDeFranquia
from ingestao.models.aviso import AvisoFranquia
from ingestao.models.erro import AcaoDeErro, Erro, EstadoDoErro
from ingestao.models.evento import Evento, TipoDeEvento
from ingestao.models.lote import Lote
from ingestao.models.sessao import Sessao
from ingestao.models.uso import Recusa, Uso

__all__ = [
    "AcaoDeErro",
    "Aplicativo",
    "AvisoFranquia",
    "Erro",
    "EstadoDoErro",
    "Evento",
    "Lote",
    "PoliticaDeFranquia",
    "Recusa",
    "Sessao",
    "TipoDeEvento",
    "Uso",
]
