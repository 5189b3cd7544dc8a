"""Bandwidth (mensagens v2): lista JSON de eventos."""

from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_itens, objeto, texto

ESTADOS = {
    "message-sending": Estado.ENROUTE,
    # ? O guia diz que vem quando a operadora seguinte aceita; a referência, que é a entrega. Em MMS e grupo
    # sem recibo contratado é só a saída da rede da Bandwidth. É o mais que ela conta; fica como entrega.
    "message-delivered": Estado.DELIVERED,
    "message-failed": Estado.UNDELIVERABLE,
}


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por evento da lista; um objeto sozinho (2FA) também é lido."""
    try:
        return [_ler_item(item, contexto) for item in ler_itens(chamada.corpo)]
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]


def _ler_item(item: Any, contexto: Contexto) -> Item:
    if not isinstance(item, dict):
        return ilegivel("esperava um objeto por evento", item)
    tipo = texto(item.get("type"))
    mensagem = objeto(item.get("message"))
    if tipo == "message-received" or texto(mensagem.get("direction")) == "in":
        return ilegivel("não é um recibo: é uma mensagem recebida", item)
    return Recibo(
        id_externo=texto(mensagem.get("id")),
        estado_bruto=tipo,
        estado=ESTADOS.get((tipo or "").lower()),
        codigo_erro=texto(item.get("errorCode")),
        origem=texto(mensagem.get("from")),
        destino=texto(item.get("to")),
        apresentada=ler_iso(texto(mensagem.get("time")), contexto.fuso),
        concluida=ler_iso(texto(item.get("time")), contexto.fuso),
        extras={
            campo: valor
            for campo, valor in (
                ("description", texto(item.get("description"))),
                ("tag", texto(mensagem.get("tag"))),
                ("segmentCount", texto(mensagem.get("segmentCount"))),
            )
            if valor
        },
    )


FORMATO = Formato(slug="bandwidth", versao=1, nome="Bandwidth", ler=ler, estados=ESTADOS)
