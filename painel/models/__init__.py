"""As tabelas do painel, um arquivo por substantivo."""

from painel.models.aviso import AtoDeAviso, Aviso, LimiarDeAviso, TipoDeAviso
from painel.models.destino import Canal, DestinoDeAviso, EntregaDeAviso, TentativaDeEntrega
from painel.models.revelacao import Revelacao
from painel.models.segundo_fator import Autenticador, CodigosDeRecuperacao

__all__ = [
    "AtoDeAviso",
    "Autenticador",
    "Aviso",
    "Canal",
    "CodigosDeRecuperacao",
    "DestinoDeAviso",
    "EntregaDeAviso",
    "LimiarDeAviso",
    "Revelacao",
    "TentativaDeEntrega",
    "TipoDeAviso",
]
