"""As datas que as transportadoras escrevem. Lê o que não é ambíguo; o resto fica só como veio."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal

from dlr.dominio.recibo import Tempo

_ALGARISMOS = re.compile(r"[0-9]+")
_SMPP_ABSOLUTA = re.compile(r"([0-9]{12})([0-9])([0-9]{2})([+-])")  # YYMMDDhhmmss t nn p (SMPP 3.4, 7.1.1.1)
_QUARTOS_MAXIMOS = 48  # SMPP 3.4, 7.1.1.1: nn vai de 00 a 48 quartos de hora
_ANO_DE_CORTE = 37  # SMPP: 00–37 são 20xx, 38–99 são 19xx
# Doze algarismos lidos com ano de quatro: fora daqui é ano de dois lido errado (26… viraria o ano 2601).
_ANOS_DE_QUATRO = range(1938, 2100)
# `fromisoformat` aceita qualquer separador (até um algarismo) e data sem hora, que não é um instante.
_ISO_COM_HORA = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[Tt ][0-9]{2}[^ ]*")
_EPOCA = re.compile(
    r"[0-9]{1,25}(\.[0-9]{1,9})?"
)  # sem sinal, expoente, `_` nem `nan`, que `float` aceitaria
_INICIO_DA_EPOCA = datetime(1970, 1, 1, tzinfo=UTC)


def ler_smpp(bruto: str | None, fuso: tzinfo = UTC) -> Tempo | None:
    """`YYMMDDhhmm[ss]`, `YYYYMMDDhhmm[ss]` ou a forma absoluta de 16 caracteres do SMPP.

    Doze algarismos servem a `YYMMDDhhmmss` e a `YYYYMMDDhhmm`: lê-se só quando uma das duas leituras é
    uma data possível. Sem fuso escrito, vale `fuso`. `ND`, vazio ou ilegível (a forma relativa, `R`,
    também, porque não se sabe relativa a quê): `em` fica None.
    """
    if bruto is None:
        return None
    texto = bruto.strip()
    absoluta = _SMPP_ABSOLUTA.fullmatch(texto)
    if absoluta:
        return Tempo(bruto=bruto, em=_montar_absoluta(absoluta))
    if not _ALGARISMOS.fullmatch(texto):
        return Tempo(bruto=bruto, em=None)
    leituras: list[datetime | None] = []
    if len(texto) in (10, 12):
        leituras.append(_montar_yy(texto.ljust(12, "0"), fuso))
    if len(texto) == 14 or (len(texto) == 12 and int(texto[:4]) in _ANOS_DE_QUATRO):
        leituras.append(_montar(texto.ljust(14, "0"), "%Y%m%d%H%M%S", fuso))
    possiveis = [lido for lido in leituras if lido is not None]
    return Tempo(bruto=bruto, em=possiveis[0] if len(possiveis) == 1 else None)


def ler_iso(bruto: str | None, fuso: tzinfo = UTC) -> Tempo | None:
    """ISO 8601 com data e hora, com `Z`, `-03:00`, `-0300` ou sem fuso (vale `fuso`)."""
    if bruto is None:
        return None
    texto = bruto.strip()
    if not _ISO_COM_HORA.fullmatch(texto):
        return Tempo(bruto=bruto, em=None)
    try:
        lido = datetime.fromisoformat(texto)
        return Tempo(bruto=bruto, em=lido.astimezone(UTC) if lido.tzinfo else _situar(lido, fuso))
    except (ValueError, OverflowError):
        return Tempo(bruto=bruto, em=None)


def ler_mascara(bruto: str | None, mascara: str, fuso: tzinfo = UTC) -> Tempo | None:
    """Uma data na grafia exata de uma máscara de `strptime`, sem fuso escrito (vale `fuso`)."""
    if bruto is None:
        return None
    return Tempo(bruto=bruto, em=_montar(bruto.strip(), mascara, fuso))


def ler_epoca(bruto: str | None, *, por_segundo: int = 1) -> Tempo | None:
    """Segundos desde 1970 (`por_segundo=1000` para milissegundos), escritos como texto; exato até o microssegundo."""
    if bruto is None:
        return None
    texto = bruto.strip()
    if not _EPOCA.fullmatch(texto):
        return Tempo(bruto=bruto, em=None)
    try:
        decorridos = timedelta(microseconds=int(Decimal(texto) * 1_000_000 / por_segundo))
        return Tempo(bruto=bruto, em=_INICIO_DA_EPOCA + decorridos)
    except OverflowError:
        return Tempo(bruto=bruto, em=None)


def _montar_absoluta(partes: re.Match[str]) -> datetime | None:
    quartos = int(partes[3])
    if quartos > _QUARTOS_MAXIMOS:
        return None
    deslocamento = timedelta(minutes=15 * quartos)
    lido = _montar_yy(partes[1], timezone(deslocamento if partes[4] == "+" else -deslocamento))
    return lido + timedelta(milliseconds=100 * int(partes[2])) if lido else None


def _montar_yy(doze: str, fuso: tzinfo) -> datetime | None:
    seculo = "20" if int(doze[:2]) <= _ANO_DE_CORTE else "19"
    return _montar(seculo + doze, "%Y%m%d%H%M%S", fuso)


def _montar(texto: str, mascara: str, fuso: tzinfo) -> datetime | None:
    try:
        lido = datetime.strptime(texto, mascara)
        # `strptime` aceita campo sem o zero e aí adivinha as larguras: 1122020 seria 11/2 ou 1/12.
        return _situar(lido, fuso) if lido.strftime(mascara) == texto else None
    except (ValueError, OverflowError):
        return None


def _situar(local: datetime, fuso: tzinfo) -> datetime | None:
    """O instante de uma hora local; None na hora que o horário de verão repete ou pula."""
    ida, volta = local.replace(tzinfo=fuso), local.replace(tzinfo=fuso, fold=1)
    return ida.astimezone(UTC) if ida.utcoffset() == volta.utcoffset() else None
