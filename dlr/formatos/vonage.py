"""Vonage (ex-Nexmo) SMS API: GET ou POST, em consulta, formulário ou JSON, conforme a conta."""

import hashlib
import hmac
from datetime import datetime

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_smpp
from dlr.formatos.contrato import Contexto, Credencial, Formato, iguais
from dlr.formatos.corpo import CorpoIlegivel, ilegivel, ler_json, ler_parametros, ler_qualquer, texto

ESTADOS = {
    "accepted": Estado.ACCEPTED,
    "buffered": Estado.ENROUTE,
    "unknown": Estado.UNKNOWN,  # ? “sem informação útil”: não encerra
    "delivered": Estado.DELIVERED,
    "failed": Estado.UNDELIVERABLE,
    "expired": Estado.EXPIRED,
    "rejected": Estado.REJECTED,
    "deleted": Estado.DELETED,  # ? não está na lista pública atual; contas antigas o recebem
}

# O tamanho da assinatura diz o algoritmo que a conta escolheu; 32 serve a dois.
_HMAC_POR_TAMANHO = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
# `message-timestamp` é quando a Vonage começou a nos chamar: muda entre reenvios, não é hora da mensagem.
_EXTRAS = ("message-timestamp", "network-code", "client-ref", "price")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por chamada. Mensagem longa tem um recibo por parte, cada um com o seu `messageId`."""
    try:
        campos = ler_qualquer(chamada)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo or chamada.consulta)]
    id_externo, estado_bruto = texto(campos.get("messageId")), texto(campos.get("status"))
    if id_externo is None and estado_bruto is None:
        return [ilegivel("esperava os campos messageId e status", chamada.corpo or chamada.consulta)]
    recibo = Recibo(
        id_externo=id_externo,
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").lower()),
        codigo_erro=texto(campos.get("err-code")),
        origem=texto(campos.get("to")),  # no recibo, `to` é o remetente e `msisdn` é quem recebeu
        destino=texto(campos.get("msisdn")),
        # Sem fuso escrito, e o fuso varia com o estado: não serve para ordenar.
        concluida=ler_smpp(texto(campos.get("scts")), contexto.fuso),
        extras={nome: valor for nome in _EXTRAS if (valor := texto(campos.get(nome)))},
    )
    return [recibo]


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """`sig`: resumo em hexadecimal de `&nome=valor…` por nome, sem `sig`, com `&` e `=` dos valores como `_`.

    MD5 com o segredo no fim (o padrão da conta) ou HMAC MD5, SHA-1, SHA-256 ou SHA-512 com ele de chave.
    Devolve None sem `sig` ou sem segredo. `timestamp` é assinado mas não expira aqui: o reenvio vai a 72 h, não
    se sabe se é assinado de novo, e uma repetição não tem efeito.
    """
    parametros = _listar_parametros(chamada)
    assinatura = parametros.pop("sig", "").strip().lower()
    if not assinatura or not credencial.segredo:
        return None
    algoritmo = _HMAC_POR_TAMANHO.get(len(assinatura))
    if algoritmo is None or not assinatura.isascii():
        return False
    limpos = {nome: valor.replace("&", "_").replace("=", "_") for nome, valor in parametros.items()}
    linha = "".join(f"&{nome}={limpos[nome]}" for nome in sorted(limpos)).encode("utf-8", "surrogatepass")
    chave = credencial.segredo.encode()
    esperadas = [hmac.digest(chave, linha, algoritmo).hex()]
    if algoritmo == "md5":
        esperadas.append(hashlib.md5(linha + chave).hexdigest())
    return any(iguais(esperada, assinatura) for esperada in esperadas)


def _listar_parametros(chamada: Chamada) -> dict[str, str]:
    """Os campos assinados, sem aparar nada: a consulta no GET, só o corpo no POST."""
    try:
        if chamada.metodo == "GET":
            return ler_parametros(chamada.consulta)
        if chamada.corpo.lstrip()[:1] != b"{":
            return ler_parametros(chamada.corpo)
        lido = ler_json(chamada.corpo)
    except CorpoIlegivel:
        return {}
    return {nome: valor if isinstance(valor, str) else texto(valor) or "" for nome, valor in lido.items()}


FORMATO = Formato(
    slug="vonage",
    versao=1,
    nome="Vonage SMS API",
    ler=ler,
    estados=ESTADOS,
    conferir_assinatura=conferir_assinatura,
    metodos=("GET", "POST"),
)
