"""SMS Dev (Brasil): formulário, consulta ou JSON, com os estados em português."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Ilegivel, Item, Recibo
from dlr.dominio.tempos import ler_mascara
from dlr.formatos.contrato import Contexto, Credencial, Formato, iguais
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_itens, ler_qualquer, texto

ESTADOS = {
    "FILA": Estado.ACCEPTED,  # espera ser processada por eles
    "ENVIADA": Estado.ENROUTE,  # com a operadora
    "RECEBIDA": Estado.DELIVERED,  # documentado como entrega no aparelho
    "ERRO": Estado.REJECTED,  # erro de validação: não foi à operadora
    "CANCELADA": Estado.DELETED,  # pelo usuário
    "BLACK LIST": Estado.REJECTED,
}
_MASCARA = "%d%m%Y%H%M%S"  # `ddmmrrrrhh24miss` no dizer deles, sem fuso
_EXTRAS = ("refer", "operadora", "qtd_credito")
# A chave da conta vem em toda chamada; o pedaço que se mostra numa exceção não a leva.
_CHAVE_NO_TEXTO = re.compile(r"(?i)(\bkey\b[\"']?\s*[=:]\s*[\"']?)[^&\"',}\s]+")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por objeto. O documentado é um por chamada; uma lista JSON também é lida."""
    try:
        return [_ler_item(item, contexto) for item in _ler_itens(chamada)]
    except CorpoIlegivel as erro:
        return [_ilegivel(str(erro), chamada.corpo or chamada.consulta)]


def _ler_itens(chamada: Chamada) -> list[Any]:
    if chamada.metodo != "GET" and chamada.corpo.lstrip()[:1] == b"[":
        return ler_itens(chamada.corpo)
    return [ler_qualquer(chamada)]


def _ler_item(item: Any, contexto: Contexto) -> Item:
    if not isinstance(item, Mapping) or ("id" not in item and "situacao" not in item):
        return _ilegivel("esperava um objeto com id e situacao", item)
    estado_bruto = texto(item.get("situacao"))
    return Recibo(
        id_externo=texto(item.get("id")),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").upper()),
        # ? A documentação chama de data de envio com "(DLR)" ao lado: fica a leitura literal, a do envio.
        apresentada=ler_mascara(texto(item.get("data_envio")), _MASCARA, contexto.fuso),
        extras={campo: valor for campo in _EXTRAS if (valor := texto(item.get(campo)))},
    )


def _ilegivel(detalhe: str, bruto: Any) -> Ilegivel:
    lido = ilegivel(detalhe, bruto)
    return Ilegivel(motivo=lido.motivo, detalhe=lido.detalhe, bruto=_CHAVE_NO_TEXTO.sub(r"\1***", lido.bruto))


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """Não é assinatura: a chamada traz a chave da conta em `key`; confere-se se ela está no segredo."""
    try:
        itens = _ler_itens(chamada)
    except CorpoIlegivel:
        return None
    chaves = [texto(item.get("key")) if isinstance(item, Mapping) else None for item in itens]
    if not credencial.segredo or not any(chaves):
        return None
    return all(
        chave is not None and chave.isascii() and iguais(chave, credencial.segredo) for chave in chaves
    )


FORMATO = Formato(
    slug="smsdev",
    versao=1,
    nome="SMS Dev",
    ler=ler,
    estados=ESTADOS,
    conferir_assinatura=conferir_assinatura,
    metodos=("POST", "GET"),
)
