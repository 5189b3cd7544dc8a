"""Jasmin SMS Gateway: GET ou POST de formulário no `dlr-url` (níveis 1, 2 e 3)."""

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo, Resposta
from dlr.dominio.tempos import ler_smpp
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_qualquer, texto
from dlr.formatos.texto_smpp import ESTADOS_DO_TEXTO

ESTADOS = {
    **ESTADOS_DO_TEXTO,  # níveis 2 e 3, quando o recibo vem do aparelho
    "ESME_ROK": Estado.ACCEPTED,  # nível 1: o SMSC aceitou; nunca é entrega
}
# Os demais ESME_R* são a recusa do submit_sm. O Jasmin apaga o pedido de recibo ao receber uma: nada mais virá.
_RECUSA = "ESME_R"

_EXTRAS = ("id_smsc", "level", "sub", "dlvrd", "connector")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por chamada. O id é o `id` do Jasmin (o que `/send` devolveu), igual nos níveis 1 e 2."""
    try:
        campos = ler_qualquer(chamada)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo or chamada.consulta)]
    id_externo, estado_bruto = texto(campos.get("id")), texto(campos.get("message_status"))
    if id_externo is None and estado_bruto is None:
        return [ilegivel("esperava os campos id e message_status", chamada.corpo or chamada.consulta)]
    recibo = Recibo(
        id_externo=id_externo,
        estado_bruto=estado_bruto,
        estado=_ler_estado((estado_bruto or "").upper()),
        codigo_erro=texto(campos.get("err")),
        apresentada=ler_smpp(texto(campos.get("subdate")), contexto.fuso),
        concluida=ler_smpp(texto(campos.get("donedate")), contexto.fuso),
        extras={nome: valor for nome in _EXTRAS if (valor := texto(campos.get(nome)))},
    )
    return [recibo]


def _ler_estado(codigo: str) -> Estado | None:
    if codigo in ESTADOS:
        return ESTADOS[codigo]
    return Estado.REJECTED if codigo.startswith(_RECUSA) else None


FORMATO = Formato(
    slug="jasmin",
    versao=1,
    nome="Jasmin",
    ler=ler,
    estados=ESTADOS,
    # Sem este corpo exato o Jasmin conta como falha: três tentativas, e o recibo se perde.
    resposta=Resposta(status=200, corpo=b"ACK/Jasmin"),
    metodos=("GET", "POST"),
)
