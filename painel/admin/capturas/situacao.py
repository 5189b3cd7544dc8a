"""Como está um aparelho, e o que nele pede atenção. Puro: recebe o aparelho, as medidas e a hora."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ingestao.capturas.medidas import Resumo
from ingestao.models import Dispositivo


class Situacao(StrEnum):
    """O que se diz de um aparelho; o pior vence."""

    EXCLUIDO = "excluído"
    DESLIGADO = "desligado"
    SILENCIOSO = "silencioso"
    NUNCA_FALOU = "nunca falou"
    EM_CONTATO = "em contato"


CORES = {
    Situacao.EXCLUIDO: "danger",
    Situacao.DESLIGADO: "danger",
    Situacao.SILENCIOSO: "warning",
    Situacao.NUNCA_FALOU: "info",
    Situacao.EM_CONTATO: "success",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sinal:
    """Um defeito provável: o nome curto, a gravidade (cor do selo) e o que fazer."""

    nome: str
    cor: str
    explicacao: str


def decidir_situacao(dispositivo: Dispositivo, agora: datetime) -> Situacao:
    """A situação do aparelho; um que nunca falou só é silencioso depois do prazo dele."""
    if dispositivo.deletado:
        return Situacao.EXCLUIDO
    if dispositivo.revogado_em is not None:
        return Situacao.DESLIGADO
    if dispositivo.silencioso(agora):
        return Situacao.SILENCIOSO
    return Situacao.NUNCA_FALOU if dispositivo.ultimo_contato_em is None else Situacao.EM_CONTATO


def listar_sinais(dispositivo: Dispositivo, resumo: Resumo | None) -> list[Sinal]:
    """Os sinais, do mais grave ao menos; `resumo` são as medidas das últimas 24 horas, ou None sem nenhuma."""
    sinais = [] if resumo is None else _das_medidas(resumo)
    if dispositivo.relogio_suspeito:
        explicacao = "O último pulso disse que o relógio dele não é de confiança: confira o NTP."
        sinais.append(Sinal(nome="relógio suspeito", cor="warning", explicacao=explicacao))
    if dispositivo.quarentena:
        explicacao = (
            "Eventos que ele separou porque o servidor não os aceita; só alguém no aparelho os reenvia."
        )
        sinais.append(
            Sinal(nome=f"quarentena: {dispositivo.quarentena}", cor="warning", explicacao=explicacao)
        )
    return sinais


def _das_medidas(resumo: Resumo) -> list[Sinal]:
    sinais = []
    if descartes := sum(resumo.descartados.values()):
        explicacao = "Eventos que ele desistiu de mandar em 24 h: perdidos, e ditos. Veja os motivos."
        sinais.append(Sinal(nome=f"descartes: {descartes}", cor="danger", explicacao=explicacao))
    if resumo.corte_parado:
        explicacao = "O recorte típico ocupa o quadro quase inteiro: ele manda o quadro em vez do pedaço."
        sinais.append(Sinal(nome="corte parou de funcionar", cor="danger", explicacao=explicacao))
    if resumo.reenvios_fila:
        explicacao = (
            "Reenviou o que já sabia entregue, ou repetiu a tentativa: defeito na fila dele, não no link."
        )
        sinais.append(Sinal(nome=f"bug de fila: {resumo.reenvios_fila}", cor="danger", explicacao=explicacao))
    if conflitos := sum(resumo.conflitos.values()):
        explicacao = "Ids já usados com outro conteúdo ou por outro aparelho; nada foi sobrescrito."
        sinais.append(Sinal(nome=f"conflitos: {conflitos}", cor="danger", explicacao=explicacao))
    return sinais
