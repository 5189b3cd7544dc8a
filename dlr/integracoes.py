"""As integrações como o processamento e a porta as veem, com as regras em vigor."""

from collections.abc import Iterable

from dlr.dominio.correlacao import OpcoesDeId
from dlr.dominio.projecao import Regras
from dlr.leitura import IntegracaoVista
from dlr.models import Integracao, RegraDeIntegracao


def ver(integracao: Integracao, versao_das_regras: int) -> IntegracaoVista:
    """A forma congelada de uma integração."""
    return IntegracaoVista(
        id=integracao.pk,
        formato=integracao.formato_lido,
        fuso=integracao.fuso,
        janela_espera_s=integracao.janela_espera_s,
        versao_das_regras=versao_das_regras,
    )


class Elenco:
    """As integrações de uma transação, buscadas de uma vez, com as regras em vigor de cada uma."""

    def __init__(self, ids: Iterable[int]) -> None:
        self._integracoes = {i.pk: i for i in Integracao.objects.filter(pk__in=set(ids))}
        self._regras = {
            regra.integracao_id: regra.regras()
            for regra in RegraDeIntegracao.objects.filter(integracao__in=self._integracoes)
            .order_by("integracao_id", "-versao")
            .distinct("integracao_id")
        }

    def integracao(self, id_: int) -> Integracao:
        return self._integracoes[id_]

    def regras(self, id_: int) -> Regras:
        """A versão em vigor; sem nenhuma gravada, a 0, com os finais do formato."""
        return self._regras.get(id_) or Regras(versao=0, finais=self._integracoes[id_].formato_lido.finais)

    def vista(self, id_: int) -> IntegracaoVista:
        return ver(self._integracoes[id_], self.regras(id_).versao)

    def opcoes(self, id_: int) -> OpcoesDeId:
        return self._integracoes[id_].opcoes_de_id()
