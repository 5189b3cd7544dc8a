"""Um gateway SMPP nosso ou da operadora que repassa cada `deliver_sm`/`data_sm` por HTTP, em JSON ou formulário.

Campos, com os nomes do SMPP 3.4: `short_message` (texto do apêndice B) ou `message_payload`,
`receipted_message_id`, `message_state`, `network_error_code`, `esm_class`, `source_addr`, `destination_addr`.
"""

from collections.abc import Mapping
from typing import Any

from dlr.dominio.estados import MESSAGE_STATE, Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_smpp
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_itens, ler_qualquer, texto
from dlr.formatos.texto_smpp import ESTADOS_DO_TEXTO, TextoSmpp, ler_texto

# Os números só valem no TLV `message_state`; no texto, `stat:2` é um estado desconhecido.
ESTADOS = {**MESSAGE_STATE, **ESTADOS_DO_TEXTO}

# esm_class (SMPP 3.4, 5.2.12): os bits 5–2 dizem o tipo da mensagem; os outros são modo e recursos da rede.
_MASCARA_TIPO = 0x3C
_RECIBO = 0x04
_INTERMEDIARIA = 0x20
_NOTA_CARACTERES = 100  # o valor na nota é para reconhecer; o inteiro está na recepção


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por PDU: o corpo é uma PDU, ou uma lista JSON delas."""
    try:
        pdus = _ler_pdus(chamada)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo or chamada.consulta)]
    return [_ler_pdu(pdu, contexto) for pdu in pdus]


def _ler_pdus(chamada: Chamada) -> list[Any]:
    if chamada.metodo == "GET" or chamada.corpo.lstrip()[:1] != b"[":
        return [ler_qualquer(chamada)]
    return ler_itens(chamada.corpo)


def _ler_pdu(pdu: Any, contexto: Contexto) -> Item:
    if not isinstance(pdu, dict):
        return ilegivel("esperava um objeto por PDU", pdu)
    do_texto = ler_texto(texto(pdu.get("short_message")) or texto(pdu.get("message_payload")))
    tlv_id = texto(pdu.get("receipted_message_id"))
    tlv_estado = texto(pdu.get("message_state"))
    tlv_erro = texto(pdu.get("network_error_code"))
    if tlv_id is None and tlv_estado is None:
        if not do_texto.e_recibo:
            return ilegivel("sem TLV de recibo e sem texto no formato do apêndice B", pdu)
        if not _pode_ser_recibo(pdu.get("esm_class")):
            # Sem isto, quem tem um celular forjaria recibos mandando “id:… stat:DELIVRD” por SMS.
            return ilegivel("esm_class diz que a PDU não é recibo, e só o texto parece um", pdu)
    estado = ESTADOS.get(tlv_estado.upper()) if tlv_estado else do_texto.estado
    return Recibo(
        id_externo=tlv_id or do_texto.id,
        estado_bruto=tlv_estado or do_texto.stat,
        estado=estado,
        final=False if _tipo(pdu.get("esm_class")) & _INTERMEDIARIA else None,
        codigo_erro=tlv_erro or do_texto.err,
        # O recibo viaja de volta: quem o origina é o destino da mensagem.
        origem=texto(pdu.get("destination_addr")),
        destino=texto(pdu.get("source_addr")),
        apresentada=ler_smpp(do_texto.submit_date, contexto.fuso),
        concluida=ler_smpp(do_texto.done_date, contexto.fuso),
        notas=_listar_diferencas(tlv_id, tlv_estado, estado, do_texto),
        extras=_listar_extras(pdu, do_texto),
    )


def _listar_diferencas(
    tlv_id: str | None, tlv_estado: str | None, estado: Estado | None, do_texto: TextoSmpp
) -> tuple[str, ...]:
    notas = []
    if tlv_id and do_texto.id and tlv_id != do_texto.id:
        notas.append(f"o texto traz outro id ({do_texto.id[:_NOTA_CARACTERES]}); vale o receipted_message_id")
    if tlv_estado and do_texto.stat and (do_texto.estado != estado or estado is None):
        notas.append(f"o texto traz outro estado ({do_texto.stat[:_NOTA_CARACTERES]}); vale o message_state")
    return tuple(notas)


def _listar_extras(pdu: Mapping[str, Any], do_texto: TextoSmpp) -> dict[str, str]:
    possiveis = {
        "esm_class": texto(pdu.get("esm_class")),
        "network_error_code": texto(pdu.get("network_error_code")),
        "err": do_texto.err,
        "stat": do_texto.stat,
        "sub": do_texto.sub,
        "dlvrd": do_texto.dlvrd,
    }
    return {nome: valor for nome, valor in possiveis.items() if valor is not None}


def _pode_ser_recibo(esm_class: Any) -> bool:
    """Sem esm_class legível não se sabe, e lê-se; com ele, tem de ter um dos bits de recibo."""
    return _ler_bits(esm_class) is None or bool(_tipo(esm_class) & (_RECIBO | _INTERMEDIARIA))


def _tipo(esm_class: Any) -> int:
    return (_ler_bits(esm_class) or 0) & _MASCARA_TIPO


def _ler_bits(valor: Any) -> int | None:
    """`4`, `0x04` ou `04` → inteiro; None se ausente ou ilegível."""
    limpo = (texto(valor) or "")[:8]
    try:
        return int(limpo, 16) if limpo.lower().startswith("0x") else int(limpo, 10)
    except ValueError:
        return None


FORMATO = Formato(slug="smpp", versao=1, nome="SMPP por HTTP", ler=ler, estados=ESTADOS)
