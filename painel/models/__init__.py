"""As tabelas do painel, um arquivo por substantivo."""

from painel.models.revelacao import Revelacao
from painel.models.segundo_fator import Autenticador, CodigosDeRecuperacao

__all__ = ["Autenticador", "CodigosDeRecuperacao", "Revelacao"]
