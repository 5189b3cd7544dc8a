"""Avisos por e-mail: franquia (80 %, 100 %) e erros que regrediram.

O aviso é gravado na transação do efeito; o envio vem depois e é marcado ao sair. Uma queda entre
mandar e marcar repete o e-mail: preferimos repetir a calar.
"""

import logging
from datetime import datetime
from smtplib import SMTPException

from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from ingestao.models import AvisoFranquia, Erro

registro = logging.getLogger("lastro.avisos")

AVISOS_POR_VEZ = 100


def enviar_pendentes() -> int:
    """Manda os avisos pendentes de quem tem e-mail; devolve quantos saíram.

    Uma falha do servidor de e-mail deixa o aviso pendente para a próxima vez.
    """
    agora = timezone.now()
    return _enviar_franquias(agora) + _enviar_regressoes(agora)


def _enviar_franquias(agora: datetime) -> int:
    with transaction.atomic():
        pendentes = (
            AvisoFranquia.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(enviado_em__isnull=True, aplicativo__deletado=False)
            .exclude(aplicativo__emails_de_aviso="")
            .select_related("aplicativo")
            .order_by("id")[:AVISOS_POR_VEZ]
        )
        enviados = [aviso.pk for aviso in pendentes if _mandar(*_texto_da_franquia(aviso))]
        AvisoFranquia.objects.filter(pk__in=enviados).update(enviado_em=agora)
    return len(enviados)


def _enviar_regressoes(agora: datetime) -> int:
    with transaction.atomic():
        pendentes = (
            Erro.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(
                Q(regressao_avisada_em__isnull=True) | Q(regressao_avisada_em__lt=F("regrediu_em")),
                regrediu_em__isnull=False,
                aplicativo__deletado=False,
            )
            .exclude(aplicativo__emails_de_aviso="")
            .select_related("aplicativo")
            .order_by("regrediu_em")[:AVISOS_POR_VEZ]
        )
        enviados = [erro.pk for erro in pendentes if _mandar(*_texto_da_regressao(erro))]
        Erro.objects.filter(pk__in=enviados).update(regressao_avisada_em=F("regrediu_em"))
    return len(enviados)


def _texto_da_franquia(aviso: AvisoFranquia) -> tuple[str, str, list[str]]:
    aplicativo = aviso.aplicativo
    assunto = f"[Lastro] {aplicativo.nome}: {aviso.percentual}% da franquia de {aviso.periodo:%m/%Y}"
    corpo = (
        f"O aplicativo {aplicativo.nome} gravou {aviso.quantidade} eventos em {aviso.periodo:%m/%Y}, "
        f"de uma franquia de {aviso.franquia}.\n"
        f"Política: {aplicativo.get_politica_display()}.\n"
    )
    return assunto, corpo, aplicativo.destinatarios()


def _texto_da_regressao(erro: Erro) -> tuple[str, str, list[str]]:
    assunto = f"[Lastro] {erro.aplicativo.nome}: voltou um erro resolvido"
    corpo = (
        f"O erro “{erro.titulo}” estava resolvido e voltou em {timezone.localtime(erro.regrediu_em):%d/%m/%Y %H:%M}.\n"
        f"Ocorrências até agora: {erro.quantidade}. Regressões: {erro.regressoes}.\n"
    )
    return assunto, corpo, erro.aplicativo.destinatarios()


def _mandar(assunto: str, corpo: str, destinatarios: list[str]) -> bool:
    # O nome e o título vêm de fora: uma quebra de linha no assunto injetaria cabeçalhos.
    mensagem = EmailMessage(" ".join(assunto.split()), corpo, to=destinatarios)
    try:
        mensagem.send()
    except (SMTPException, OSError) as erro:
        registro.error("aviso nao saiu", extra={"erro": str(erro)})
        return False
    return True
