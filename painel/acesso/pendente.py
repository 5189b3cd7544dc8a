"""Entre a senha e o código: quem acertou uma e ainda deve o outro. Vive na sessão, por poucos minutos."""

import time
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

CHAVE = "login_pendente"
VALIDADE_S = 300  # o bastante para achar o telefone; depois disto, a senha de novo


@dataclass(frozen=True, slots=True, kw_only=True)
class Pendente:
    """Quem acertou a senha, e aonde ia."""

    usuario: User
    destino: str


def guardar_pendente(request: HttpRequest, usuario: User, destino: str) -> None:
    """Anota na sessão, com identificador novo, que a senha de `usuario` foi conferida."""
    request.session.cycle_key()
    request.session[CHAVE] = {
        "usuario": usuario.pk,
        "senha": usuario.get_session_auth_hash(),
        "em": time.time(),
        "destino": destino,
    }


def buscar_pendente(request: HttpRequest) -> Pendente | None:
    """Quem deve o código; None se ninguém, se passou do prazo, ou se a conta ou a senha mudou no meio."""
    anotado = request.session.get(CHAVE)
    if anotado is None or time.time() - anotado["em"] > VALIDADE_S:
        return None
    usuario = User.objects.filter(pk=anotado["usuario"], is_active=True, is_staff=True).first()
    if usuario is None or not constant_time_compare(usuario.get_session_auth_hash(), anotado["senha"]):
        return None
    return Pendente(usuario=usuario, destino=anotado["destino"])


def esquecer_pendente(request: HttpRequest) -> None:
    """Desiste do login pela metade."""
    request.session.pop(CHAVE, None)
