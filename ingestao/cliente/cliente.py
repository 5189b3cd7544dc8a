"""A porta de quem programa: `Cliente.capturar` grava e volta; o envio acontece em threads próprias."""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from .atendente import Atendente
from .captura import Payload, Quadro, QuadroLido, detectar, ler_quadro, montar_evento
from .configuracao import montar_opcoes
from .envio import Envio
from .erros import FilaCheia, FilaEmUso, FilaIndisponivel, SemEspaco
from .espera import Sorteio
from .fila import EventoNovo, Fila
from .pulso import Pulso, VigiaDoRelogio
from .quadros import Quadros
from .relogio import Relogio, formatar_hora
from .remetente import Remetente
from .vaga import VagaDeEnvio

logger = logging.getLogger("lastro_captura")

REPETIR_VAGA_S = 5.0  # outro processo envia: se ele morrer, alguém assume em segundos
REPETIR_DISCO_S = 5.0
FOLGA_BYTES = 256 * 1024  # o que uma transação escreve além do recorte, com sobra
CONTAR_A_CADA_MS = 2000
PRAZO_DO_FIM_S = 10.0


class Cliente:
    """Uma fila e um servidor. Serve a várias threads; use como contexto, ou chame `fechar` no fim."""

    def __init__(
        self,
        url: str,
        token: str,
        pasta: str | Path,
        *,
        enviar: bool = True,
        exigir_envio: bool = False,
        relogio: Relogio | None = None,
        **opcoes: Any,
    ) -> None:
        """Abre a fila e, com `enviar`, começa a enviar. As `opcoes` são os campos de `Opcoes`.

        Se outro processo já envia esta fila, este só enfileira, avisa no log, e assume se o outro morrer; com
        `exigir_envio`, levanta FilaEmUso. Levanta também ConfiguracaoInvalida e FilaIndisponivel.
        """
        self.opcoes = montar_opcoes(opcoes)
        ca = Path(self.opcoes.ca_arquivo) if self.opcoes.ca_arquivo else None
        self._envio = Envio(
            url,
            token,
            prazo_conexao_s=self.opcoes.prazo_conexao_s,
            prazo_resposta_s=self.opcoes.prazo_resposta_s,
            ca=ca,
        )
        self._relogio = relogio or Relogio()
        pasta = Path(pasta)
        self.fila = Fila(pasta, espaco_bytes=self.opcoes.fila_bytes, reserva_bytes=self.opcoes.reserva_bytes)
        self.quadros = Quadros(pasta, self.fila.arquivo, self._relogio, self.opcoes.guarda())
        self._vigia = VigiaDoRelogio(self.fila, self._relogio)
        self._vaga = VagaDeEnvio(pasta)
        self._parar = threading.Event()
        self._acordar = threading.Event()
        self._threads: list[threading.Thread] = []
        self.atendente: Atendente | None = None
        self.remetente: Remetente | None = None
        if exigir_envio:
            self._vaga.ocupar()
        if enviar or exigir_envio:
            self._iniciar(self._enviar)

    def __enter__(self) -> Cliente:
        return self

    def __exit__(self, *_: object) -> None:
        self.fechar()

    def capturar(
        self,
        quadro: Quadro,
        caixas: Sequence[Any] | None,
        payload: Payload,
        *,
        recibo: str | None = None,
    ) -> list[str]:
        """Grava a captura e devolve os ids dos eventos: um por caixa, ou um só com `uniao` ou sem caixas.

        Voltou: está em disco, e chegará ao servidor uma vez só. `quadro` é JPEG em bytes, caminho, imagem do
        Pillow ou None; `payload`, um objeto, ou uma lista com um por caixa. Caixa ou quadro que não servem não
        impedem o evento. Com `recibo`, a mesma captura repetida (o chamador morreu antes de anotar) devolve [].
        Levanta CapturaInvalida, SemEspaco (ou FilaCheia) e FilaIndisponivel; então nada foi gravado.
        """
        mono_ms, capturado = self._relogio.mono_ms(), self._relogio.agora()
        lido = ler_quadro(quadro)
        deteccoes = detectar(lido, caixas, payload, self.opcoes.regra())
        guardado = self._guardar_quadro(lido)
        expira = self.quadros.calcular_expira_em() if guardado else capturado
        suspeito = self._vigia.suspeito()
        eventos = [
            montar_evento(
                deteccao,
                lido.descrever(formatar_hora(expira)),
                capturado_em=formatar_hora(capturado),
                boot_id=self._relogio.boot_id,
                mono_ms=mono_ms,
                relogio_suspeito=suspeito,
            )
            for deteccao in deteccoes
        ]
        return self._gravar(eventos, self._anotador(lido, eventos, guardado), recibo)

    def esperar_esvaziar(self, prazo_s: float, ao_andar: Callable[[int], None] = lambda faltam: None) -> bool:
        """Espera a fila (fora a quarentena) esvaziar; False se o prazo acabou antes ou se pediram para parar."""
        comeco_ms = self._relogio.mono_ms()
        proxima_conta_ms = comeco_ms
        while True:
            agora_ms = self._relogio.mono_ms()
            if agora_ms >= proxima_conta_ms:  # contar cem mil disputaria a fila com quem a esvazia
                medida = self.fila.medir()
                ao_andar(medida.prontos + medida.esperando)
                proxima_conta_ms = agora_ms + CONTAR_A_CADA_MS
            if self.fila.esta_vazia():
                ao_andar(0)
                return True
            if agora_ms > comeco_ms + prazo_s * 1000 or self._parar.wait(0.1):
                return False

    @property
    def enviando(self) -> bool:
        """Se este processo é o que envia, e as threads estão de pé."""
        return self.remetente is not None and all(thread.is_alive() for thread in self._threads)

    def pedir_parada(self) -> None:
        """Pede o fim sem esperar por ele; pode ser chamado de um tratador de sinal."""
        self._parar.set()
        self._acordar.set()

    def fechar(self) -> None:
        """Termina o envio em curso e fecha. O que está na fila fica na fila."""
        self.pedir_parada()
        for thread in self._threads:
            # A espera por pedidos pode durar 25 s e não guarda nada: não se espera por ela.
            thread.join(PRAZO_DO_FIM_S if thread.name == "lastro-envio" else 0.2)
        self._vaga.desocupar()
        self.fila.fechar()
        self._envio.fechar()

    # ---- A captura

    def _guardar_quadro(self, lido: QuadroLido) -> bool:
        if not self.opcoes.guardar_quadros or lido.conteudo is None:
            return False
        try:
            return self.quadros.guardar(lido.conteudo, lido.sha256)
        except SemEspaco:  # nem despejar coube: o evento ainda pode caber
            return False

    def _anotador(
        self, lido: QuadroLido, eventos: Sequence[EventoNovo], guardado: bool
    ) -> Callable[[sqlite3.Connection], None]:
        """O que se escreve junto dos eventos: a que quadro pertencem."""
        if not self.opcoes.guardar_quadros or lido.conteudo is None:
            return lambda conexao: None
        tamanho, ids = len(lido.conteudo), [evento.id_evento for evento in eventos]
        return lambda conexao: self.quadros.anotar(conexao, lido.sha256, tamanho, ids, guardado)

    def _gravar(
        self,
        eventos: Sequence[EventoNovo],
        anotar: Callable[[sqlite3.Connection], None],
        recibo: str | None,
    ) -> list[str]:
        """Enfileira; com o disco cheio, os quadros cedem o lugar. O que não coube é contado."""
        try:
            novos = self._enfileirar(eventos, anotar, recibo)
        except SemEspaco:
            self.fila.contar_sem_espaco(len(eventos))
            raise
        self._acordar.set()
        return [evento.id_evento for evento in eventos] if novos else []

    def _enfileirar(
        self,
        eventos: Sequence[EventoNovo],
        anotar: Callable[[sqlite3.Connection], None],
        recibo: str | None,
    ) -> bool:
        precisa_bytes = sum(len(evento.recorte or b"") for evento in eventos) + FOLGA_BYTES
        while True:
            try:
                return self.fila.enfileirar(eventos, anotar, recibo=recibo)
            except FilaCheia:  # a cota é da fila: quadro nenhum abre lugar nela
                raise
            except SemEspaco:
                # O que se libera pode ir para o checkpoint do SQLite: repete-se até não haver quadro a ceder.
                if not self.quadros.despejar(precisa_bytes):
                    raise

    # ---- O envio

    def _enviar(self) -> None:
        """A thread do envio: consegue a vaga, e dá um passo por vez até pedirem para parar."""
        if not self._esperar_vaga():
            return
        while not self._parar.is_set():
            try:
                remetente = self.remetente
                if remetente is None:
                    remetente = self.montar_remetente()
                    self._iniciar(self._atender)
                while not self._parar.is_set():
                    dormir_s = remetente.passo()
                    if dormir_s > 0:
                        self._acordar.wait(dormir_s)
                    self._acordar.clear()
            except FilaIndisponivel as erro:
                if not self._parar.is_set():
                    logger.error("a fila não pôde ser usada, nova tentativa em instantes: %s", erro)
                self._parar.wait(REPETIR_DISCO_S)

    def montar_remetente(self, *, sorteio: Sorteio = random.random) -> Remetente:
        """O laço de envio, para quem o quer conduzir por conta própria (a vaga é de quem conduz)."""
        ritmo = self.opcoes.ritmo()
        self.atendente = Atendente(
            self._envio,
            self.quadros,
            self._relogio,
            ritmo,
            espera_s=self.opcoes.pedidos_espera_s,
            sorteio=sorteio,
        )
        self.quadros.varrer_orfaos()
        self.remetente = Remetente(
            self.fila,
            self._envio,
            self._relogio,
            ritmo,
            Pulso(self.fila, self.quadros, self._relogio, self._vigia),
            ao_receber_pedidos=self.atendente.receber,
            sorteio=sorteio,
        )
        return self.remetente

    def _atender(self) -> None:
        """A thread dos quadros pedidos."""
        assert self.atendente is not None
        while not self._parar.is_set():
            try:
                dormir_s = self.atendente.passo()
            except FilaIndisponivel:
                dormir_s = REPETIR_DISCO_S
            self._parar.wait(dormir_s)

    def _esperar_vaga(self) -> bool:
        avisado = False
        while not self._parar.is_set():
            try:
                self._vaga.ocupar()
                return True
            except (FilaEmUso, FilaIndisponivel) as erro:
                if not avisado:
                    logger.warning("%s", erro)
                avisado = True
            self._parar.wait(REPETIR_VAGA_S)
        return False

    def _iniciar(self, laco: Callable[[], None]) -> None:
        nome = "lastro-envio" if laco == self._enviar else "lastro-quadros"
        thread = threading.Thread(target=laco, name=nome, daemon=True)
        self._threads.append(thread)
        thread.start()
