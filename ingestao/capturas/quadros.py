"""O envio de um quadro, aos pedaços e retomável (núcleo do tus 1.0.0), ou a notícia de que ele não existe mais.

Cada pedaço é uma linha no PostgreSQL: o 204 é o COMMIT dele, e qualquer nó recebe o seguinte. No último, o quadro é
montado, o SHA-256 conferido e o arquivo gravado antes do COMMIT que o confirma. A linha do pedido fica travada: de
dois envios ao mesmo tempo, um avança e o outro fica sabendo do deslocamento certo.
"""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from tempfile import SpooledTemporaryFile
from typing import Any
from uuid import UUID

from django.db import transaction

from config.banco.cursor import cursor_direto
from config.erros import ErroDaApi
from ingestao.capturas import trilha
from ingestao.capturas.campos import ler_uuid
from ingestao.capturas.deposito import DepositoIndisponivel, guardar_quadro
from ingestao.capturas.pedidos import encerrar
from ingestao.models import Ato, MotivoIndisponivel, PedacoDeQuadro, Pedido, SituacaoDoPedido

PEDACO_MAXIMO_BYTES = 4 * 1024 * 1024  # o recomendado é 256 KiB; é também o teto da porta para a rota
DIVERGENCIAS_MAXIMO = 3  # protocolo das capturas
MONTAGEM_NA_MEMORIA_BYTES = 4 * 1024 * 1024  # quadro maior que isto é montado num arquivo temporário

