"""Sinch SMS REST API: POST de JSON, um por destinatário (`per_recipient`), ou um por lote (`full`)."""

import base64
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dlr.dominio.estados import FINAIS_PADRAO, Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Credencial, Formato, iguais
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_json, texto

ESTADOS = {
    "queued": Estado.ACCEPTED,
    "dispatched": Estado.ENROUTE,
    "aborted": Estado.REJECTED,  # parou antes do SMSC
    "cancelled": Estado.DELETED,  # o cliente cancelou antes do SMSC
    "rejected": Estado.REJECTED,
    "deleted": Estado.DELETED,
    "delivered": Estado.DELIVERED,
    "failed": Estado.UNDELIVERABLE,
    "expired": Estado.EXPIRED,
    "unknown": Estado.UNKNOWN,  # encerra: o fornecedor o lista entre os finais
}

_EXTRAS = ("client_reference", "number_of_message_parts", "operator", "encoding", "type")
_LOTE = ("delivery_report_sms", "delivery_report_mms")


def compor_id(batch_id: str | None, recipient: str | None) -> str | None:
    """O id externo de uma mensagem: `<batch_id>/<recipient sem +>`; None se faltar um dos dois.

    O lote sozinho não diz de que mensagem se fala, e o destinatário vem com ou sem `+` conforme a chamada.
    Quem registra a mensagem compõe o valor da mesma forma.
    """
    numero = (recipient or "").removeprefix("+")
    return f"{batch_id}/{numero}" if batch_id and numero else None


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por destinatário. O relatório de lote só com contagens (`summary`) não fala de mensagem nenhuma."""
    try:
        lido = ler_json(chamada.corpo)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]
    if not isinstance(lido, dict):
        return [ilegivel("esperava um objeto JSON", chamada.corpo)]
    if texto(lido.get("type")) in _LOTE or isinstance(lido.get("statuses"), list):
        return _ler_lote(lido, chamada.corpo)
    batch_id, recipient = texto(lido.get("batch_id")), texto(lido.get("recipient"))
    estado_bruto = texto(lido.get("status"))
    if batch_id is None and estado_bruto is None:
        return [ilegivel("esperava batch_id, recipient e status", chamada.corpo)]
    recibo = _montar(
        batch_id,
        recipient,
        lido,
        apresentada=None,
        # A hora da operadora é a do acontecimento; `at` é a de quando a Sinch fez o relatório.
        concluida=ler_iso(texto(lido.get("operator_status_at")) or texto(lido.get("at")), contexto.fuso),
        origem=texto(lido.get("applied_originator")),
    )
    return [recibo]


def _ler_lote(lido: Mapping[str, Any], corpo: bytes) -> list[Item]:
    batch_id = texto(lido.get("batch_id"))
    grupos = lido.get("statuses")
    itens: list[Item] = []
    for grupo in grupos if isinstance(grupos, list) else []:
        numeros = grupo.get("recipients") if isinstance(grupo, dict) else None
        if not isinstance(numeros, list) or not numeros:
            itens.append(ilegivel("contagem sem destinatários: peça delivery_report per_recipient", grupo))
            continue
        itens += [_montar(batch_id, texto(numero), grupo) for numero in numeros]
    return itens or [ilegivel("relatório de lote vazio", corpo)]


def _montar(batch_id: str | None, recipient: str | None, campos: Mapping[str, Any], **outros: Any) -> Recibo:
    estado_bruto = texto(campos.get("status"))
    extras = {nome: valor for nome in _EXTRAS if (valor := texto(campos.get(nome)))}
    return Recibo(
        id_externo=compor_id(batch_id, recipient),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").lower()),
        codigo_erro=texto(campos.get("code")),
        destino=recipient,
        extras={**extras, "batch_id": batch_id} if batch_id else extras,
        **outros,
    )


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """`x-sinch-webhook-signature`: HMAC-SHA256 em base64 de `corpo.nonce.timestamp`, com `segredo` de chave.

    Esquema da biblioteca do fornecedor para o SMS; é ligado pelo gerente da conta. Devolve None sem o cabeçalho ou
    sem segredo. A hora assinada não expira aqui: há reenvios por 23 h, recusar com 4xx perde o recibo para
    sempre, e uma repetição não tem efeito.
    """
    recebida = chamada.cabecalhos.get("x-sinch-webhook-signature", "").strip()
    if not recebida or not credencial.segredo:
        return None
    nonce = chamada.cabecalhos.get("x-sinch-webhook-signature-nonce", "")
    hora = chamada.cabecalhos.get("x-sinch-webhook-signature-timestamp", "")
    algoritmo = chamada.cabecalhos.get("x-sinch-webhook-signature-algorithm", "HmacSHA256")
    if not nonce or not hora or algoritmo.lower() != "hmacsha256":
        return False
    assinado = b".".join((chamada.corpo, nonce.encode(), hora.encode()))
    esperada = base64.b64encode(hmac.digest(credencial.segredo.encode(), assinado, "sha256")).decode()
    return iguais(esperada, recebida)


FORMATO = Formato(
    slug="sinch",
    versao=1,
    nome="Sinch SMS",
    ler=ler,
    estados=ESTADOS,
    finais=FINAIS_PADRAO | {Estado.UNKNOWN},
    conferir_assinatura=conferir_assinatura,
)
