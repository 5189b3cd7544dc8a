"""O segundo fator: quem tem, quem precisa, conferir um código, ativar e remover. Cada mudança deixa trilha."""

import math
from datetime import datetime

import django_otp
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django_otp.models import Device

from painel.models import Autenticador, CodigosDeRecuperacao

ALGARISMOS = 6


class CodigoRecusado(ValueError):
    """O código não serve agora; a frase diz por quê e o que fazer."""


def buscar_autenticador(usuario: User) -> Autenticador | None:
    """O aplicativo autenticador ativo da pessoa, ou None."""
    return Autenticador.objects.filter(user=usuario, confirmed=True).first()


def contar_recuperacoes(usuario: User) -> int:
    """Quantos códigos de recuperação ainda valem."""
    codigos = CodigosDeRecuperacao.objects.filter(user=usuario).first()
    return codigos.token_set.count() if codigos else 0


def em_dia(request: HttpRequest) -> bool:
    """Diz se quem está na sessão não deve código nenhum: entrou com ele, ou não tem nem precisa ter.

    Uma consulta por requisição, e nenhuma para quem entrou com o código (o `otp_device` já a fez).
    """
    guardado = getattr(request, "_segundo_fator_em_dia", None)
    if guardado is None:
        guardado = request.user.is_verified() or not (  # type: ignore[union-attr]
            settings.EXIGIR_SEGUNDO_FATOR or buscar_autenticador(request.user)  # type: ignore[arg-type]
        )
        request._segundo_fator_em_dia = guardado  # type: ignore[attr-defined]
    return bool(guardado)


def marcar(request: HttpRequest, dispositivo: Device) -> None:
    """Anota na sessão com que segundo fator a pessoa entrou."""
    django_otp.login(request, dispositivo)
    request._segundo_fator_em_dia = True  # type: ignore[attr-defined]


def conferir_codigo(usuario: User, codigo: str, agora: datetime) -> Device:
    """O dispositivo que aceitou o código, que não serve outra vez. Levanta `CodigoRecusado`.

    Seis algarismos são do aplicativo; qualquer outra coisa é um código de recuperação. Cada erro dobra a
    espera até a próxima tentativa (1, 2, 4… segundos).
    """
    limpo = "".join(codigo.split())
    do_aplicativo = limpo.isascii() and limpo.isdigit() and len(limpo) == ALGARISMOS
    modelo: type[Device] = Autenticador if do_aplicativo else CodigosDeRecuperacao
    with transaction.atomic():  # a recusa sai depois do COMMIT: a contagem de erros fica
        dispositivo = modelo.objects.select_for_update().filter(user=usuario, confirmed=True).first()
        recusa = _conferir(dispositivo, limpo, agora)
    if recusa or dispositivo is None:
        raise CodigoRecusado(recusa)
    return dispositivo


def preparar(usuario: User) -> Autenticador:
    """O autenticador por confirmar da pessoa, para o QR code; o mesmo até ela confirmar."""
    por_confirmar = {"user": usuario, "confirmed": False, "name": "aplicativo"}
    ja_havia = Autenticador.objects.filter(**por_confirmar).order_by("pk").first()
    return ja_havia or Autenticador.objects.create(**por_confirmar)


def ativar(usuario: User, codigo: str, agora: datetime) -> tuple[Autenticador, list[str]]:
    """Confirma o aplicativo com um código dele; devolve-o com os códigos de recuperação, para mostrar uma vez.

    Levanta `CodigoRecusado`; a contagem de erros fica.
    """
    limpo = "".join(codigo.split())
    codigos: list[str] = []
    with transaction.atomic():
        novo = Autenticador.objects.select_for_update().get(pk=preparar(usuario).pk)
        recusa = _conferir(novo, limpo, agora)
        if not recusa:
            Autenticador.objects.filter(user=usuario).exclude(pk=novo.pk).delete()
            novo.confirmed = True
            novo.save(update_fields=["confirmed"])
            codigos = _renovar(usuario)
            anotar(usuario, usuario, "Ativou o segundo fator.")
    if recusa:
        raise CodigoRecusado(recusa)
    return novo, codigos


@transaction.atomic
def renovar_recuperacoes(usuario: User) -> list[str]:
    """Códigos de recuperação novos, para mostrar uma vez; os anteriores deixam de valer."""
    codigos = _renovar(usuario)
    anotar(usuario, usuario, "Gerou códigos de recuperação novos.")
    return codigos


@transaction.atomic
def remover(usuario: User, autor: User, frase: str) -> bool:
    """Tira o segundo fator e os códigos da pessoa e deixa `frase` na trilha; False se não havia nada."""
    apagados = [
        modelo.objects.filter(user=usuario).delete()[0] for modelo in (Autenticador, CodigosDeRecuperacao)
    ]
    if not any(apagados):
        return False
    anotar(autor, usuario, frase)
    return True


def anotar(autor: User, sobre: User, frase: str) -> None:
    """Uma linha na trilha, no nome de `autor`, sobre a conta de `sobre`."""
    LogEntry.objects.log_actions(autor.pk, [sobre], CHANGE, frase)


def _renovar(usuario: User) -> list[str]:
    dispositivo, _ = CodigosDeRecuperacao.objects.get_or_create(
        user=usuario, defaults={"name": "recuperação"}
    )
    dispositivo.throttle_reset()
    return dispositivo.trocar()


def _conferir(dispositivo: Device | None, codigo: str, agora: datetime) -> str:
    """Vazio se o dispositivo aceitou o código; senão a frase."""
    errado = "Este código não confere ou já foi usado. Espere o próximo e tente de novo."
    if dispositivo is None:
        return errado
    permitido, detalhe = dispositivo.verify_is_allowed()
    if not permitido and detalhe:
        espera_s = max(1, math.ceil((detalhe["locked_until"] - agora).total_seconds()))
        return f"Muitos erros seguidos: espere {espera_s} s e tente de novo."
    return "" if dispositivo.verify_token(codigo) else errado
