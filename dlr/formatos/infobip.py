"""Infobip SMS: POST de JSON `{"results": […]}`, 100 recibos por chamada se a conta não mudar o limite."""

from collections.abc import Mapping
from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_json, objeto, texto

# O bruto é `status.name`, o valor mais específico que é estável; procura-se por ele e, se não estiver aqui, pelo
# grupo. Só estão os nomes cuja classe ou estado não é o do grupo.
ESTADOS = {
    "DELIVERED_TO_OPERATOR": Estado.ENROUTE,  # no grupo DELIVERED, mas intermediário: chegou só à operadora
    "PENDING_ACCEPTED": Estado.ACCEPTED,
    "PENDING": Estado.ENROUTE,
    "DELIVERED": Estado.DELIVERED,
    "UNDELIVERABLE": Estado.UNDELIVERABLE,
    "EXPIRED": Estado.EXPIRED,  # ? inclui EXPIRED_DLR_UNKNOWN: o recibo da operadora veio e não foi entendido
    "REJECTED": Estado.REJECTED,
}

_GRUPO_POR_ID = {"1": "PENDING", "2": "UNDELIVERABLE", "3": "DELIVERED", "4": "EXPIRED", "5": "REJECTED"}
_EXTRAS = ("bulkId", "callbackData", "mccMnc", "smsCount", "messageCount", "entityId", "applicationId")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por elemento de `results`; o elemento ruim é `Ilegivel` sozinho."""
    try:
        lido = ler_json(chamada.corpo)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]
    resultados = lido.get("results") if isinstance(lido, dict) else None
    if not isinstance(resultados, list) or not resultados:
        return [ilegivel("esperava {“results”: […]} com ao menos um recibo", chamada.corpo)]
    return [_ler_resultado(resultado, contexto) for resultado in resultados]


def _ler_resultado(resultado: Any, contexto: Contexto) -> Item:
    if not isinstance(resultado, dict):
        return ilegivel("esperava um objeto por recibo", resultado)
    situacao, erro = objeto(resultado.get("status")), objeto(resultado.get("error"))
    id_externo = texto(resultado.get("messageId"))
    grupo = texto(situacao.get("groupName")) or _GRUPO_POR_ID.get(texto(situacao.get("groupId")) or "")
    estado_bruto = texto(situacao.get("name")) or grupo
    if id_externo is None and estado_bruto is None:
        return ilegivel("esperava messageId e status em cada recibo", resultado)
    estado = ESTADOS.get((estado_bruto or "").upper()) or ESTADOS.get((grupo or "").upper())
    return Recibo(
        id_externo=id_externo,
        estado_bruto=estado_bruto,
        estado=estado,
        codigo_erro=texto(erro.get("id")),  # 0 é “sem erro”, e é um valor
        origem=texto(resultado.get("from")) or texto(resultado.get("sender")),
        destino=texto(resultado.get("to")) or texto(resultado.get("destination")),
        apresentada=ler_iso(texto(resultado.get("sentAt")), contexto.fuso),
        concluida=ler_iso(texto(resultado.get("doneAt")), contexto.fuso),
        extras=_listar_extras(resultado, situacao, erro, grupo),
    )


def _listar_extras(
    resultado: Mapping[str, Any], situacao: Mapping[str, Any], erro: Mapping[str, Any], grupo: str | None
) -> dict[str, str]:
    possiveis = {nome: texto(resultado.get(nome)) for nome in _EXTRAS} | {
        "status.groupName": grupo,
        "status.id": texto(situacao.get("id")),
        "error.name": texto(erro.get("name")),
        "error.groupName": texto(erro.get("groupName")),
        "error.permanent": texto(erro.get("permanent")),
    }
    return {nome: valor for nome, valor in possiveis.items() if valor is not None}


FORMATO = Formato(slug="infobip", versao=1, nome="Infobip SMS", ler=ler, estados=ESTADOS)
