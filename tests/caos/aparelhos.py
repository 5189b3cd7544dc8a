"""Os aparelhos diretos: threads que falam o protocolo, reenviam, trocam a ordem e mandam em dobro."""

import threading
import time
from collections import deque
from dataclasses import dataclass
from random import Random

from tests.caos.capturas import Captura, ChamadaRuim, Fabrica, montar_corpo
from tests.caos.envio import Canal, Resposta, SemResposta
from tests.caos.oraculo_capturas import OraculoDeCapturas
from tests.caos.remetente import Remetente

ROTA = "/captura/ingestao"
INTERVALO_S = 0.25
PENDENTES_POR_APARELHO = 10  # com o servidor fora do ar o aparelho junta até isto e depois só insiste
ESPERA_MINIMA_S, ESPERA_MAXIMA_S = 0.1, 0.8

CHANCE_DE_REENVIAR = 0.10  # mesmo depois do ACK
CHANCE_DE_DOBRO = 0.06
CHANCE_DE_NAO_OUVIR = 0.05
CHANCE_DE_CHAMADA_RUIM = 0.05
CHANCE_DE_REPETIR_A_TENTATIVA = 0.2  # a fila que esqueceu que já tinha mandado


@dataclass(slots=True, kw_only=True)
class Envio:
    """Um lote e quantas vezes já foi; ou uma chamada ruim."""

    capturas: list[Captura]
    ruim: ChamadaRuim | None = None
    tentativa: int = 0
    tentar_em: float = 0.0


class Aparelho(Remetente):
    """Uma thread que manda até `parar`, e depois insiste só nos pendentes até acabarem ou `desistir`."""

    def __init__(
        self,
        numero: int,
        *,
        semente: int,
        porta: int,
        dispositivo: str,
        token: str,
        oraculo: OraculoDeCapturas,
        parar: threading.Event,
        desistir: threading.Event,
    ) -> None:
        super().__init__(
            f"aparelho-{numero}",
            canais=(Canal(porta, rota=ROTA), Canal(porta, rota=ROTA)),
            oraculo=oraculo,
            parar=parar,
            desistir=desistir,
        )
        self._sorteio = Random(f"{semente}:aparelho:{numero}:modo")
        self._fabrica = Fabrica(semente, numero)
        self._dispositivo, self._token = dispositivo, token
        self._porta = porta
        self.pendentes: deque[Envio] = deque()

    def _trabalhar(self) -> None:
        while not self._desistir.is_set():
            if self._parar.is_set() and not self.pendentes:
                return
            comeco = time.monotonic()
            self._insistir()
            if not self._parar.is_set() and len(self.pendentes) < PENDENTES_POR_APARELHO:
                self._agir()
            time.sleep(max(0.0, INTERVALO_S - (time.monotonic() - comeco)))

    def _agir(self) -> None:
        """Um passo sorteado do que um aparelho faz."""
        if self._sorteio.random() < CHANCE_DE_CHAMADA_RUIM:
            return self._mandar(Envio(capturas=[], ruim=self._fabrica.chamada_ruim()))
        envio = Envio(capturas=self._fabrica.lote())
        dado = self._sorteio.random()
        if dado < CHANCE_DE_DOBRO:
            return self._mandar_em_dobro(envio)
        if dado < CHANCE_DE_DOBRO + CHANCE_DE_NAO_OUVIR:
            return self._mandar_sem_ouvir(envio)
        return self._mandar(envio)

    def _insistir(self) -> None:
        """Um pendente qualquer, e não o primeiro: a ordem de chegada não é a da captura."""
        if self.pendentes:
            self.pendentes.rotate(self._sorteio.randrange(len(self.pendentes)))
            if self.pendentes[0].tentar_em <= time.monotonic():
                self._mandar(self.pendentes.popleft())

    def _mandar(self, envio: Envio) -> None:
        if self._tentar(self._canais[0], envio) and self._sorteio.random() < CHANCE_DE_REENVIAR:
            self._tentar(self._canais[1], envio)

    def _tentar(self, canal: Canal, envio: Envio) -> bool:
        """Uma tentativa inteira; devolve True se o envio está resolvido (senão ele já ficou pendente)."""
        try:
            self._partir(canal, envio)
            resposta = canal.receber()
        except SemResposta:
            self._oraculo.anotar_sem_resposta()
            return self._guardar(envio)
        return self._ouvir(envio, resposta) or self._guardar(envio)

    def _mandar_em_dobro(self, envio: Envio) -> None:
        """O mesmo lote em duas conexões, os dois inteiros antes de ouvir qualquer resposta."""
        idos: list[Canal] = []
        for canal in self._canais:
            try:
                self._partir(canal, envio)
                idos.append(canal)
            except SemResposta:
                self._oraculo.anotar_sem_resposta()
        resolvido = False
        for canal in idos:
            try:
                resolvido |= self._ouvir(envio, canal.receber())
            except SemResposta:
                self._oraculo.anotar_sem_resposta()
        if not resolvido:
            self._guardar(envio)

    def _mandar_sem_ouvir(self, envio: Envio) -> None:
        """Manda inteiro e fecha sem ler: o servidor pode ter gravado; o aparelho, que não sabe, reenvia."""
        canal = Canal(self._porta, rota=ROTA)
        try:
            self._partir(canal, envio)
            time.sleep(self._sorteio.choice([0, 0, 0.005]))
        except SemResposta:
            pass  # dá no mesmo: sem resposta
        finally:
            canal.fechar()
        self._oraculo.anotar_sem_resposta()
        self._guardar(envio)

    def _partir(self, canal: Canal, envio: Envio) -> None:
        """Manda a requisição inteira, anotada antes; levanta SemResposta."""
        if envio.ruim is not None:
            self._oraculo.anotar_chamada_ruim(envio.ruim)
            token = envio.ruim.token or self._token
            corpo, tipo = envio.ruim.corpo, "application/json"
        else:
            if not envio.tentativa or self._sorteio.random() >= CHANCE_DE_REPETIR_A_TENTATIVA:
                envio.tentativa += 1
            self._oraculo.anotar_envio(self._dispositivo, envio.capturas)
            token = self._token
            corpo, tipo = montar_corpo(envio.capturas, [envio.tentativa] * len(envio.capturas))
        canal.mandar(corpo, {"Authorization": f"Bearer {token}", "Content-Type": tipo})

    def _ouvir(self, envio: Envio, resposta: Resposta) -> bool:
        if envio.ruim is not None:
            return self._oraculo.anotar_recusa_inteira(envio.ruim, resposta)
        return self._oraculo.anotar_resposta(self._dispositivo, envio.capturas, resposta)

    def _guardar(self, envio: Envio) -> bool:
        envio.tentar_em = time.monotonic() + self._sorteio.uniform(ESPERA_MINIMA_S, ESPERA_MAXIMA_S)
        if envio not in self.pendentes:
            self.pendentes.append(envio)
        return False
