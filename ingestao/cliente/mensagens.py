"""O JSON que vai e o que volta (docs/captura.md). Puro: bytes e valores, sem rede nem relógio."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .contadores import Relato
from .fila import EventoNaFila
from .relogio import ler_hora

GRAVADO, RECUSADO, NAO_CONFIRMADO = "gravado", "recusado", "nao_confirmado"
RECUSAS = ("conflito", "invalido")


@dataclass(frozen=True)
class Resultado:
    """O que o servidor disse de um evento. `motivo` e `detalhe` só quando recusado."""

    situacao: str
    motivo: str = ""
    detalhe: str = ""


@dataclass(frozen=True)
class Pedido:
    """Um quadro que alguém pediu. `offset` é onde o servidor parou."""

    id: str
    id_evento: str
    sha256: str | None
    bytes: int | None


@dataclass(frozen=True)
class Leitura:
    """O comum a toda resposta 200: os pedidos abertos e a hora do servidor."""

    pedidos: tuple[Pedido, ...]
    hora_servidor: datetime | None


def montar_lote(
    eventos: Sequence[EventoNaFila], relato: Relato, *, boot_id: str, mono_ms: int, enviado_em: str
) -> bytes:
    """O JSON do lote. O corpo de cada evento vai como foi gravado; mudam a idade e a tentativa."""
    cabeca = {"enviado_em": enviado_em, "boot_id": boot_id, **relato.montar()}
    prontos = ",".join(_montar_evento(evento, boot_id, mono_ms) for evento in eventos)
    return f'{_json(cabeca)[:-1]},"eventos":[{prontos}]}}'.encode()


def _montar_evento(evento: EventoNaFila, boot_id: str, mono_ms: int) -> str:
    proprio = {
        "id_evento": evento.id_evento,
        "seq": evento.seq,
        "tentativa": evento.tentativas,
        "idade_ms": mono_ms - evento.mono_ms if evento.boot_id == boot_id else None,
    }
    return f"{_json(proprio)[:-1]},{evento.corpo[1:]}"


def _json(valor: Mapping[str, Any]) -> str:
    return json.dumps(valor, separators=(",", ":"))


def ler_resposta(corpo: bytes) -> dict[str, Any] | None:
    """O objeto JSON de uma resposta; None se não é um (página de portal, resposta cortada)."""
    try:
        lido = json.loads(corpo)
    except (ValueError, RecursionError):
        return None
    return lido if isinstance(lido, dict) else None


def ler_resultados(lido: Mapping[str, Any] | None, ids: Sequence[str]) -> list[Resultado] | None:
    """Um resultado por evento, na ordem; None se a resposta não fala deste lote.

    Só conta como gravado o que traz o id certo no lugar certo, com a hora em que foi gravado: qualquer dúvida é
    "não confirmado", e reenviar é de graça.
    """
    resultados = lido.get("resultados") if lido else None
    if not isinstance(resultados, list) or len(resultados) != len(ids):
        return None
    return [
        _ler_resultado(cru, id_evento, indice) for indice, (cru, id_evento) in enumerate(zip(resultados, ids))
    ]


def _ler_resultado(cru: Any, id_evento: str, indice: int) -> Resultado:
    if not isinstance(cru, dict):
        return Resultado(NAO_CONFIRMADO)
    situacao, do_mesmo = cru.get("situacao"), cru.get("id_evento") == id_evento
    if situacao == "gravado" and do_mesmo and ler_hora(cru.get("gravado_em")) is not None:
        return Resultado(GRAVADO)
    if situacao in RECUSAS and (do_mesmo or (cru.get("id_evento") is None and cru.get("indice") == indice)):
        return Resultado(RECUSADO, situacao, f"{cru.get('codigo')}: {cru.get('detail') or ''}")
    return Resultado(NAO_CONFIRMADO)


def ler_contato(lido: Mapping[str, Any] | None) -> Leitura:
    """Os pedidos e a hora de qualquer 200. Um pedido ilegível é pulado: ele volta no próximo contato."""
    crus = lido.get("pedidos") if lido else None
    pedidos = tuple(p for p in map(_ler_pedido, crus if isinstance(crus, list) else ()) if p is not None)
    return Leitura(pedidos=pedidos, hora_servidor=ler_hora(lido.get("hora_servidor")) if lido else None)


def _ler_pedido(cru: Any) -> Pedido | None:
    if (
        not isinstance(cru, dict)
        or not isinstance(cru.get("id"), str)
        or not isinstance(cru.get("id_evento"), str)
    ):
        return None
    sha256, tamanho = cru.get("sha256"), cru.get("bytes")
    return Pedido(
        id=cru["id"],
        id_evento=cru["id_evento"],
        sha256=sha256.lower() if isinstance(sha256, str) else None,
        bytes=tamanho if isinstance(tamanho, int) else None,
    )


def ler_codigo(corpo: bytes) -> str | None:
    """O `codigo` de um erro do Lastro; None se quem respondeu não foi ele."""
    codigo = (ler_resposta(corpo) or {}).get("codigo")
    return codigo if isinstance(codigo, str) else None
