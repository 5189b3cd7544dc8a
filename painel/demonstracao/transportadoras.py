"""Como cada transportadora da demonstração conta o que houve: o corpo da chamada no formato dela. Puro."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import orjson

FORMULARIO, JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recibo:
    """O que a transportadora tem a dizer; `estado` é um nome do SMPP, que cada formato escreve do seu jeito."""

    id_externo: str
    estado: str
    destino: str
    apresentada_em: datetime
    concluida_em: datetime
    erro: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transportadora:
    """Uma integração da demonstração: o formato, as opções, e quem escreve o corpo."""

    apelido: str
    nome: str
    formato: str
    mensagens: int
    tipo: str
    escrever: Callable[[Recibo], bytes]
    remetente: str
    opcoes: tuple[str, ...] = ()


def _smpp(recibo: Recibo) -> bytes:
    curtos = {
        "DELIVERED": "DELIVRD",
        "UNDELIVERABLE": "UNDELIV",
        "ACCEPTED": "ACCEPTD",
        "REJECTED": "REJECTD",
    }
    texto = (
        f"id:{recibo.id_externo} sub:001 dlvrd:{int(recibo.estado == 'DELIVERED'):03d}"
        f" submit date:{recibo.apresentada_em:%y%m%d%H%M%S} done date:{recibo.concluida_em:%y%m%d%H%M%S}"
        f" stat:{curtos.get(recibo.estado, recibo.estado)} err:{recibo.erro or '000'} text:Seu codigo"
    )
    campos = {
        "short_message": texto,
        "source_addr": recibo.destino,
        "destination_addr": "27900",
        "esm_class": 4,
    }
    return orjson.dumps(campos)


def _infobip(recibo: Recibo) -> bytes:
    nomes = {
        "DELIVERED": (3, "DELIVERED", 5, "DELIVERED_TO_HANDSET"),
        "UNDELIVERABLE": (2, "UNDELIVERABLE", 9, "UNDELIVERABLE_NOT_DELIVERED"),
        "EXPIRED": (4, "EXPIRED", 15, "EXPIRED_EXPIRED"),
        "REJECTED": (5, "REJECTED", 6, "REJECTED_NETWORK"),
        "ENROUTE": (1, "PENDING", 7, "PENDING_ENROUTE"),
    }
    grupo, nome_do_grupo, numero, nome = nomes.get(recibo.estado, (9, recibo.estado, 99, recibo.estado))
    resultado = {
        "messageId": recibo.id_externo,
        "to": recibo.destino.removeprefix("+"),
        "sentAt": recibo.apresentada_em.isoformat(timespec="milliseconds"),
        "doneAt": recibo.concluida_em.isoformat(timespec="milliseconds"),
        "smsCount": 1,
        "status": {"groupId": grupo, "groupName": nome_do_grupo, "id": numero, "name": nome},
        "error": {
            "groupId": int(bool(recibo.erro)),
            "id": int(recibo.erro or 0),
            "permanent": bool(recibo.erro),
        },
    }
    return orjson.dumps({"results": [resultado]})


def _zenvia(recibo: Recibo) -> bytes:
    codigos = {
        "DELIVERED": "DELIVERED",
        "UNDELIVERABLE": "NOT_DELIVERED",
        "ENROUTE": "SENT",
        "REJECTED": "REJECTED",
    }
    situacao: dict[str, Any] = {
        "timestamp": recibo.concluida_em.isoformat(timespec="seconds"),
        "code": codigos.get(recibo.estado, recibo.estado),
    }
    if recibo.erro:
        situacao["causes"] = [{"channelErrorCode": recibo.erro, "reason": "Aparelho fora de alcance"}]
    return orjson.dumps(
        {
            "type": "MESSAGE_STATUS",
            "channel": "sms",
            "messageId": recibo.id_externo,
            "messageStatus": situacao,
        }
    )


def _twilio(recibo: Recibo) -> bytes:
    estados = {
        "DELIVERED": "delivered",
        "UNDELIVERABLE": "undelivered",
        "ENROUTE": "sent",
        "REJECTED": "failed",
    }
    campos = {
        "MessageSid": recibo.id_externo,
        "MessageStatus": estados.get(recibo.estado, recibo.estado.lower()),
        "To": recibo.destino,
        "From": "+15005550006",
        "AccountSid": "AC00000000000000000000000000000000",
    }
    return urlencode(campos | ({"ErrorCode": recibo.erro} if recibo.erro else {})).encode()


def _padrao(recibo: Recibo) -> bytes:
    campos = {
        "id_externo": recibo.id_externo,
        "estado": recibo.estado,
        "destino": recibo.destino,
        "apresentado_em": recibo.apresentada_em.isoformat(timespec="seconds"),
        "concluido_em": recibo.concluida_em.isoformat(timespec="seconds"),
    }
    return orjson.dumps(campos | ({"erro": recibo.erro} if recibo.erro else {}))


TRANSPORTADORAS = (
    Transportadora(
        apelido="operadora-tupi",
        nome="Operadora Tupi (SMPP)",
        formato="smpp",
        mensagens=44,
        tipo=JSON,
        escrever=_smpp,
        remetente="27900",
        opcoes=("fuso=America/Sao_Paulo",),
    ),
    Transportadora(
        apelido="infobip-cobranca",
        nome="Infobip · cobrança",
        formato="infobip",
        mensagens=30,
        tipo=JSON,
        escrever=_infobip,
        remetente="COBRANCA",
    ),
    Transportadora(
        apelido="zenvia-avisos",
        nome="Zenvia · avisos",
        formato="zenvia",
        mensagens=28,
        tipo=JSON,
        escrever=_zenvia,
        remetente="AURORA",
    ),
    Transportadora(
        apelido="twilio-exterior",
        nome="Twilio · exterior",
        formato="twilio",
        mensagens=16,
        tipo=FORMULARIO,
        escrever=_twilio,
        remetente="+15005550006",
        opcoes=("recibo_do_aparelho=nao",),
    ),
    # A janela curta deixa ver o recibo que ninguém registrou virar exceção; no fim volta ao padrão.
    Transportadora(
        apelido="codigos",
        nome="Códigos de acesso",
        formato="padrao",
        mensagens=40,
        tipo=JSON,
        escrever=_padrao,
        remetente="AURORA",
        opcoes=("janela_espera_s=2",),
    ),
)
