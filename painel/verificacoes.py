"""Verificações do sistema: recusam uma produção que quebraria as leis.

Rodam em `manage.py migrate` e `manage.py check --database default`; `/prontidao` repete as do banco
e do broker, para que uma mudança feita com o servidor de pé também apareça.
"""

from collections.abc import Sequence
from typing import Any

import redis
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Aviso
from django.db import OperationalError, connection

from config.valkey import conectar

ESPERA_DO_BROKER_S = 1.0


@register(Tags.database)
def conferir_durabilidade(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """E001: o PostgreSQL confirma antes de gravar (`synchronous_commit` ou `fsync` desligado)."""
    if not databases:
        return []
    try:
        motivo = durabilidade_frouxa()
    except OperationalError as erro:
        return [Aviso(f"Banco inacessível, durabilidade não conferida: {erro}", id="lastro.W001")]
    return (
        [Error(motivo, hint="Ligue-os no postgresql.conf: um 2xx promete disco.", id="lastro.E001")]
        if motivo
        else []
    )


@register(Tags.database)
def conferir_broker(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """E002: o Valkey/Redis despeja chaves quando a memória aperta."""
    if not databases:
        return []
    try:
        motivo = broker_que_despeja()
    except redis.RedisError as erro:
        return [Aviso(f"Broker inacessível, política de memória não conferida: {erro}", id="lastro.W002")]
    return [Error(motivo, hint="Use maxmemory-policy noeviction.", id="lastro.E002")] if motivo else []


def durabilidade_frouxa() -> str | None:
    """O que há de frouxo na durabilidade do PostgreSQL, ou None. Custa uma consulta."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('synchronous_commit'), current_setting('fsync')")
        synchronous_commit, fsync = cursor.fetchone()
    if synchronous_commit in ("off",) or fsync != "on":
        return f"O PostgreSQL confirma sem gravar: synchronous_commit={synchronous_commit}, fsync={fsync}."
    return None


def broker_que_despeja() -> str | None:
    """A política de memória do broker, se ela perde chaves; None se serve ou se o broker não a conta."""
    valkey = conectar(ESPERA_DO_BROKER_S)
    try:
        politica = str(valkey.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction"))
    except redis.ResponseError:  # serviços gerenciados escondem CONFIG
        return None
    finally:
        valkey.close()
    return (
        None
        if politica == "noeviction"
        else f"O broker usa maxmemory-policy={politica} e pode perder mensagens."
    )
