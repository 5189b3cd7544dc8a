"""BulkSMS (API JSON v1): lista JSON de mensagens, com `status.final` dado por eles.

Nenhum recibo daqui tem `id_evento`. O cabeçalho `X-BulkSMS-Delivery` nomeia a entrega da lista inteira (o
exemplo deles é `1`) e não se sabe se é único; combinado com o id da mensagem ainda confundiria dois estados
dela na mesma lista. A impressão digital de mensagem, estado e data faz o certo: itens diferentes não
colidem, e a lista repetida — com qualquer cabeçalho — é repetição.
"""

from collections.abc import Mapping
from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_itens, objeto, texto

# `type`, ou `type.subtype` quando há subtipo (a notação do `status.id` deles). A classe vem em
# `status.final`; a da tabela só vale quando ele falta.
ESTADOS = {
    "ACCEPTED": Estado.ACCEPTED,
    "SCHEDULED": Estado.SCHEDULED,
    "SENT": Estado.ENROUTE,
    "DELIVERED": Estado.DELIVERED,
    "UNKNOWN": Estado.UNKNOWN,
    "FAILED": Estado.UNDELIVERABLE,
    "FAILED.EXPIRED": Estado.EXPIRED,
    "FAILED.HANDSET_ERROR": Estado.UNDELIVERABLE,
    "FAILED.BLOCKED": Estado.REJECTED,
    "FAILED.NOT_SENT": Estado.REJECTED,
}


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por mensagem da lista."""
    try:
        itens = ler_itens(chamada.corpo)
    except CorpoIlegivel as erro:
        # Ao criar o webhook, a BulkSMS o experimenta com um corpo vazio.
        return [ilegivel(f"{erro} (vazio, é o teste que a BulkSMS faz ao criar o webhook)", chamada.corpo)]
    recebidas = chamada.cabecalhos.get("x-bulksms-event", "") == "incoming-message"
    return [_ler_item(item, recebidas, contexto) for item in itens]


def _ler_item(item: Any, recebida: bool, contexto: Contexto) -> Item:
    if not isinstance(item, dict):
        return ilegivel("esperava um objeto por mensagem", item)
    if recebida or texto(item.get("type")) == "RECEIVED":
        return ilegivel("não é um recibo: é uma mensagem recebida", item)
    situacao = objeto(item.get("status"))
    tipo = texto(situacao.get("type")) or texto(situacao.get("condition"))
    subtipo = texto(situacao.get("subtype"))
    estado_bruto = f"{tipo}.{subtipo}" if tipo and subtipo else tipo
    causa = texto(situacao.get("cause"))
    return Recibo(
        id_externo=texto(item.get("id")),
        estado_bruto=estado_bruto,
        estado=_traduzir(tipo, estado_bruto),
        final=final if isinstance(final := situacao.get("final"), bool) else None,
        # Nos outros estados a causa só os descreve ("Submitted to upstream provider").
        codigo_erro=causa if (tipo or "").upper() == "FAILED" else None,
        origem=_endereco(item.get("from")),
        destino=_endereco(item.get("to")),
        apresentada=ler_iso(texto(objeto(item.get("submission")).get("date")), contexto.fuso),
        concluida=ler_iso(texto(situacao.get("date")), contexto.fuso),
        extras=_ler_extras(item, causa),
    )


def _traduzir(tipo: str | None, estado_bruto: str | None) -> Estado | None:
    # Um subtipo novo não muda o que o tipo, documentado, já disse.
    return ESTADOS.get((estado_bruto or "").upper(), ESTADOS.get((tipo or "").upper()))


def _endereco(valor: Any) -> str | None:
    """`{"address": …}` no guia dos webhooks, texto simples na especificação da API."""
    return texto(objeto(valor).get("address")) or texto(valor)


def _ler_extras(item: Mapping[str, Any], causa: str | None) -> dict[str, str]:
    campos = {campo: texto(item.get(campo)) for campo in ("userSuppliedId", "numberOfParts")} | {
        "cause": causa
    }
    return {campo: valor for campo, valor in campos.items() if valor}


FORMATO = Formato(slug="bulksms", versao=1, nome="BulkSMS", ler=ler, estados=ESTADOS)
