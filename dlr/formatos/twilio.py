"""Twilio Programmable Messaging: POST de formulário no `StatusCallback` a cada mudança de estado."""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from urllib.parse import parse_qs, parse_qsl, urlsplit

from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.dominio.tempos import ler_smpp
from dlr.formatos.contrato import Contexto, Credencial, Formato, iguais
from dlr.formatos.corpo import PARAMETROS_MAXIMOS, CorpoIlegivel, ilegivel, ler_qualquer, texto

ESTADOS = {
    "scheduled": Estado.SCHEDULED,
    "accepted": Estado.ACCEPTED,  # o serviço aceitou e ainda escolhe o remetente
    "queued": Estado.ACCEPTED,
    "sending": Estado.ENROUTE,
    "sent": Estado.ENROUTE,  # a operadora mais próxima aceitou; sem recibo dela, é o último que chega
    "delivered": Estado.DELIVERED,
    "read": Estado.DELIVERED,  # depois de delivered, em canais que confirmam leitura; para nós, o mesmo final
    "undelivered": Estado.UNDELIVERABLE,
    "failed": Estado.REJECTED,  # ? não chegou a sair do Twilio, em geral; encerra de todo modo
    "canceled": Estado.DELETED,
}
# `receiving` e `received` são de mensagens recebidas; `partially_delivered` não tem sentido documentado aqui.

_ALGORITMOS = {"HMAC_SHA1": "sha1", "HMAC_SHA256": "sha256"}
_AUTORIDADE = re.compile(r"(https?)://([^/?#]*?)(:\d+)?(?=[/?#]|\Z)")
_EXTRAS = ("AccountSid", "MessagingServiceSid", "ChannelPrefix", "ChannelStatusMessage", "ErrorMessage")


def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
    """Um item por chamada."""
    try:
        campos = ler_qualquer(chamada)
    except CorpoIlegivel as erro:
        return [ilegivel(str(erro), chamada.corpo or chamada.consulta)]
    id_externo = texto(campos.get("MessageSid")) or texto(campos.get("SmsSid"))
    estado_bruto = texto(campos.get("MessageStatus")) or texto(campos.get("SmsStatus"))
    if id_externo is None and estado_bruto is None:
        return [ilegivel("esperava os campos MessageSid e MessageStatus", chamada.corpo or chamada.consulta)]
    recibo = Recibo(
        id_externo=id_externo,
        estado_bruto=estado_bruto,
        estado=ESTADOS.get((estado_bruto or "").lower()),
        codigo_erro=texto(campos.get("ErrorCode")),
        origem=texto(campos.get("From")),
        destino=texto(campos.get("To")),
        # Repassada da operadora, sem fuso e nem sempre presente.
        concluida=ler_smpp(texto(campos.get("RawDlrDoneDate")), contexto.fuso),
        extras={nome: valor for nome in _EXTRAS if (valor := texto(campos.get(nome)))},
    )
    return [recibo]


def conferir_assinatura(chamada: Chamada, credencial: Credencial, agora: datetime) -> bool | None:
    """`X-Twilio-Signature`: HMAC em base64 da URL inteira seguida de cada parâmetro do formulário, por nome.

    Com `bodySHA256` na consulta (corpo que não é formulário), assina-se só a URL, e o corpo se confere pelo
    resumo que está nela. A chave é `segredo`: o Auth Token, ou a SharedKey da regra de webhooks quando o
    cabeçalho de configuração diz o algoritmo. Devolve None sem o cabeçalho ou sem segredo. `agora` não conta:
    o Twilio não assina a hora, e uma repetição não tem efeito.
    """
    recebida = chamada.cabecalhos.get("x-twilio-signature", "").strip()
    if not recebida or not credencial.segredo:
        return None
    algoritmo = _ler_algoritmo(chamada.cabecalhos.get("x-twilio-webhooks-signature-settings", ""))
    complemento = _ler_complemento(chamada)
    if algoritmo is None or complemento is None:
        return False
    return any(
        iguais(_assinar(url + complemento, credencial.segredo, algoritmo), recebida)
        for url in _listar_urls(chamada.url)
    )


def _ler_algoritmo(configuracao: str) -> str | None:
    if not configuracao.strip():
        return "sha1"
    pares = (parte.partition("=") for parte in configuracao.split(","))
    valores = {nome.strip().lower(): valor.strip().upper() for nome, _, valor in pares}
    return _ALGORITMOS.get(valores.get("algorithm", ""))


def _ler_complemento(chamada: Chamada) -> str | None:
    """O que se assina depois da URL; None quando o corpo não está coberto por assinatura nenhuma."""
    resumo = parse_qs(urlsplit(chamada.url).query).get("bodySHA256", [""])[0]
    if resumo:
        return "" if iguais(hashlib.sha256(chamada.corpo).hexdigest(), resumo.lower()) else None
    if "json" in chamada.cabecalhos.get("content-type", ""):
        return None
    try:
        pares = parse_qsl(
            chamada.corpo.decode("utf-8"), keep_blank_values=True, max_num_fields=PARAMETROS_MAXIMOS
        )
    except ValueError:
        return None
    # Nome repetido: cada valor distinto uma vez, em ordem, como fazem as bibliotecas do fornecedor.
    return "".join(nome + valor for nome, valor in sorted(set(pares)))


def _listar_urls(url: str) -> tuple[str, ...]:
    """A URL como está, sem porta e com ela: o fornecedor não assina sempre da mesma forma."""
    achada = _AUTORIDADE.match(url)
    if achada is None:
        return (url,)
    esquema, anfitriao, porta = achada.groups()
    porta = porta or (":443" if esquema == "https" else ":80")
    resto = url[achada.end() :]
    return (url, f"{esquema}://{anfitriao}{resto}", f"{esquema}://{anfitriao}{porta}{resto}")


def _assinar(conteudo: str, segredo: str, algoritmo: str) -> str:
    return base64.b64encode(
        hmac.digest(segredo.encode(), conteudo.encode("utf-8", "surrogatepass"), algoritmo)
    ).decode()


FORMATO = Formato(
    slug="twilio",
    versao=1,
    nome="Twilio",
    ler=ler,
    estados=ESTADOS,
    conferir_assinatura=conferir_assinatura,
)
