"""Quadros pedidos numa contestação: sobem em pedaços, sempre de onde o servidor diz que parou.

Cada corte encolhe o pedaço à metade (até 16 KiB) e cada sucesso o dobra: num link que cai a cada poucos segundos,
o pedaço acaba cabendo entre duas quedas.
"""

from __future__ import annotations

import json
import logging
import random
import threading
from collections.abc import Sequence
from pathlib import Path

from . import espera, mensagens
from .agenda import Rumo, decidir
from .envio import Envio, Resposta
from .erros import SemLink
from .mensagens import Pedido
from .quadros import Quadros
from .relogio import Relogio
from .remetente import Ritmo

logger = logging.getLogger("lastro_captura")

PEDACO_MAXIMO_BYTES = 256 * 1024  # recomendação do protocolo
PEDACO_MINIMO_BYTES = 16 * 1024
PAUSA_S = 1.0  # o mínimo entre duas perguntas por pedidos
MAX_PEDIDOS = 1000  # os que passarem disto voltam no próximo contato
ACEITOS = (200, 204)
ENCERRADOS = (404, 410)  # o servidor já não quer este quadro


class Atendente:
    """Atende pedidos, um por vez, numa thread própria para não atrasar os eventos."""

    def __init__(
        self,
        envio: Envio,
        quadros: Quadros,
        relogio: Relogio,
        ritmo: Ritmo,
        *,
        espera_s: int,
        sorteio: espera.Sorteio = random.random,
    ) -> None:
        self._envio = envio
        self._quadros = quadros
        self._relogio = relogio
        self._ritmo = ritmo
        self._espera_s = espera_s
        self._sorteio = sorteio
        self._vez = threading.Lock()
        self._abertos: dict[str, Pedido] = {}
        self._nao_antes_ms: dict[str, int] = {}
        self._falhas: dict[str, int] = {}
        self._quedas = 0
        self._pedaco_bytes = PEDACO_MAXIMO_BYTES

    def receber(self, pedidos: Sequence[Pedido]) -> None:
        """Anota os pedidos que vieram numa resposta; pode ser chamado de outra thread."""
        with self._vez:
            for pedido in pedidos:
                if len(self._abertos) < MAX_PEDIDOS:
                    self._abertos.setdefault(pedido.id, pedido)

    def passo(self) -> float:
        """Atende um pedido da vez, ou espera um novo; devolve por quantos segundos se pode dormir."""
        pedido = self._proximo()
        if pedido is not None:
            return self._atender(pedido)
        if self._espera_s <= 0:
            return PAUSA_S
        comeco_ms = self._relogio.mono_ms()
        try:
            resposta: Resposta | None = self._envio.esperar_pedidos(self._espera_s)
        except SemLink:
            resposta = None
        rumo = self._rumo(resposta)
        if rumo is Rumo.CONFERIR and resposta is not None:
            self._quedas = 0
            self.receber(mensagens.ler_contato(mensagens.ler_resposta(resposta.corpo)).pedidos)
            # Um pedido que ainda espera a vez volta na hora em todo long poll, e um proxy que responde logo faria
            # o mesmo: sem a pausa, seria um laço quente.
            esperou_s = (self._relogio.mono_ms() - comeco_ms) / 1000
            return max(0.0, PAUSA_S - esperou_s)
        self._quedas += 1
        return self._pausa_s(rumo, resposta, self._quedas)

    def ha_pedidos(self) -> bool:
        """Se falta atender algum."""
        with self._vez:
            return bool(self._abertos)

    def _proximo(self) -> Pedido | None:
        agora_ms = self._relogio.mono_ms()
        with self._vez:
            for pedido in self._abertos.values():
                if self._nao_antes_ms.get(pedido.id, 0) <= agora_ms:
                    return pedido
        return None

    def _atender(self, pedido: Pedido) -> float:
        """Leva o pedido o mais longe que der. Volta 0, ou quanto esperar se o canal inteiro está ruim."""
        achado = self._quadros.achar(pedido.id_evento, pedido.sha256)
        try:
            if isinstance(achado, Path):
                resposta = self._subir(pedido, achado)
            else:
                corpo = json.dumps({"motivo": achado}).encode()
                resposta = self._envio.mandar_json(f"/captura/quadros/{pedido.id}/indisponivel", corpo)
        except SemLink as erro:
            logger.info("quadro %s interrompido: %s", pedido.id, erro)
            self._pedaco_bytes = max(PEDACO_MINIMO_BYTES, self._pedaco_bytes // 2)
            resposta = None
        except OSError as erro:  # despejado entre achar e abrir: a próxima volta diz isso ao servidor
            logger.warning("quadro %s não pôde ser lido: %s", pedido.id, erro)
            return self._adiar(pedido, 1.0)
        if resposta is not None and (resposta.status in ACEITOS or resposta.status in ENCERRADOS):
            self._encerrar(pedido, resposta.status, achado)
            return 0.0
        falhas = self._falhas[pedido.id] = self._falhas.get(pedido.id, 0) + 1
        return self._adiar(pedido, self._pausa_s(self._rumo(resposta), resposta, falhas))

    def _subir(self, pedido: Pedido, caminho: Path) -> Resposta:
        """Manda o que falta; devolve a última resposta. Levanta SemLink no corte e OSError se o arquivo sumiu."""
        resposta = self._envio.ver_quadro(pedido.id)
        total = caminho.stat().st_size
        anterior = -1
        with caminho.open("rb") as arquivo:
            while resposta.status in (200, 204, 409):
                offset = resposta.offset
                # Um servidor que não anda (ou não fala tus) prenderia este laço: conta como falha e espera.
                if offset is None or offset > total or offset == anterior:
                    return Resposta(status=500, cabecalhos={}, corpo=b"")
                if offset == total:
                    return resposta
                anterior = offset
                arquivo.seek(offset)
                resposta = self._envio.mandar_pedaco(pedido.id, offset, arquivo.read(self._pedaco_bytes))
                if resposta.status == 204:
                    self._falhas.pop(pedido.id, None)
                    self._pedaco_bytes = min(PEDACO_MAXIMO_BYTES, self._pedaco_bytes * 2)
        return resposta

    def _encerrar(self, pedido: Pedido, status: int, achado: object) -> None:
        if not isinstance(achado, Path):
            logger.warning("quadro pedido (%s) indisponível: %s", pedido.id_evento, achado)
        logger.info("pedido %s encerrado (%d)", pedido.id, status)
        with self._vez:
            self._abertos.pop(pedido.id, None)
        self._falhas.pop(pedido.id, None)
        self._nao_antes_ms.pop(pedido.id, None)

    def _adiar(self, pedido: Pedido, segundos: float) -> float:
        self._nao_antes_ms[pedido.id] = self._relogio.mono_ms() + int(segundos * 1000)
        return 0.0

    def _rumo(self, resposta: Resposta | None) -> Rumo:
        return decidir(resposta.status if resposta else None, codigo=resposta.codigo if resposta else None)

    def _pausa_s(self, rumo: Rumo, resposta: Resposta | None, falhas: int) -> float:
        ritmo = self._ritmo
        if rumo is Rumo.SEGURAR:
            return ritmo.espera_autenticacao_s * (0.5 + self._sorteio() / 2)
        if rumo is Rumo.ESPERAR and resposta is not None:
            pedido_s = espera.ler_retry_after_s(
                resposta.cabecalhos.get("retry-after"),
                teto_s=ritmo.retry_after_teto_s,
                padrao_s=ritmo.espera_base_s,
                agora=self._relogio.agora(),
            )
            return espera.calcular_pausa_s(pedido_s, sorteio=self._sorteio)
        return espera.calcular_recuo_s(
            falhas, base_s=ritmo.espera_base_s, teto_s=ritmo.espera_teto_s, sorteio=self._sorteio
        )
