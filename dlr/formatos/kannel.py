"""Kannel (bearerbox/smsbox): um GET no `dlr-url` que nós escrevemos, com os códigos de escape preenchidos.

Os nomes dos parâmetros são do modelo de URL em `docs/dlr/kannel.md`; os apelidos cobrem os mais usados.
"""

from collections.abc import Mapping
from datetime import UTC

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo, Tempo
from dlr.dominio.tempos import ler_epoca, ler_mascara, ler_smpp
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_parametros, texto
from dlr.formatos.texto_smpp import TextoSmpp, ler_texto

ESTADOS = {
    "1": Estado.DELIVERED,
    "2": Estado.UNDELIVERABLE,  # ? o Kannel também põe aqui EXPIRED, DELETED, REJECTED e UNKNOWN: ver a resposta crua
    "4": Estado.ENROUTE,  # ? ENROUTE, SCHEDULED e ACCEPTED viram todos 4
    "8": Estado.ACCEPTED,  # aceita pelo SMSC: nunca é entrega
    "16": Estado.REJECTED,
    "32": Estado.ENROUTE,  # notificação intermediária
    "34": Estado.EXPIRED,  # ? só de uma ramificação do Kannel (0x22)
    "66": Estado.UNKNOWN,  # ? só da mesma ramificação (0x42)
}

_TIPO = ("tipo", "type", "status", "dlr-type")  # %d
_ID = ("id", "fid", "foreign-id", "message-id")  # %F, ou o id que nós pusemos na URL
_RESPOSTA = ("resposta", "reply", "answer")  # %A
_EM = ("em", "ts", "time")  # %t, ou %T em segundos
_ORIGEM = ("origem", "from", "sender")  # %p
_DESTINO = ("destino", "to", "receiver")  # %P
_RESPOSTA_CARACTERES = 200


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por chamada. Sem o tipo (`%d`) e sem o id não é callback do Kannel: `Ilegivel`."""
    try:
        parametros = ler_parametros(chamada.consulta)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.consulta)]
    tipo, id_externo = _primeiro(parametros, _TIPO), _primeiro(parametros, _ID)
    if tipo is None and id_externo is None:
        return [ilegivel("a consulta não traz o tipo (%d) nem o id (%F)", chamada.consulta)]
    resposta = _primeiro(parametros, _RESPOSTA)
    do_texto = ler_texto(resposta)
    estado = ESTADOS.get(tipo or "")
    recibo = Recibo(
        id_externo=id_externo,
        estado_bruto=tipo,
        estado=estado,
        codigo_erro=do_texto.err,
        origem=_primeiro(parametros, _ORIGEM),
        destino=_primeiro(parametros, _DESTINO),
        apresentada=ler_smpp(do_texto.submit_date, contexto.fuso),
        concluida=ler_smpp(do_texto.done_date, contexto.fuso) or _ler_hora(_primeiro(parametros, _EM)),
        notas=_listar_diferencas(estado, do_texto),
        extras=_listar_extras(parametros, resposta, do_texto),
    )
    return [recibo]


def _ler_hora(bruto: str | None) -> Tempo | None:
    """`%t` é sempre UTC (o fuso da integração não vale aqui), com ou sem segundos; `%T` são segundos desde 1970."""
    if bruto is None:
        return None
    if bruto.isascii() and bruto.isdigit():
        return ler_epoca(bruto)
    sem_mais = bruto.replace("+", " ")  # o Kannel escreve o espaço como `+`, e há quem o codifique de novo
    mascara = "%Y-%m-%d %H:%M:%S" if sem_mais.count(":") == 2 else "%Y-%m-%d %H:%M"
    lido = ler_mascara(sem_mais, mascara, UTC)
    return Tempo(bruto=bruto, em=lido.em if lido else None)


def _listar_diferencas(estado: Estado | None, do_texto: TextoSmpp) -> tuple[str, ...]:
    if do_texto.stat is None or do_texto.estado == estado:
        return ()
    return (f"a resposta do SMSC diz {do_texto.stat[:100]}; vale o tipo do Kannel",)


def _listar_extras(
    parametros: Mapping[str, str], resposta: str | None, do_texto: TextoSmpp
) -> dict[str, str]:
    possiveis = {
        "smsc": texto(parametros.get("smsc")),
        "stat": do_texto.stat,
        "id_do_texto": do_texto.id,
        # Fora do apêndice B (“NACK/1030/…”) a resposta não tem campos: fica o começo dela.
        "resposta": None if do_texto.e_recibo else (resposta or "")[:_RESPOSTA_CARACTERES] or None,
    }
    return {nome: valor for nome, valor in possiveis.items() if valor is not None}


def _primeiro(parametros: Mapping[str, str], nomes: tuple[str, ...]) -> str | None:
    return next((valor for nome in nomes if (valor := texto(parametros.get(nome)))), None)


FORMATO = Formato(slug="kannel", versao=1, nome="Kannel", ler=ler, estados=ESTADOS, metodos=("GET",))
