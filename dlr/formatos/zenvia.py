"""Zenvia (API v2): JSON de `MESSAGE_STATUS`, um evento por chamada."""

from collections.abc import Mapping
from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, inteiro, ler_itens, objeto, texto

ESTADOS = {
    "SENT": Estado.ENROUTE,  # chegou ao servidor do provedor do canal: não é entrega
    "DELIVERED": Estado.DELIVERED,
    "READ": Estado.DELIVERED,  # lida é mais que entregue; o SMPP não tem estado de leitura
    "VERIFIED": Estado.DELIVERED,  # documentado como entregue com o remetente reconhecido (canais ricos)
    "NOT_DELIVERED": Estado.UNDELIVERABLE,
    "REJECTED": Estado.REJECTED,
    # Ficam fora, e abrem exceção se vierem num SMS: DELETED (é o contato que apagou a mensagem, não o
    # DELETED do SMPP) e CLICKED (fala de um botão, não da entrega).
}


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por evento; o documentado é um por chamada, mas uma lista também é lida."""
    try:
        return [_ler_item(item, contexto) for item in ler_itens(chamada.corpo)]
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]


def _ler_item(item: Any, contexto: Contexto) -> Item:
    if not isinstance(item, dict):
        return ilegivel("esperava um objeto por evento", item)
    if (texto(item.get("type")) or "MESSAGE_STATUS").upper() != "MESSAGE_STATUS":
        return ilegivel("não é um recibo: o evento não é MESSAGE_STATUS", item)
    situacao = objeto(item.get("messageStatus"))
    estado_bruto = texto(situacao.get("code"))
    causas = _ler_causas(situacao)
    return Recibo(
        id_externo=texto(item.get("messageId")),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").upper()),
        codigo_erro=next(
            (codigo for causa in causas if (codigo := texto(causa.get("channelErrorCode")))), None
        ),
        # O `id` do evento fica nos extras: nas amostras do fornecedor ele se repete entre eventos
        # diferentes, e usado como id_evento descartaria recibos como se fossem repetição.
        notas=_anotar_conteudo(item),
        concluida=ler_iso(texto(situacao.get("timestamp")), contexto.fuso),
        extras={
            campo: valor
            for campo, valor in (
                ("id", texto(item.get("id"))),
                ("subscriptionId", texto(item.get("subscriptionId"))),
                ("contentIndex", texto(item.get("contentIndex"))),
                ("causes", causas),
            )
            if valor
        },
    )


def _ler_causas(situacao: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`causes` (lista) ou `cause` (um objeto, em exemplos mais velhos)."""
    causas = situacao.get("causes", situacao.get("cause"))
    return [causa for causa in (causas if isinstance(causas, list) else [causas]) if isinstance(causa, dict)]


def _anotar_conteudo(item: dict[str, Any]) -> tuple[str, ...]:
    # Uma mensagem com vários conteúdos tem um estado por conteúdo sob o mesmo messageId; não é a parte de
    # um SMS longo, e por isso não vai em `parte`.
    indice = inteiro(item.get("contentIndex"))
    return (f"o estado é do conteúdo {indice} da mensagem, não dela inteira",) if indice else ()


FORMATO = Formato(slug="zenvia", versao=1, nome="Zenvia", ler=ler, estados=ESTADOS)
