"""Mudar os finais de uma integração: a versão nova das regras, e o que ela muda no que já chegou."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dlr.models import Integracao, Mensagem, Recepcao, RegraDeIntegracao
from dlr.reprojecao import Diferenca, reprojetar
from painel.admin.dlr.explicacoes import MOTIVOS

VERSOES_MOSTRADAS = 20
DIFERENCAS_MOSTRADAS = 50
# A tela espera a releitura inteira, a ~1.000 recepções por segundo; acima disto é trabalho de comando.
RECEPCOES_NA_TELA = 5_000
MENSAGENS_NA_TELA = 10_000


class NadaMudou(ValueError):
    """Os finais pedidos são os que já valem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Previa:
    """As mensagens que mudam: quantas, e as primeiras, com o antes e o depois em palavras."""

    quantas: int
    linhas: list[dict[str, Any]]


def regra_em_vigor(integracao: Integracao) -> RegraDeIntegracao | None:
    """A versão mais nova; None se nenhuma foi gravada (valem os finais do formato)."""
    return integracao.regras.order_by("-versao").first()


def finais_em_vigor(integracao: Integracao) -> list[str]:
    """Os estados que hoje encerram a história."""
    regra = regra_em_vigor(integracao)
    return list(regra.finais) if regra else sorted(str(e) for e in integracao.formato_lido.finais)


def listar_versoes(integracao: Integracao) -> list[RegraDeIntegracao]:
    """As versões, da em vigor para trás."""
    return list(integracao.regras.select_related("autor").order_by("-versao")[:VERSOES_MOSTRADAS])


def mudar_finais(
    integracao_id: int, finais: Sequence[str], *, autor: User, motivo: str, agora: datetime
) -> RegraDeIntegracao:
    """Grava a versão seguinte das regras. Levanta `NadaMudou` se os finais são os de agora."""
    with transaction.atomic():
        integracao = Integracao.objects.select_for_update().get(pk=integracao_id)
        regra = regra_em_vigor(integracao)
        if set(finais) == set(finais_em_vigor(integracao)):
            raise NadaMudou("Estes já são os finais que valem: nada mudou.")
        return RegraDeIntegracao.objects.create(
            integracao=integracao,
            versao=(regra.versao if regra else 0) + 1,
            finais=sorted(finais),
            classes_de_erro=regra.classes_de_erro if regra else {},
            criada_em=agora,
            autor=autor,
            motivo=motivo,
        )


def grande_demais(integracao: Integracao) -> bool:
    """Diz se reprojetar a integração não cabe no tempo de uma tela."""
    recepcoes = Recepcao.objects.filter(integracao=integracao).order_by()
    mensagens = Mensagem.objects.filter(integracao=integracao).order_by()
    return (
        recepcoes[: RECEPCOES_NA_TELA + 1].count() > RECEPCOES_NA_TELA
        or mensagens[: MENSAGENS_NA_TELA + 1].count() > MENSAGENS_NA_TELA
    )


def prever(integracao: Integracao, agora: datetime) -> Previa:
    """O que mudaria, sem gravar."""
    diferencas = reprojetar(integracao.pk, agora, aplicar=False)
    return Previa(quantas=len(diferencas), linhas=_mostrar(diferencas[:DIFERENCAS_MOSTRADAS]))


def aplicar(integracao: Integracao, agora: datetime) -> int:
    """Recalcula de verdade; devolve quantas mensagens mudaram. Como eram fica guardado em cada uma."""
    return len(reprojetar(integracao.pk, agora, aplicar=True))


def _mostrar(diferencas: Sequence[Diferenca]) -> list[dict[str, Any]]:
    return [
        {"mensagem": d.mensagem_id, "antes": _dizer(d.antes), "depois": _dizer(d.depois)} for d in diferencas
    ]


def _dizer(projecao: tuple[str | None, bool, str]) -> dict[str, str]:
    estado, final, motivo = projecao
    return {
        "estado": f"{estado or 'sem recibo'}{'' if final or estado is None else ' · não final'}",
        "motivo": MOTIVOS.get(motivo, motivo),
    }
