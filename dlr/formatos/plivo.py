"""Plivo: formulário (POST) ou consulta (GET), um recibo por chamada."""

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_iso
from dlr.formatos.contrato import Contexto, Credencial, Formato, iguais
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_qualquer, texto

ESTADOS = {
    "queued": Estado.ACCEPTED,
    "sent": Estado.ENROUTE,  # entregue à operadora, não ao aparelho
    "delivered": Estado.DELIVERED,
    "undelivered": Estado.UNDELIVERABLE,
    "failed": Estado.UNDELIVERABLE,
    "rejected": Estado.REJECTED,  # ? some da documentação mais nova; final na mais velha
}
_EXTRAS = ("sequence", "units", "mcc", "mnc", "parentmessageuuid", "partinfo", "type")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item. A caixa e o sublinhado dos nomes variam (`MessageUUID`, `message_uuid`): comparam-se sem eles."""
    try:
        campos = {nome.replace("_", "").lower(): valor for nome, valor in ler_qualquer(chamada).items()}
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo or chamada.consulta)]
    if "messageuuid" not in campos and "status" not in campos:
        return [ilegivel("faltam MessageUUID e Status", chamada.corpo or chamada.consulta)]
    return [_montar(campos, contexto)]


def _montar(campos: Mapping[str, Any], contexto: Contexto) -> Recibo:
    estado_bruto = texto(campos.get("status"))
    return Recibo(
        # ParentMessageUUID e PartInfo estão reservados: o recibo é sempre da MessageUUID.
        id_externo=texto(campos.get("messageuuid")),
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").lower()),
        codigo_erro=texto(campos.get("errorcode")),
        origem=texto(campos.get("from")),
        destino=texto(campos.get("to")),
        apresentada=ler_iso(texto(campos.get("messagetime")), contexto.fuso),
        concluida=ler_iso(texto(campos.get("deliveryreporttime")), contexto.fuso),
        extras={campo: valor for campo in _EXTRAS if (valor := texto(campos.get(campo)))},
    )


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """HMAC-SHA256 com o Auth Token, V3 (URL, parâmetros e nonce) ou V2 (URL sem consulta e nonce).

    A V2 é a documentada para mensagens e não cobre os parâmetros. Basta uma conferir: quem forja tira o
    cabeçalho que quiser, então exigir a V3 quando ela vem não protegeria mais.
    """
    provas = [
        (chamada.cabecalhos.get(f"x-plivo-signature-{variante}{versao}"), versao)
        for versao in ("v3", "v2")
        for variante in ("", "ma-")  # Ma: assinada com o token da conta principal, não o da subconta
    ]
    presentes = [(assinatura, versao) for assinatura, versao in provas if assinatura]
    if not presentes or not credencial.segredo:
        return None
    return any(_confere(chamada, credencial.segredo, assinatura, versao) for assinatura, versao in presentes)


def _confere(chamada: Chamada, segredo: str, assinatura: str, versao: str) -> bool:
    nonce = chamada.cabecalhos.get(f"x-plivo-signature-{versao}-nonce", "")
    if not nonce:
        return False
    try:
        mensagem = _url_base(chamada) + nonce if versao == "v2" else f"{_mensagem_v3(chamada)}.{nonce}"
    except CorpoIlegivel:
        return False
    esperada = base64.b64encode(hmac.digest(segredo.encode(), mensagem.encode(), hashlib.sha256)).decode()
    # A V3 traz várias, separadas por vírgula, enquanto um token está sendo trocado.
    return any(iguais(esperada, uma.strip()) for uma in assinatura.split(","))


def _mensagem_v3(chamada: Chamada) -> str:
    """A URL com a consulta em ordem e, no POST, `.` e os parâmetros do corpo em ordem, colados sem separador."""
    consulta = "&".join(f"{nome}={valor}" for nome, valor in sorted(_pares(chamada.consulta)))
    corpo = _pares(chamada.corpo) if chamada.metodo == "POST" else []
    if not corpo:
        return _url_base(chamada) + (f"?{consulta}" if consulta else "")
    colados = "".join(nome + valor for nome, valor in sorted(corpo))
    return f"{_url_base(chamada)}?{consulta}{'.' if consulta else ''}{colados}"


def _pares(texto_cru: bytes) -> Iterable[tuple[str, str]]:
    try:
        return parse_qsl(texto_cru.decode(), keep_blank_values=True, errors="strict", max_num_fields=1_000)
    except ValueError as erro:
        raise CorpoIlegivel("os parâmetros não são um formulário em UTF-8") from erro


def _url_base(chamada: Chamada) -> str:
    partes = urlsplit(chamada.url)
    return f"{partes.scheme}://{partes.netloc}{partes.path}"


FORMATO = Formato(
    slug="plivo",
    versao=1,
    nome="Plivo",
    ler=ler,
    estados=ESTADOS,
    conferir_assinatura=conferir_assinatura,
    metodos=("POST", "GET"),
)
