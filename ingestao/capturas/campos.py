"""Um campo por vez: o que veio no JSON vira um valor conferido, ou um erro que diz qual campo. Puro."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

INT32_MAXIMO = 2**31 - 1  # coluna integer do PostgreSQL
INT63_MAXIMO = 2**63 - 1  # coluna bigint
IDADE_MAXIMA_MS = 10 * 365 * 86_400_000  # dez anos: acima disto não é idade, é engano

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")
_ETIQUETA = re.compile(r"[a-z0-9_]{1,60}\Z")


class CampoInvalido(ValueError):
    """Um campo não serve; `codigo` estável e a frase com o nome do campo."""

    def __init__(self, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.detalhe = detalhe


def recusar_campo(nome: str, esperado: str) -> CampoInvalido:
    """O erro de um campo com valor que não serve."""
    return CampoInvalido("campo_invalido", f"`{nome}`: {esperado}.")


def exigir(cru: Mapping[str, Any], nome: str) -> Any:
    """O valor de um campo obrigatório. Levanta `CampoInvalido` (campo_ausente)."""
    if nome not in cru:
        raise CampoInvalido("campo_ausente", f"Falta `{nome}`.")
    return cru[nome]


def ler_uuid(valor: Any) -> UUID | None:
    """Um UUID na forma 8-4-4-4-12; None para qualquer outra coisa."""
    return UUID(valor) if isinstance(valor, str) and _UUID.match(valor) else None


def ler_inteiro(cru: Mapping[str, Any], nome: str, minimo: int, maximo: int) -> int:
    """Um inteiro obrigatório no intervalo fechado. `True` não é inteiro; 3.0 é."""
    valor = exigir(cru, nome)
    if isinstance(valor, float) and valor.is_integer():
        valor = int(valor)
    if type(valor) is not int or not minimo <= valor <= maximo:
        raise recusar_campo(nome, f"um inteiro de {minimo} a {maximo}")
    return valor


def ler_inteiro_ou_nada(cru: Mapping[str, Any], nome: str, minimo: int, maximo: int) -> int | None:
    """Como `ler_inteiro`, mas ausente ou nulo é None."""
    return None if cru.get(nome) is None else ler_inteiro(cru, nome, minimo, maximo)


def ler_instante(cru: Mapping[str, Any], nome: str) -> datetime:
    """Um instante ISO 8601 com fuso, em UTC."""
    valor = exigir(cru, nome)
    try:
        lido = datetime.fromisoformat(valor)
        if lido.tzinfo is None:
            raise ValueError("sem fuso")
        return lido.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as erro:
        raise recusar_campo(nome, "data e hora ISO 8601 com fuso (Z ou -03:00)") from erro


def ler_sha256(cru: Mapping[str, Any], nome: str) -> str:
    """64 algarismos hexadecimais, em minúsculas."""
    valor = exigir(cru, nome)
    if not isinstance(valor, str) or not _SHA256.match(valor):
        raise recusar_campo(nome, "um SHA-256 em 64 algarismos hexadecimais")
    return valor.lower()


def ler_etiqueta(cru: Mapping[str, Any], nome: str) -> str:
    """Um motivo curto de máquina (letras minúsculas, algarismos, sublinhado); vazio se não veio."""
    valor = cru.get(nome)
    if valor is None or valor == "":
        return ""
    if not isinstance(valor, str) or not _ETIQUETA.match(valor):
        raise recusar_campo(nome, "até 60 letras minúsculas, algarismos ou _")
    return valor


def ler_texto(cru: Mapping[str, Any], nome: str, limite: int) -> str:
    """Um texto cortado em `limite` caracteres; qualquer outra coisa é vazio. Para campos só informativos."""
    valor = cru.get(nome)
    return valor[:limite] if isinstance(valor, str) else ""


def ler_objeto(cru: Mapping[str, Any], nome: str) -> Mapping[str, Any] | None:
    """Um objeto, ou None se ausente ou nulo."""
    valor = cru.get(nome)
    if valor is not None and not isinstance(valor, dict):
        raise recusar_campo(nome, "um objeto ou null")
    return valor


def escrever_instante(instante: datetime) -> str:
    """`2026-11-30T18:00:00.123456Z`: sempre UTC, sempre seis casas, para que o mesmo instante seja o mesmo texto."""
    return instante.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
