"""Os callbacks, até o COMMIT: quem é, o que se guarda, o que se responde."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from django.conf import settings
from django.utils import timezone

from config.chegada import Chegada, Resposta, responder_erro
from dlr import gravacao
from dlr.autenticacao import NaoAutentico, buscar_integracao, conferir_callback
from dlr.cofre import MASCARA, mascarar_segredos
from dlr.dominio.recibo import Chamada
from dlr.gravacao import RecepcaoNova, RecusaNova
from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa import ItemDoGrupo, TetoDaPorta, em_cada, gravar_juntos

CORPO_MAXIMO_BYTES = 4 * 1024 * 1024  # cem recibos com folga de duas ordens
# Os que ajudam a ler ou a entender um recibo; nunca os que carregam segredo.
CABECALHOS_GUARDADOS = frozenset(
    "content-type content-encoding user-agent date x-request-id i-twilio-idempotency-token telnyx-timestamp "
    "x-bulksms-event x-bulksms-delivery x-bulksms-delivery-attempt".split()
)
teto = TetoDaPorta(CAIXA_DE_RECEPCOES)


class Callback(ItemDoGrupo[RecepcaoNova | RecusaNova]):
    """Uma chamada a caminho do COMMIT: a recepção a guardar, ou a recusa a contar."""

    __slots__ = ()


class _Recusada(Exception):
    """A chamada não entra; `status` HTTP, `codigo` estável e a frase."""

    def __init__(self, integracao_id: int | None, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.integracao_id = integracao_id
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


def receber(itens: Sequence[Callback], agora: datetime) -> bool:
    """Autentica e grava as chamadas; cada item sai com a resposta ou com a falha. Devolve se gravou alguma.

    Uma chamada autêntica que não se sabe ler é gravada do mesmo jeito: a exceção nasce depois, no worker. O que
    se recusa é contado antes de responder. Falhas: `PortaFechada` (503) ou o erro do banco.
    """
    em_cada(itens, lambda item: teto.conferir(settings.TETO_DA_CAIXA_DE_RECEPCOES))
    em_cada(itens, lambda item: _conferir(item, agora))
    gravar_juntos([item for item in itens if isinstance(item.linha, RecusaNova)], gravacao.contar_recusas)
    autenticas = [item for item in itens if isinstance(item.linha, RecepcaoNova)]
    return gravar_juntos(autenticas, gravacao.gravar_recepcoes) > 0


def _conferir(item: Callback, agora: datetime) -> None:
    try:
        item.linha, item.resposta = _receber(item.pedido.chegada, agora)
    except _Recusada as recusa:
        dia = timezone.localtime(agora).date()
        item.linha = RecusaNova(integracao_id=recusa.integracao_id, dia=dia, motivo=recusa.codigo)
        item.resposta = responder_erro(recusa.status, recusa.codigo, recusa.detalhe)


def _receber(chegada: Chegada, agora: datetime) -> tuple[RecepcaoNova, Resposta]:
    """A recepção por gravar e o que dizer depois dela. Levanta `_Recusada`, ou o erro do banco."""
    integracao = buscar_integracao(chegada.partes["slug"] or "")
    if integracao is None:
        raise _Recusada(None, 404, "integracao_inexistente", "Não há integração com este endereço.")
    id_da_integracao, formato = integracao.vista.id, integracao.vista.formato
    if chegada.metodo not in formato.metodos:
        metodos = " ou ".join(formato.metodos)
        raise _Recusada(id_da_integracao, 405, "metodo_nao_permitido", f"Este formato usa {metodos}.")
    if len(chegada.corpo) > CORPO_MAXIMO_BYTES:
        raise _Recusada(id_da_integracao, 413, "corpo_grande", "O corpo passa de 4 MiB.")
    chamada, token = montar_chamada(chegada), chegada.partes.get("token")
    try:
        conferir_callback(chamada, integracao, token_do_caminho=token, ip=chegada.ip, agora=agora)
    except NaoAutentico as erro:
        raise _Recusada(id_da_integracao, erro.status, erro.codigo, erro.detalhe) from erro
    recepcao = RecepcaoNova(
        integracao_id=id_da_integracao,
        recebida_em=agora,
        metodo=chamada.metodo,
        url=mascarar(chamada.url, token)[:4000],
        consulta=chamada.consulta,
        cabecalhos=_guardaveis(chamada.cabecalhos),
        corpo=chamada.corpo,
    )
    esperada = formato.resposta
    return recepcao, Resposta(status=esperada.status, corpo=esperada.corpo, tipo=esperada.tipo)


def montar_chamada(chegada: Chegada) -> Chamada:
    """A chamada como chegou. A URL é a pública: `X-Forwarded-Proto` só conta atrás de um proxy declarado."""
    # Como veio, sem conferir contra a lista: quem autentica é a prova, e uma transportadora que chama por IP
    # perderia o recibo.
    hospedeiro = chegada.cabecalhos.get("host", "") or chegada.servidor
    caminho = quote(chegada.caminho, errors="replace")
    url = f"{_esquema(chegada)}://{hospedeiro}{caminho}"
    if chegada.consulta:
        url += f"?{chegada.consulta.decode('latin-1')}"
    return Chamada(
        metodo=chegada.metodo,
        url=url,
        consulta=chegada.consulta,
        cabecalhos=chegada.cabecalhos,
        corpo=chegada.corpo,
    )


def _esquema(chegada: Chegada) -> str:
    """`http` ou `https`, como o Django o decide (SECURE_PROXY_SSL_HEADER)."""
    anotado = chegada.cabecalhos.get("x-forwarded-proto")
    if settings.SECURE_PROXY_SSL_HEADER is None or anotado is None:
        return chegada.esquema
    return "https" if anotado.partition(",")[0].strip() == "https" else "http"


def mascarar(url: str, token: str | None) -> str:
    """A URL sem o segredo, para ser guardada e mostrada."""
    return mascarar_segredos(url.replace(quote(token), MASCARA) if token else url)


def _guardaveis(cabecalhos: Mapping[str, str]) -> dict[str, str]:
    return {
        nome: valor.replace("\x00", "\ufffd")[:1000]
        for nome, valor in cabecalhos.items()
        if nome in CABECALHOS_GUARDADOS
    }
