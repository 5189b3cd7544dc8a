"""Como vai uma contestação, numa frase, e a trilha dela por extenso. Puro: recebe o pedido, o aparelho e a hora."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingestao.capturas.quadros import DIVERGENCIAS_MAXIMO
from ingestao.models import Ato, AtoDeCaptura, Dispositivo, MotivoIndisponivel, Pedido, SituacaoDoPedido
from painel.admin.capturas.situacao import Situacao, decidir_situacao
from painel.admin.ficha import mostrar_espera, mostrar_instante
from painel.admin.texto_alheio import neutralizar
from painel.graficos import Parte, Proporcao, Tom, montar_proporcao, mostrar_bytes, mostrar_percentual


@dataclass(frozen=True, slots=True, kw_only=True)
class Andamento:
    """O nome curto, a cor do selo, a frase que explica, e a barra se há bytes a caminho."""

    nome: str
    cor: str
    frase: str
    barra: Proporcao | None = None


def descrever_andamento(pedido: Pedido, aparelho: Dispositivo, agora: datetime) -> Andamento:
    """A situação do pedido como quem contestou precisa ouvi-la."""
    if pedido.situacao == SituacaoDoPedido.ABERTO:
        if pedido.vence_em <= agora:
            return Andamento(nome="vencida", cor="danger", frase="O prazo passou e o quadro não chegou.")
        return _aberto(pedido, aparelho, agora)
    if pedido.situacao == SituacaoDoPedido.ATENDIDO:
        frase = "O quadro chegou e o SHA-256 confere com o da captura: é o mesmo que o aparelho viu."
        return Andamento(nome="atendida: hash confere", cor="success", frase=frase)
    if pedido.situacao == SituacaoDoPedido.INDISPONIVEL:
        por_que = MotivoIndisponivel(pedido.motivo_indisponivel).label.lower()
        return Andamento(
            nome="indisponível", cor="danger", frase=f"O aparelho não tem mais o quadro: {por_que}."
        )
    if pedido.situacao == SituacaoDoPedido.HASH_DIVERGENTE:
        frase = f"O quadro chegou {pedido.divergencias} vezes com outro SHA-256: não é o da captura, e foi recusado."
        return Andamento(nome="hash divergente", cor="danger", frase=frase)
    if pedido.situacao == SituacaoDoPedido.VENCIDO:
        return Andamento(nome="vencida", cor="danger", frase="O prazo passou e o quadro não chegou.")
    return Andamento(nome="cancelada", cor="", frase="Alguém desistiu do pedido antes de o quadro chegar.")


def _aberto(pedido: Pedido, aparelho: Dispositivo, agora: datetime) -> Andamento:
    situacao = decidir_situacao(aparelho, agora)
    avisos = ""
    if pedido.divergencias:
        avisos = f" {pedido.divergencias} de {DIVERGENCIAS_MAXIMO} envios chegaram com outro SHA-256."
    if situacao in (Situacao.DESLIGADO, Situacao.EXCLUIDO):
        frase = f"O aparelho está {situacao}: nada chega enquanto estiver.{avisos}"
        return Andamento(nome=f"aberta: aparelho {situacao}", cor="danger", frase=frase)
    contato = mostrar_espera(aparelho.ultimo_contato_em or aparelho.criado_em, agora)
    if pedido.recebidos_bytes:
        return _recebendo(pedido, situacao, contato, avisos)
    if situacao is Situacao.SILENCIOSO:
        frase = f"O aparelho está sem contato há {contato}; o pedido espera por ele.{avisos}"
        return Andamento(nome=f"aberta: offline há {contato}", cor="warning", frase=frase)
    frase = f"O aparelho fica sabendo no próximo contato; o último foi há {contato}.{avisos}"
    return Andamento(nome="aberta", cor="info", frase=frase)


def _recebendo(pedido: Pedido, situacao: Situacao, contato: str, avisos: str) -> Andamento:
    recebidos, total = pedido.recebidos_bytes, pedido.quadro_bytes
    por_cento = mostrar_percentual(recebidos * 100 / total)
    frase = f"Recebendo: {mostrar_bytes(recebidos)} de {mostrar_bytes(total)} ({por_cento}).{avisos}"
    if situacao is Situacao.SILENCIOSO:
        frase += f" O aparelho parou: sem contato há {contato}. Ele continua de onde estava."
    barra = montar_proporcao(
        id=f"pedido-{pedido.pk}",
        partes=[Parte(nome="recebidos", tom=Tom.PETROLEO, valor=recebidos)],
        de=total,
    )
    cor = "warning" if situacao is Situacao.SILENCIOSO else "info"
    return Andamento(nome=f"recebendo: {por_cento}", cor=cor, frase=frase, barra=barra)


def contar_ato(ato: AtoDeCaptura) -> dict[str, Any]:
    """Uma linha da trilha: o quê, quem, quando, o motivo e o que mais se guardou."""
    motivo = ato.motivo
    if ato.ato == Ato.QUADRO_INDISPONIVEL and motivo in MotivoIndisponivel.values:
        motivo = MotivoIndisponivel(motivo).label
    return {
        "nome": ato.get_ato_display(),
        "quem": str(ato.autor) if ato.autor_id else _quem(ato),
        "quando": mostrar_instante(ato.feito_em),
        "motivo": neutralizar(motivo),
        "detalhes": _detalhar(ato.detalhes),
        "cor": _COR_DO_ATO.get(ato.ato, ""),
    }


_COR_DO_ATO = {
    Ato.QUADRO_RECEBIDO.value: "success",
    Ato.HASH_DIVERGENTE.value: "danger",
    Ato.QUADRO_INDISPONIVEL.value: "danger",
    Ato.PEDIDO_VENCIDO.value: "danger",
    Ato.PEDIDO_ABERTO.value: "info",
    Ato.CAPTURA_EXCLUIDA.value: "warning",
}


def _quem(ato: AtoDeCaptura) -> str:
    return "o servidor" if ato.ato == Ato.PEDIDO_VENCIDO else "o aparelho"


def _detalhar(detalhes: Mapping[str, Any]) -> list[str]:
    """O que interessa a quem confere: tamanhos e SHA-256; o nome do arquivo, não."""
    nomes = {"sha256": "SHA-256", "esperado": "esperado", "recebido": "recebido", "vez": "vez"}
    linhas = [
        f"{nome}: {neutralizar(str(detalhes[chave]))}" for chave, nome in nomes.items() if chave in detalhes
    ]
    if isinstance(detalhes.get("bytes"), int):
        linhas.insert(0, mostrar_bytes(detalhes["bytes"]))
    return linhas