SQL_GRAVAR_PEDACO = """
    INSERT INTO ingestao_pedacodequadro (pedido_id, inicio, conteudo)
    VALUES (%(pedido_id)s, %(inicio)s, %(conteudo)s)
"""
# Índice: pedaco_unico_no_quadro. Um por vez: a memória é a de um pedaço.
SQL_LER_PEDACO = """
    SELECT conteudo FROM ingestao_pedacodequadro WHERE pedido_id = %(pedido_id)s AND inicio = %(inicio)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Avanco:
    """Onde o envio está. `divergiu`: o quadro se completou com outro SHA-256 e foi descartado."""

    offset: int
    total: int
    divergiu: bool = False


class OffsetErrado(ErroDaApi):
    """409: o pedaço não começa onde o servidor parou; `offset` é onde ele parou."""

    def __init__(self, offset: int) -> None:
        super().__init__(
            409,
            "offset_errado",
            f"O próximo byte esperado é o {offset}; continue dali.",
            cabecalhos={"Upload-Offset": str(offset)},
        )


def ver_envio(dispositivo_id: UUID, pedido_id: str, agora: datetime) -> Avanco:
    """Onde o envio parou. Um pedido atendido diz que está completo. Levanta `ErroDaApi` 404 ou 410."""
    pedido = _buscar(Pedido.objects.all(), dispositivo_id, pedido_id)
    if pedido.situacao != SituacaoDoPedido.ATENDIDO:
        _exigir_aberto(pedido, agora)
    return Avanco(offset=pedido.recebidos_bytes, total=pedido.quadro_bytes)


def receber_pedaco(
    dispositivo_id: UUID, pedido_id: str, inicio: int, pedaco: bytes, agora: datetime
) -> Avanco:
    """Grava um pedaço. Voltou sem exceção: está no disco.

    Levanta `ErroDaApi`: 404, 410, 409 `offset_errado`, 413 `quadro_grande`; ou o erro do banco ou do depósito.
    """
    with transaction.atomic():
        pedido = _buscar(_travando(), dispositivo_id, pedido_id)
        if pedido.situacao == SituacaoDoPedido.ATENDIDO:
            return _repetido(pedido, inicio, pedaco)
        _exigir_aberto(pedido, agora)
        if inicio != pedido.recebidos_bytes:
            raise OffsetErrado(pedido.recebidos_bytes)
        fim = inicio + len(pedaco)
        if fim > pedido.quadro_bytes:
            raise ErroDaApi(
                413, "quadro_grande", f"O quadro tem {pedido.quadro_bytes} bytes; este pedaço passa do fim."
            )
        if pedaco:
            _gravar_pedaco(pedido, inicio, pedaco)
        if fim < pedido.quadro_bytes:
            return Avanco(offset=fim, total=pedido.quadro_bytes)
        return _completar(pedido, agora)


def _repetido(pedido: Pedido, inicio: int, pedaco: bytes) -> Avanco:
    """O último ACK se perdeu e o aparelho insiste: o quadro já está guardado."""
    if pedaco or inicio != pedido.quadro_bytes:
        raise OffsetErrado(pedido.quadro_bytes)
    return Avanco(offset=pedido.quadro_bytes, total=pedido.quadro_bytes)


def _gravar_pedaco(pedido: Pedido, inicio: int, pedaco: bytes) -> None:
    with cursor_direto() as cursor:
        cursor.execute(
            SQL_GRAVAR_PEDACO, {"pedido_id": pedido.pk, "inicio": inicio, "conteudo": pedaco}, prepare=True
        )
    pedido.recebidos_bytes = inicio + len(pedaco)
    pedido.save(update_fields=["recebidos_bytes"])


def _completar(pedido: Pedido, agora: datetime) -> Avanco:
    """Monta, confere e guarda o quadro; se o SHA-256 diverge, descarta e registra."""
    with SpooledTemporaryFile(MONTAGEM_NA_MEMORIA_BYTES) as montado:
        resumo = _montar(pedido, montado)
        if resumo != pedido.quadro_sha256:
            return _divergir(pedido, resumo, agora)
        montado.seek(0)
        try:
            arquivo = guardar_quadro(pedido.pk, montado)
        except DepositoIndisponivel as erro:
            raise ErroDaApi(
                503, "deposito_indisponivel", "O quadro não pôde ser guardado; reenvie o pedaço.", espera_s=30
            ) from erro
    encerrar(pedido, SituacaoDoPedido.ATENDIDO, agora, arquivo=arquivo)
    trilha.registrar(
        Ato.QUADRO_RECEBIDO,
        pedido.captura_id,
        agora=agora,
        pedido_id=pedido.pk,
        sha256=resumo,
        bytes=pedido.quadro_bytes,
        arquivo=arquivo,
    )
    return Avanco(offset=pedido.quadro_bytes, total=pedido.quadro_bytes)


def _montar(pedido: Pedido, destino: Any) -> str:
    """Escreve os pedaços em ordem e devolve o SHA-256 do todo."""
    resumo = sha256()
    inicios = PedacoDeQuadro.objects.filter(pedido=pedido).order_by("inicio").values_list("inicio", flat=True)
    for inicio in inicios:
        with cursor_direto() as cursor:
            cursor.execute(SQL_LER_PEDACO, {"pedido_id": pedido.pk, "inicio": inicio}, binary=True)
            (pedaco,) = cursor.fetchone() or (b"",)
        resumo.update(pedaco)
        destino.write(pedaco)
    return resumo.hexdigest()


def _divergir(pedido: Pedido, resumo: str, agora: datetime) -> Avanco:
    divergencias = pedido.divergencias + 1
    trilha.registrar(
        Ato.HASH_DIVERGENTE,
        pedido.captura_id,
        agora=agora,
        pedido_id=pedido.pk,
        esperado=pedido.quadro_sha256,
        recebido=resumo,
        vez=divergencias,
    )
    if divergencias >= DIVERGENCIAS_MAXIMO:
        encerrar(
            pedido, SituacaoDoPedido.HASH_DIVERGENTE, agora, divergencias=divergencias, recebidos_bytes=0
        )
    else:
        pedido.divergencias, pedido.recebidos_bytes = divergencias, 0
        pedido.save(update_fields=["divergencias", "recebidos_bytes"])
        PedacoDeQuadro.objects.filter(pedido=pedido).delete()
    return Avanco(offset=0, total=pedido.quadro_bytes, divergiu=True)


def declarar_indisponivel(
    dispositivo_id: UUID, pedido_id: str, motivo: Any, agora: datetime
) -> dict[str, str]:
    """O aparelho não tem mais o quadro. Repetível. Levanta `ErroDaApi` 400, 404 ou 410."""
    if motivo not in MotivoIndisponivel.values:
        raise ErroDaApi(400, "campo_invalido", f"`motivo`: um de {', '.join(MotivoIndisponivel.values)}.")
    with transaction.atomic():
        pedido = _buscar(_travando(), dispositivo_id, pedido_id)
        if pedido.situacao != SituacaoDoPedido.INDISPONIVEL:
            _exigir_aberto(pedido, agora)
            encerrar(
                pedido,
                SituacaoDoPedido.INDISPONIVEL,
                agora,
                motivo_indisponivel=motivo,
                recebidos_bytes=0,
            )
            trilha.registrar(
                Ato.QUADRO_INDISPONIVEL,
                pedido.captura_id,
                agora=agora,
                pedido_id=pedido.pk,
                motivo=motivo,
            )
    return {"situacao": SituacaoDoPedido.INDISPONIVEL.value}


def _travando() -> Any:
    return Pedido.objects.select_for_update(of=("self",))


def _buscar(pedidos: Any, dispositivo_id: UUID, pedido_id: str) -> Pedido:
    """O pedido, se é deste aparelho; o de outro não existe para ele."""
    lido = ler_uuid(pedido_id)
    pedido = None if lido is None else pedidos.filter(pk=lido, dispositivo_id=dispositivo_id).first()
    if pedido is None:
        raise ErroDaApi(404, "pedido_desconhecido", "Não há pedido com este id para este dispositivo.")
    return pedido


def _exigir_aberto(pedido: Pedido, agora: datetime) -> None:
    if pedido.situacao != SituacaoDoPedido.ABERTO or pedido.vence_em <= agora:
        raise ErroDaApi(
            410, "pedido_encerrado", "O pedido se encerrou (atendido, vencido ou cancelado); não envie mais."
        )
