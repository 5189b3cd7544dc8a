"""Africa's Talking: formulário, um recibo por chamada, sem data."""

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_qualquer, texto

ESTADOS = {
    "SENT": Estado.ENROUTE,  # saiu da rede deles
    "SUBMITTED": Estado.ENROUTE,  # entregue à operadora
    "BUFFERED": Estado.ENROUTE,  # na fila da operadora
    "SUCCESS": Estado.DELIVERED,  # documentado como entrega no aparelho
    "REJECTED": Estado.REJECTED,
    "FAILED": Estado.UNDELIVERABLE,
    "EXPIRED": Estado.EXPIRED,  # ? não está na documentação que lemos; final pelo nome
}
_EXTRAS = ("networkCode", "retryCount")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item. Não há data nem id de evento: o mesmo estado duas vezes é uma repetição."""
    try:
        campos = ler_qualquer(chamada)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo)]
    if "id" not in campos and "status" not in campos:
        return [ilegivel("faltam id e status", chamada.corpo)]
    estado_bruto = texto(campos.get("status"))
    return [
        Recibo(
            id_externo=texto(campos.get("id")),
            estado_bruto=estado_bruto,
            estado=ESTADOS.get((estado_bruto or "").upper()),
            codigo_erro=texto(campos.get("failureReason")),
            destino=texto(campos.get("phoneNumber")),
            extras={campo: valor for campo in _EXTRAS if (valor := texto(campos.get(campo)))},
        )
    ]


FORMATO = Formato(slug="africastalking", versao=1, nome="Africa's Talking", ler=ler, estados=ESTADOS)
