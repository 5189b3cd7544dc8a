"""As rotas que a porta atende sem as camadas do Django (`ROTAS_DIRETAS`), cada uma com a sua fila de grupos."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import close_old_connections
from django.utils.module_loading import import_string

from config.chegada import DEFEITO, Pedido, Resposta
from config.grupos import Grupos

registro = logging.getLogger("lastro.porta")


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaDireta:
    """Uma entrada de `ROTAS_DIRETAS`, pronta para uso. `grupos` junta os que chegam juntos; None: cada um por si."""

    caminho: re.Pattern[str]
    metodos: frozenset[str]
    atender: Callable[[Sequence[Pedido]], Sequence[Resposta]]
    contar_recusa: Callable[[int, str, str], None]
    teto_bytes: int
    cors: bool
    grupos: Grupos | None


def montar(rotas: Iterable[Mapping[str, Any]]) -> list[RotaDireta]:
    """As rotas de `ROTAS_DIRETAS`; cada uma ganha uma thread."""
    return [montar_rota(**rota) for rota in rotas]


def montar_rota(
    *,
    nome: str,
    caminho: str,
    metodos: Iterable[str],
    atender: str,
    contar_recusa: str,
    teto_bytes: int,
    cors: bool,
    em_grupos: bool = True,
) -> RotaDireta:
    """Uma rota; `atender` e `contar_recusa` são caminhos de importação."""
    protegido = proteger(import_string(atender))
    return RotaDireta(
        caminho=re.compile(caminho),
        metodos=frozenset(metodos),
        atender=protegido,
        contar_recusa=proteger(import_string(contar_recusa)),
        teto_bytes=teto_bytes,
        cors=cors,
        grupos=Grupos(protegido, nome) if em_grupos else None,
    )


def proteger(funcao: Callable[..., Any]) -> Callable[..., Any]:
    """O que o Django faria em volta de uma view: conexão conferida antes, defeito nosso registrado depois."""

    def protegida(*argumentos: Any) -> Any:
        close_old_connections()
        try:
            return funcao(*argumentos)
        except Exception:  # noqa: BLE001 - registrado por inteiro; sem isto o servidor mandaria um 500 mudo
            registro.exception("defeito numa rota direta")
            pedidos = argumentos[0]
            return [DEFEITO] * len(pedidos) if isinstance(pedidos, list) else None

    return protegida
