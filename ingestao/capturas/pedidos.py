"""A contestação, do lado de quem opera: pedir o quadro, desistir, olhar; e excluir uma captura. Tudo com trilha."""

from datetime import datetime, timedelta
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.utils import timezone

from ingestao.capturas import trilha
from ingestao.capturas.deposito import abrir_deposito
from ingestao.models import Ato, Captura, PedacoDeQuadro, Pedido, SituacaoDoPedido

PRAZO_DO_PEDIDO = timedelta(days=7)  # aparelhos em campo ficam dias sem rede
VENCIDOS_POR_VEZ = 200


class AtoRecusado(ValueError):
    """O que se pediu não se pode fazer; `codigo` estável e a frase para quem opera."""

    def __init__(self, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.detalhe = detalhe


def abrir_pedido(captura: Captura, motivo: str, autor: Any, *, prazo: timedelta = PRAZO_DO_PEDIDO) -> Pedido:
    """Contesta a captura: o aparelho fica sabendo no próximo contato.

    Levanta `AtoRecusado`: `motivo_ausente`, `captura_excluida`, `sem_quadro` (o aparelho não disse que quadro é, e
    não haveria como conferir) ou `pedido_ja_aberto`.
    """
    motivo = _exigir_motivo(motivo)
    if captura.deletado:
        raise AtoRecusado("captura_excluida", "A captura está excluída; restaure-a antes de contestar.")
    if captura.quadro_sha256 is None or captura.quadro_bytes is None:
        raise AtoRecusado("sem_quadro", "O aparelho não informou o quadro desta captura: não há o que pedir.")
    agora = timezone.now()
    try:
        with transaction.atomic():
            pedido = Pedido.objects.create(
                captura=captura,
                dispositivo_id=captura.dispositivo_id,
                motivo=motivo,
                aberto_por=autor,
                aberto_em=agora,
                vence_em=agora + prazo,
                quadro_bytes=captura.quadro_bytes,
                quadro_sha256=captura.quadro_sha256,
            )
            trilha.registrar(
                Ato.PEDIDO_ABERTO, captura.pk, agora=agora, pedido_id=pedido.pk, autor=autor, motivo=motivo
            )
    except IntegrityError as erro:
        raise AtoRecusado("pedido_ja_aberto", "Já há um pedido aberto para esta captura.") from erro
    return pedido


def cancelar(pedido: Pedido, motivo: str, autor: Any) -> Pedido:
    """Desiste de um pedido aberto. Levanta `AtoRecusado` (motivo_ausente, pedido_encerrado)."""
    motivo = _exigir_motivo(motivo)
    agora = timezone.now()
    with transaction.atomic():
        travado = Pedido.objects.select_for_update(of=("self",)).get(pk=pedido.pk)
        if travado.situacao != SituacaoDoPedido.ABERTO:
            raise AtoRecusado(
                "pedido_encerrado", f"O pedido já está {travado.get_situacao_display().lower()}."
            )
        encerrar(travado, SituacaoDoPedido.CANCELADO, agora)
        trilha.registrar(
            Ato.PEDIDO_CANCELADO,
            travado.captura_id,
            agora=agora,
            pedido_id=travado.pk,
            autor=autor,
            motivo=motivo,
        )
    return travado


def encerrar(pedido: Pedido, situacao: SituacaoDoPedido, agora: datetime, **campos: Any) -> None:
    """Põe um pedido já travado no seu estado final; os pedaços recebidos somem com ele."""
    pedido.situacao = situacao
    pedido.encerrado_em = agora
    for campo, valor in campos.items():
        setattr(pedido, campo, valor)
    pedido.save(update_fields=["situacao", "encerrado_em", *campos])
    PedacoDeQuadro.objects.filter(pedido=pedido).delete()


def registrar_visualizacao(pedido: Pedido, quem: Any) -> None:
    """Anota na trilha que alguém olhou o quadro; chamar antes de mostrá-lo."""
    trilha.registrar(
        Ato.QUADRO_VISTO, pedido.captura_id, agora=timezone.now(), pedido_id=pedido.pk, autor=quem
    )


def abrir_quadro(pedido: Pedido) -> File:
    """O arquivo do quadro de um pedido atendido. Levanta `AtoRecusado` (quadro_ausente) se não há."""
    if not pedido.arquivo:
        raise AtoRecusado("quadro_ausente", "Este pedido não tem quadro guardado.")
    try:
        return abrir_deposito().open(pedido.arquivo)
    except OSError as erro:
        raise AtoRecusado("quadro_ausente", "O arquivo do quadro não está no depósito.") from erro


def excluir_captura(captura: Captura, motivo: str, autor: Any) -> None:
    """Tira a captura das listas; a linha fica, e um reenvio dela recebe o mesmo ACK."""
    _mudar_exclusao(captura, True, Ato.CAPTURA_EXCLUIDA, motivo, autor)


def restaurar_captura(captura: Captura, motivo: str, autor: Any) -> None:
    """Desfaz a exclusão."""
    _mudar_exclusao(captura, False, Ato.CAPTURA_RESTAURADA, motivo, autor)


def _mudar_exclusao(captura: Captura, deletado: bool, ato: Ato, motivo: str, autor: Any) -> None:
    motivo = _exigir_motivo(motivo)
    with transaction.atomic():
        mudou = Captura.objects.filter(pk=captura.pk, deletado=not deletado).update(deletado=deletado)
        if mudou:
            trilha.registrar(ato, captura.pk, agora=timezone.now(), autor=autor, motivo=motivo)
    captura.deletado = deletado


def vencer_pedidos(agora: datetime) -> int:
    """Encerra até `VENCIDOS_POR_VEZ` pedidos cujo prazo passou; devolve quantos. Repetível, e muitos ao mesmo tempo."""
    with transaction.atomic():
        vencidos = Pedido.objects.select_for_update(of=("self",), skip_locked=True).filter(
            situacao=SituacaoDoPedido.ABERTO, vence_em__lte=agora
        )
        quantos = 0
        for pedido in vencidos.order_by("pk")[:VENCIDOS_POR_VEZ]:
            encerrar(pedido, SituacaoDoPedido.VENCIDO, agora)
            trilha.registrar(Ato.PEDIDO_VENCIDO, pedido.captura_id, agora=agora, pedido_id=pedido.pk)
            quantos += 1
    return quantos


def _exigir_motivo(motivo: str) -> str:
    motivo = motivo.strip()
    if not motivo:
        raise AtoRecusado("motivo_ausente", "Escreva o motivo: ele fica na trilha.")
    return motivo[: trilha.MOTIVO_CARACTERES]
