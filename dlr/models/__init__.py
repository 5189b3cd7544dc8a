"""As tabelas dos recibos, um arquivo por substantivo."""

from dlr.models.contagem import RecepcaoPorDia, RecepcaoPorMinuto
from dlr.models.evento import EventoLogico, Ocorrencia
from dlr.models.excecao import AcaoDeExcecao, Excecao, SituacaoDaExcecao, TipoDeExcecao
from dlr.models.integracao import Integracao, RegraDeIntegracao
from dlr.models.mensagem import IdentificadorExterno, Mensagem, Verificacao
from dlr.models.projecao import DecisaoDeFinal, MudancaDeProjecao, Projecao
from dlr.models.recepcao import Recepcao, RecepcaoPendente, RecusaDeCallback

__all__ = [
    "AcaoDeExcecao",
    "DecisaoDeFinal",
    "EventoLogico",
    "Excecao",
    "IdentificadorExterno",
    "Integracao",
    "Mensagem",
    "MudancaDeProjecao",
    "Ocorrencia",
    "Projecao",
    "Recepcao",
    "RecepcaoPendente",
    "RecepcaoPorDia",
    "RecepcaoPorMinuto",
    "RecusaDeCallback",
    "RegraDeIntegracao",
    "SituacaoDaExcecao",
    "TipoDeExcecao",
    "Verificacao",
]
