"""O que as pessoas fazem diante de um aviso. Cada ato fica na trilha."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from painel.avisos.conteudo import montar_teste
from painel.models import AtoDeAviso, Aviso, DestinoDeAviso, EntregaDeAviso

Ato = AtoDeAviso.Ato


def ver(aviso: Aviso, autor: User, agora: datetime) -> None:
    """Anota que a pessoa viu o aviso; a primeira vez é que conta."""
    AtoDeAviso.objects.bulk_create(
        [AtoDeAviso(aviso=aviso, autor=autor, ato=Ato.VIU, feito_em=agora)], ignore_conflicts=True
    )


def reconhecer(id_do_aviso: Any, autor: User, agora: datetime) -> bool:
    """Alguém cuida: os lembretes param (novidades, não). Diz se mudou."""
    return _mudar(id_do_aviso, autor, Ato.RECONHECEU, agora, reconhecido_em=agora, reconhecido_por=autor)


def silenciar(id_do_aviso: Any, autor: User, agora: datetime, *, por: timedelta) -> bool:
    """Nada sai deste aviso até lá, nem novidades. Diz se mudou."""
    return _mudar(id_do_aviso, autor, Ato.SILENCIOU, agora, ate=agora + por, silenciado_ate=agora + por)


def voltar_a_avisar(id_do_aviso: Any, autor: User, agora: datetime) -> bool:
    """Desfaz o silêncio e o reconhecimento. Diz se mudou."""
    return _mudar(
        id_do_aviso, autor, Ato.VOLTOU, agora, silenciado_ate=None, reconhecido_em=None, reconhecido_por=None
    )


def _mudar(
    id_do_aviso: Any, autor: User, ato: str, agora: datetime, *, ate: datetime | None = None, **campos: Any
) -> bool:
    """Muda um aviso ainda aberto e anota quem foi."""
    with transaction.atomic():
        aviso = (
            Aviso.objects.select_for_update(of=("self",)).filter(pk=id_do_aviso, resolvido_em=None).first()
        )
        if aviso is None:
            return False
        for campo, valor in campos.items():
            setattr(aviso, campo, valor)
        aviso.save(update_fields=list(campos))
        AtoDeAviso.objects.create(aviso=aviso, autor=autor, ato=ato, ate=ate, feito_em=agora)
    return True


def enfileirar_teste(destino: DestinoDeAviso, agora: datetime) -> EntregaDeAviso:
    """Uma entrega de teste, que não conta de aviso nenhum nem espera o silêncio."""
    return EntregaDeAviso.objects.create(
        destino=destino,
        canal=destino.canal,
        motivo=EntregaDeAviso.Motivo.TESTE,
        conteudo=montar_teste(destino, agora),
        criada_em=agora,
        fixada_em=agora,
        disponivel_em=agora,
    )


def reenviar(id_da_entrega: Any) -> bool:
    """Devolve à fila uma entrega que não chegou, com as tentativas zeradas. Diz se mudou."""
    return bool(
        EntregaDeAviso.objects.filter(
            pk=id_da_entrega,
            situacao=EntregaDeAviso.Situacao.DESISTIDA,
            aviso__resolvido_em=None,
            aviso__isnull=False,
        ).update(
            situacao=EntregaDeAviso.Situacao.PENDENTE,
            tentativas=0,
            encerrada_em=None,
            encerramento="",
            disponivel_em=timezone.now(),
        )
    )
