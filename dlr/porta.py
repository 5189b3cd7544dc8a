"""O callback, até o COMMIT: quem é, o que se guarda, o que se responde."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.utils import timezone

from dlr import gravacao
from dlr.autenticacao import NaoAutentico, buscar_integracao, conferir_callback
from dlr.cofre import MASCARA, mascarar_segredos
from dlr.dominio.recibo import Chamada, Resposta
from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa import TetoDaPorta

CORPO_MAXIMO_BYTES = 4 * 1024 * 1024  # cem recibos com folga de duas ordens
PESO_POR_BYTES = 300  # um recibo ocupa cerca disto; o peso só limita a transação do worker
# Os que ajudam a ler ou a entender um recibo; nunca os que carregam segredo.
CABECALHOS_GUARDADOS = frozenset(
    "content-type content-encoding user-agent date x-request-id i-twilio-idempotency-token telnyx-timestamp "
    "x-bulksms-event x-bulksms-delivery x-bulksms-delivery-attempt".split()
)
registro = logging.getLogger("lastro.dlr")
teto = TetoDaPorta(CAIXA_DE_RECEPCOES)


class CallbackRecusado(Exception):
    """A chamada não entra; `status` HTTP, `codigo` estável e a frase. Já foi contada."""

    def __init__(self, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


def receber(request: HttpRequest, slug: str, token: str | None) -> Resposta:
    """Autentica, grava a recepção e devolve o que a transportadora espera ouvir.

    Levanta `CallbackRecusado` (contado), `PortaFechada` (503) ou o erro do banco. Uma chamada autêntica que
    não se sabe ler é gravada do mesmo jeito: a exceção nasce depois, no worker.
    """
    agora = timezone.now()
    teto.conferir(settings.TETO_DA_CAIXA_DE_RECEPCOES)
    integracao = buscar_integracao(slug)
    if integracao is None:
        raise _recusar(None, agora, 404, "integracao_inexistente", "Não há integração com este endereço.")
    formato = integracao.vista.formato
    if request.method not in formato.metodos:
        raise _recusar(
            integracao.vista.id,
            agora,
            405,
            "metodo_nao_permitido",
            f"Este formato usa {' ou '.join(formato.metodos)}.",
        )
    corpo = _ler_corpo(request)
    if corpo is None:
        raise _recusar(integracao.vista.id, agora, 413, "corpo_grande", "O corpo passa de 4 MiB.")
    chamada = montar_chamada(request, corpo)
    try:
        conferir_callback(
            chamada, integracao, token_do_caminho=token, ip=request.META.get("REMOTE_ADDR", ""), agora=agora
        )
    except NaoAutentico as erro:
        raise _recusar(integracao.vista.id, agora, erro.status, erro.codigo, erro.detalhe) from erro
    gravacao.gravar_recepcao(
        integracao_id=integracao.vista.id,
        recebida_em=agora,
        metodo=chamada.metodo,
        url=mascarar(chamada.url, token)[:4000],
        consulta=chamada.consulta,
        cabecalhos=_guardaveis(chamada.cabecalhos),
        corpo=corpo,
        peso=1 + len(corpo) // PESO_POR_BYTES,
    )
    return formato.resposta


def _ler_corpo(request: HttpRequest) -> bytes | None:
    """O corpo, ou None acima do teto."""
    try:
        corpo = request.body
    except RequestDataTooBig:  # o teto do Django, maior que o nosso, que ele responderia com 400
        return None
    return corpo if len(corpo) <= CORPO_MAXIMO_BYTES else None


def montar_chamada(request: HttpRequest, corpo: bytes) -> Chamada:
    """A chamada como chegou. A URL é a pública: `X-Forwarded-Proto` só conta atrás de um proxy declarado."""
    cabecalhos = {nome.lower(): valor for nome, valor in request.headers.items()}
    consulta = request.META.get("QUERY_STRING", "")
    # Como veio, sem conferir contra a lista: quem autentica é a prova, e uma transportadora que chama por IP
    # perderia o recibo.
    hospedeiro = request.META.get("HTTP_HOST", "") or request.META.get("SERVER_NAME", "")
    url = f"{request.scheme}://{hospedeiro}{quote(request.path)}" + (f"?{consulta}" if consulta else "")
    return Chamada(
        metodo=request.method or "",
        url=url,
        consulta=consulta.encode("latin-1"),
        cabecalhos=cabecalhos,
        corpo=corpo,
    )


def mascarar(url: str, token: str | None) -> str:
    """A URL sem o segredo, para ser guardada e mostrada."""
    return mascarar_segredos(url.replace(quote(token), MASCARA) if token else url)


def _guardaveis(cabecalhos: Mapping[str, str]) -> dict[str, Any]:
    return {
        nome: valor.replace("\x00", "\ufffd")[:1000]
        for nome, valor in cabecalhos.items()
        if nome in CABECALHOS_GUARDADOS
    }


def contar_recusa(status: int, codigo: str, detalhe: str) -> None:
    """Conta uma recusa sem integração conhecida; sem banco, só o registro a diz."""
    try:
        gravacao.contar_recusa(None, timezone.localdate(), codigo)
    except (OperationalError, InterfaceError) as erro:
        registro.error("recusa nao contada", extra={"codigo": codigo, "erro": type(erro).__name__})


def _recusar(
    integracao_id: int | None, agora: datetime, status: int, codigo: str, detalhe: str
) -> CallbackRecusado:
    gravacao.contar_recusa(integracao_id, timezone.localtime(agora).date(), codigo)
    return CallbackRecusado(status, codigo, detalhe)
