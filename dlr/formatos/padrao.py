"""O nosso formato, para quem pode escolher: JSON com um recibo, uma lista deles ou `{"recibos": […]}`."""

from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo, Resposta
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, inteiro, ler_json, texto

ESTADOS = {estado.value: estado for estado in Estado}


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por recibo; o que não for objeto é `Ilegivel` sozinho."""
    try:
        lido = ler_json(chamada.corpo)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]
    if isinstance(lido, dict) and isinstance(lido.get("recibos"), list):
        lido = lido["recibos"]
    itens = lido if isinstance(lido, list) else [lido]
    if not itens:
        return [ilegivel("lista de recibos vazia", chamada.corpo)]
    return [_ler_item(item, contexto) for item in itens]


def _ler_item(item: Any, contexto: Contexto) -> Item:
    if not isinstance(item, dict):
        return ilegivel("esperava um objeto por recibo", item)
    estado_bruto = texto(item.get("estado"))
    return Recibo(
        id_externo=texto(item.get("id_externo")),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").upper()),
        codigo_erro=texto(item.get("erro")),
        origem=texto(item.get("origem")),
        destino=texto(item.get("destino")),
        parte=inteiro(item.get("parte")),
        id_evento=texto(item.get("evento_id")),
        apresentada=ler_iso(texto(item.get("apresentado_em")), contexto.fuso),
        concluida=ler_iso(texto(item.get("concluido_em")), contexto.fuso),
    )


FORMATO = Formato(
    slug="padrao", versao=1, nome="Padrão Lastro", ler=ler, estados=ESTADOS, resposta=Resposta(status=202)
)
