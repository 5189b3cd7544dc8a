"""Telnyx (API v2): JSON de evento, com um estado por destinatário em `payload.to`."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dlr.dominio.estados import FINAIS_PADRAO, Estado
from dlr.dominio.recibo import Chamada, Item, Recibo, Tempo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Credencial, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_json, objeto, texto

ESTADOS = {
    "queued": Estado.ACCEPTED,
    "sending": Estado.ENROUTE,
    "sent": Estado.ENROUTE,  # com a operadora
    "delivered": Estado.DELIVERED,
    "expired": Estado.EXPIRED,  # ? só na lista de tipos do SDK, sem descrição
    "sending_failed": Estado.REJECTED,  # não saiu da Telnyx
    "delivery_failed": Estado.UNDELIVERABLE,
    "delivery_unconfirmed": Estado.UNKNOWN,  # encerra (ver `finais`): a operadora não disse se entregou
}
_INTERMEDIARIOS = ("queued", "sending", "sent")
TOLERANCIA_S = 300  # a dos SDKs da Telnyx: o relógio deles e o nosso, mais a viagem
_CHAVE_BYTES = 32  # Ed25519 (RFC 8032)


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por destinatário; quase sempre há um só (vários só em mensagem de grupo)."""
    try:
        evento = objeto(objeto(ler_json(chamada.corpo)).get("data"))
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]
    conteudo = objeto(evento.get("payload"))
    if not conteudo:
        return [ilegivel("esperava um objeto em data.payload", chamada.corpo)]
    if texto(evento.get("event_type")) == "message.received" or texto(conteudo.get("direction")) == "inbound":
        return [ilegivel("não é um recibo: é uma mensagem recebida", chamada.corpo)]
    destinos = conteudo.get("to")
    destinos = destinos if isinstance(destinos, list) else [destinos]
    if not destinos:
        return [ilegivel("nenhum destinatário em data.payload.to", chamada.corpo)]
    return [
        _ler_destino(destino, indice, evento, conteudo, len(destinos) > 1, contexto)
        for indice, destino in enumerate(destinos)
    ]


def _ler_destino(
    destino: Any,
    indice: int,
    evento: Mapping[str, Any],
    conteudo: Mapping[str, Any],
    varios: bool,
    contexto: Contexto,
) -> Item:
    if not isinstance(destino, dict):
        return ilegivel("esperava um objeto por destinatário", destino)
    estado_bruto = texto(destino.get("status"))
    numero = texto(destino.get("phone_number"))
    id_evento = texto(evento.get("id"))
    if id_evento and varios:
        # O evento é um só para todos: sem o destinatário, o segundo passaria por repetição do primeiro.
        id_evento = f"{id_evento}/{numero or indice}"
    erros = _ler_erros(conteudo)
    return Recibo(
        id_externo=texto(conteudo.get("id")),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").lower()),
        codigo_erro=_codigo_de(erros, indice if varios else None),
        origem=texto(objeto(conteudo.get("from")).get("phone_number")),
        destino=numero,
        id_evento=id_evento,
        apresentada=ler_iso(texto(conteudo.get("received_at")), contexto.fuso),
        concluida=_ler_conclusao(evento, conteudo, contexto),
        notas=_anotar(evento, estado_bruto),
        # `meta.attempt` fica fora: muda a cada tentativa do mesmo evento.
        extras={
            campo: valor
            for campo, valor in (("event_type", texto(evento.get("event_type"))), ("errors", erros))
            if valor
        },
    )


def _ler_erros(conteudo: Mapping[str, Any]) -> list[dict[str, Any]]:
    erros = conteudo.get("errors")
    return [erro for erro in erros if isinstance(erro, dict)] if isinstance(erros, list) else []


def _codigo_de(erros: list[dict[str, Any]], indice: int | None) -> str | None:
    """O primeiro código; com vários destinatários, só o de um erro que aponta para este (`/to/<indice>`)."""
    for erro in erros:
        ponteiro = texto(objeto(erro.get("source")).get("pointer")) or ""
        if indice is None or f"{ponteiro}/".endswith(f"/to/{indice}/"):
            return texto(erro.get("code"))
    return None


def _ler_conclusao(
    evento: Mapping[str, Any], conteudo: Mapping[str, Any], contexto: Contexto
) -> Tempo | None:
    concluida = texto(conteudo.get("completed_at"))
    return ler_iso(concluida or texto(evento.get("occurred_at")), contexto.fuso)


def _anotar(evento: Mapping[str, Any], estado_bruto: str | None) -> tuple[str, ...]:
    encerrado = texto(evento.get("event_type")) == "message.finalized"
    if encerrado and (estado_bruto or "").lower() in _INTERMEDIARIOS:
        return (f"o evento se diz final (message.finalized) com o estado {estado_bruto}",)
    return ()


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """Ed25519 sobre `<timestamp>|<corpo>`, com a chave pública da conta em base64 e até 5 min de idade."""
    assinatura = chamada.cabecalhos.get("telnyx-signature-ed25519", "")
    carimbo = chamada.cabecalhos.get("telnyx-timestamp", "")
    if not credencial.segredo or not (assinatura or carimbo):
        return None
    if not (carimbo.isascii() and carimbo.isdigit() and len(carimbo) <= 12):
        return False
    if abs(agora.timestamp() - int(carimbo)) > TOLERANCIA_S:
        return False
    try:
        chave = base64.b64decode(credencial.segredo.strip(), validate=True)
        if len(chave) != _CHAVE_BYTES:
            return False
        Ed25519PublicKey.from_public_bytes(chave).verify(
            base64.b64decode(assinatura, validate=True), carimbo.encode() + b"|" + chamada.corpo
        )
    except (ValueError, InvalidSignature):
        return False
    return True


FORMATO = Formato(
    slug="telnyx",
    versao=1,
    nome="Telnyx",
    ler=ler,
    estados=ESTADOS,
    # UNKNOWN aqui é só delivery_unconfirmed, que chega em message.finalized: nada mais virá.
    finais=FINAIS_PADRAO | {Estado.UNKNOWN},
    conferir_assinatura=conferir_assinatura,
)
