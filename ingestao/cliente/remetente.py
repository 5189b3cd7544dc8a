"""O laço de envio, um passo por vez: o mais antigo primeiro, e nada bloqueia a cabeça da fila.

Duas esperas diferentes: a do canal (link caído, `Retry-After`, token recusado) segura tudo; a do evento (o
servidor o devolveu com erro) segura só a ele.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from . import contadores, espera, mensagens
from .agenda import Rampa, Rumo, decidir, recusa_definitiva
from .contadores import Relato
from .envio import Envio, Resposta
from .erros import SemLink
from .fila import EventoNaFila, Fila
from .mensagens import Pedido, Resultado
from .pulso import Pulso
from .relogio import Relogio, formatar_hora

logger = logging.getLogger("lastro_captura")

ALARME = "autenticacao_recusada"  # anotação na fila, para que `situacao` a mostre
OLHADA_S = 0.5  # de quanto em quanto tempo se olha se outro processo enfileirou


@dataclass(frozen=True)
class Ritmo:
    """As esperas e os tetos do envio, todos configuráveis."""

    eventos_por_lote: int
    bytes_por_lote: int
    teto_tentativas: int
    espera_base_s: float
    espera_teto_s: float
    retry_after_teto_s: float
    espera_autenticacao_s: float
    pulso_s: float


class Remetente:
    """Quem esvazia a fila. Um por fila, numa thread só; quem chama ocupou a `VagaDeEnvio`."""

    def __init__(
        self,
        fila: Fila,
        envio: Envio,
        relogio: Relogio,
        ritmo: Ritmo,
        pulso: Pulso,
        *,
        ao_receber_pedidos: Callable[[Sequence[Pedido]], None] = lambda pedidos: None,
        sorteio: espera.Sorteio = random.random,
    ) -> None:
        self._fila = fila
        self._envio = envio
        self._relogio = relogio
        self._ritmo = ritmo
        self._pulso = pulso
        self._ao_receber_pedidos = ao_receber_pedidos
        self._sorteio = sorteio
        self._rampa = Rampa(ritmo.eventos_por_lote)
        self._canal_ms = 0  # antes deste instante monotônico nada sai
        self._quedas = 0  # seguidas, sem um sucesso no meio
        self._proximo_pulso_ms = relogio.mono_ms()
        self.autenticacao_recusada = False
        self.confirmados = 0
        fila.acertar_boot(relogio.boot_id)

    def passo(self) -> float:
        """Manda um lote, ou um pulso, se é hora; devolve por quantos segundos se pode dormir (0: há mais)."""
        agora_ms = self._relogio.mono_ms()
        if agora_ms < self._canal_ms:
            return (self._canal_ms - agora_ms) / 1000
        if agora_ms >= self._proximo_pulso_ms:
            return self._mandar_pulso(agora_ms)
        if self.autenticacao_recusada:  # quem sonda o token é o pulso, que não gasta franquia
            return (self._proximo_pulso_ms - agora_ms) / 1000
        self._fila.promover(agora_ms)
        eventos, relato = self._fila.pegar_lote(
            max_eventos=self._rampa.limite, max_bytes=self._ritmo.bytes_por_lote, agora_em=self._agora()
        )
        if eventos:
            self._mandar_lote(eventos, relato)
            return 0.0
        return self._ate_a_proxima_hora(agora_ms)

    def _ate_a_proxima_hora(self, agora_ms: int) -> float:
        despertar_ms = self._fila.proximo_despertar_ms()
        horas_ms = [self._proximo_pulso_ms, agora_ms + int(OLHADA_S * 1000)]
        if despertar_ms is not None:
            horas_ms.append(despertar_ms)
        return max(0.0, (min(horas_ms) - agora_ms) / 1000)

    # ---- O lote

    def _mandar_lote(self, eventos: Sequence[EventoNaFila], relato: Relato) -> None:
        lote = mensagens.montar_lote(
            eventos,
            relato,
            boot_id=self._relogio.boot_id,
            mono_ms=self._relogio.mono_ms(),
            enviado_em=self._agora(),
        )
        resposta: Resposta | None = None
        conectou = True
        try:
            resposta = self._envio.mandar_lote(lote, eventos)
        except SemLink as erro:
            conectou = erro.conectou
            logger.info("lote de %d não saiu: %s", len(eventos), erro)
        rumo = self._tratar_canal(resposta)
        if rumo is Rumo.CONFERIR and resposta is not None:
            self._conferir(resposta, eventos, relato)
        elif rumo is Rumo.DIVIDIR:
            self._dividir(eventos)
        elif rumo is Rumo.FALHOU and resposta is not None:
            self._contar_falha(eventos, f"{resposta.status} {resposta.codigo or ''}".strip(), resposta.status)
        elif rumo is Rumo.LINK and conectou:
            self._rampa.descer(len(eventos))
            if len(eventos) == 1:  # sozinho e cortado de novo: que os outros passem à frente enquanto espera
                self._fila.adiar(
                    [(eventos[0].seq, self._voltar_ms(eventos[0].tentativas))], conta_falha=False
                )

    def _tratar_canal(self, resposta: Resposta | None) -> Rumo:
        """A parte da resposta que diz respeito a todos; devolve o rumo do lote."""
        rumo = decidir(resposta.status if resposta else None, codigo=resposta.codigo if resposta else None)
        ritmo = self._ritmo
        if rumo in (Rumo.CONFERIR, Rumo.DIVIDIR):
            return rumo
        if rumo is Rumo.ESPERAR and resposta is not None:
            pedido_s = espera.ler_retry_after_s(
                resposta.cabecalhos.get("retry-after"),
                teto_s=ritmo.retry_after_teto_s,
                padrao_s=ritmo.espera_base_s,
                agora=self._relogio.agora(),
            )
            self._segurar(espera.calcular_pausa_s(pedido_s, sorteio=self._sorteio))
        elif rumo is Rumo.SEGURAR and resposta is not None:
            if not self.autenticacao_recusada:
                logger.error(
                    "o servidor recusou o token (%d %s): a fila está segura e parada; confira o token",
                    resposta.status,
                    resposta.codigo,
                )
                self._fila.gravar_anotacao(
                    ALARME, f"{resposta.codigo or resposta.status} desde {self._agora()}"
                )
            self.autenticacao_recusada = True
            self._segurar(ritmo.espera_autenticacao_s * (0.5 + self._sorteio() / 2))
            self._proximo_pulso_ms = self._canal_ms
        else:
            self._quedas += 1
            self._segurar(self._recuo_s(self._quedas))
        return rumo

    def _conferir(self, resposta: Resposta, eventos: Sequence[EventoNaFila], relato: Relato) -> None:
        lido = mensagens.ler_resposta(resposta.corpo)
        resultados = mensagens.ler_resultados(lido, [evento.id_evento for evento in eventos])
        if resultados is None:
            self._quedas += 1
            self._segurar(self._recuo_s(self._quedas))
            self._contar_falha(eventos, "resposta ilegível")
            return
        self._quedas = 0
        agora_ms = self._relogio.mono_ms()
        gravados = [
            (evento, self._latencia_ms(evento, agora_ms))
            for evento, resultado in zip(eventos, resultados)
            if resultado.situacao == mensagens.GRAVADO
        ]
        self._fila.confirmar(gravados, relato)
        self.confirmados += len(gravados)
        self._rampa.subir()
        self._tratar_recusados(eventos, resultados)
        self._ouvir(lido)

    def _tratar_recusados(self, eventos: Sequence[EventoNaFila], resultados: Sequence[Resultado]) -> None:
        duvidosos = []
        for evento, resultado in zip(eventos, resultados):
            if resultado.situacao == mensagens.RECUSADO:
                self._por_em_quarentena(evento, resultado.motivo, resultado.detalhe)
            elif resultado.situacao == mensagens.NAO_CONFIRMADO:
                duvidosos.append(evento)
        if duvidosos:
            self._contar_falha(duvidosos, "resultado ilegível")

    def _dividir(self, eventos: Sequence[EventoNaFila]) -> None:
        if len(eventos) == 1:
            self._por_em_quarentena(eventos[0], contadores.MOTIVO_GRANDE, "413 num lote de um evento só")
        else:
            self._rampa.dividir(len(eventos))

    def _contar_falha(self, eventos: Sequence[EventoNaFila], causa: str, status: int | None = None) -> None:
        """Cada um espera a sua vez de novo; quem bateu no teto vai para a quarentena."""
        esperas = []
        for evento in eventos:
            if recusa_definitiva(status, qtd_eventos=len(eventos)):
                self._por_em_quarentena(evento, contadores.MOTIVO_INVALIDO, causa)
            elif evento.falhas + 1 >= self._ritmo.teto_tentativas:
                self._por_em_quarentena(
                    evento, contadores.MOTIVO_TETO, f"{evento.falhas + 1} falhas; {causa}"
                )
            else:
                esperas.append((evento.seq, self._voltar_ms(evento.falhas + 1)))
        if esperas:
            self._fila.adiar(esperas, conta_falha=True)
            logger.warning("%d eventos voltam depois: %s", len(esperas), causa)

    def _por_em_quarentena(self, evento: EventoNaFila, motivo: str, detalhe: str) -> None:
        logger.error("evento %s em quarentena (%s): %s", evento.id_evento, motivo, detalhe)
        self._fila.por_em_quarentena(evento.seq, motivo, detalhe, self._agora())

    def _latencia_ms(self, evento: EventoNaFila, agora_ms: int) -> int | None:
        """Da captura ao ACK; None se houve boot no meio, porque os dois instantes não se comparam."""
        return agora_ms - evento.mono_ms if evento.boot_id == self._relogio.boot_id else None

    # ---- O pulso, e o que vem em qualquer 200

    def _mandar_pulso(self, agora_ms: int) -> float:
        self._proximo_pulso_ms = agora_ms + int(self._ritmo.pulso_s * 1000)
        self._pulso.arrumar()
        relato = self._fila.preparar_relato()
        resposta: Resposta | None = None
        try:
            resposta = self._envio.mandar_json("/captura/pulso", self._pulso.montar(relato))
        except SemLink as erro:
            logger.info("pulso não saiu: %s", erro)
        if self._tratar_canal(resposta) is Rumo.CONFERIR and resposta is not None:
            lido = mensagens.ler_resposta(resposta.corpo)
            if lido is not None and "hora_servidor" in lido:
                if self.autenticacao_recusada:
                    logger.warning("o servidor voltou a aceitar o token")
                    self._fila.gravar_anotacao(ALARME, "")
                self.autenticacao_recusada = False
                self._quedas = 0
                self._fila.entregar_relato(relato)
                self._ouvir(lido)
        return 0.0

    def _ouvir(self, lido: dict[str, Any] | None) -> None:
        leitura = mensagens.ler_contato(lido)
        if leitura.hora_servidor is not None:
            self._pulso.ouvir_servidor(leitura.hora_servidor)
        if leitura.pedidos:
            self._ao_receber_pedidos(leitura.pedidos)

    # ---- Esperas

    def _segurar(self, segundos: float) -> None:
        self._canal_ms = max(self._canal_ms, self._relogio.mono_ms() + int(segundos * 1000))

    def _recuo_s(self, falhas: int) -> float:
        return espera.calcular_recuo_s(
            falhas,
            base_s=self._ritmo.espera_base_s,
            teto_s=self._ritmo.espera_teto_s,
            sorteio=self._sorteio,
        )

    def _voltar_ms(self, falhas: int) -> int:
        return self._relogio.mono_ms() + int(self._recuo_s(falhas) * 1000)

    def _agora(self) -> str:
        return formatar_hora(self._relogio.agora())
