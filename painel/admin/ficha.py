"""Rótulos e valores de uma página, e as formas de mostrar tempo e quantidade."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db.models import Field, Model
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince

from painel.admin.inerte import neutralizar

VAZIO = "—"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linha:
    """Um rótulo, o valor (texto comum é escapado pelo template) e, às vezes, uma explicação."""

    rotulo: str
    valor: Any
    ajuda: str = ""


def montar_ficha(
    registro: Model,
    campos: Iterable[str],
    *,
    proprios: Mapping[str, Any] | None = None,
    ler: Callable[[str], str] = neutralizar,
) -> list[Linha]:
    """Uma linha por campo preenchido, na ordem dada; `proprios` troca o valor de alguns.

    `ler` diz como mostrar os textos alheios: inertes, ou também mascarados.
    """
    proprios = proprios or {}
    linhas = []
    for nome in campos:
        campo = cast("Field", registro._meta.get_field(nome))
        valor = proprios[nome] if nome in proprios else _mostrar(registro, campo, ler)
        if valor is not None and valor != "":
            rotulo = str(capfirst(campo.verbose_name))
            linhas.append(Linha(rotulo=rotulo, valor=valor, ajuda=str(campo.help_text or "")))
    return linhas


def mostrar_instante(instante: datetime | None, *, com_ano: bool = True) -> SafeString | str:
    """Data e hora locais com segundos; a dica traz o ISO 8601 inteiro.

    `com_ano=False` é para as listas do que vive trinta dias.
    """
    if instante is None:
        return VAZIO
    return format_html(
        '<time class="lastro-instante" datetime="{0}" title="{0}">{1}</time>',
        instante.isoformat(),
        _localizar(instante).strftime("%d/%m/%Y %H:%M:%S" if com_ano else "%d/%m %H:%M:%S"),
    )


def _localizar(instante: datetime) -> datetime:
    """No fuso local. Na beira do calendário (ano 1, ano 9999), onde a conta não cabe, fica em UTC."""
    try:
        return timezone.localtime(instante)
    except OverflowError:
        return instante


def mostrar_espera(desde: datetime | None, agora: datetime) -> str:
    """Há quanto tempo: `3 minutos`, em uma unidade."""
    if desde is None:
        return VAZIO
    if (agora - desde).total_seconds() < 60:
        return f"{max(0, int((agora - desde).total_seconds()))} s"
    return timesince(desde, agora, depth=1)


def mostrar_quantidade(quantidade: int | None) -> str:
    """`12.345`."""
    return VAZIO if quantidade is None else formats.number_format(quantidade, force_grouping=True)


def mostrar_numero(numero: float, unidade: str = "") -> str:
    """Um número medido, sem zeros de sobra, com a unidade."""
    arredondado = round(float(numero), 3)
    inteiro = arredondado.is_integer() and abs(arredondado) < 10**15
    texto = mostrar_quantidade(int(arredondado)) if inteiro else str(arredondado).replace(".", ",")
    return f"{texto} {unidade}".strip()


def _mostrar(registro: Model, campo: Field, ler: Callable[[str], str]) -> Any:
    valor = getattr(registro, campo.attname)
    if campo.choices:
        return getattr(registro, f"get_{campo.name}_display")()
    if isinstance(valor, datetime):
        return mostrar_instante(valor)
    if isinstance(valor, str):
        return ler(valor)
    if isinstance(valor, float):
        return mostrar_numero(valor)
    return valor
