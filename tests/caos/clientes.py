"""Os clientes: mandam, desistem, reenviam, mandam em dobro, cortam no meio."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.caos.envio import Canal, SemResposta, cortar_no_meio
from tests.caos.lotes import Fabrica, Lote, Site
from tests.caos.oraculo import Oraculo
from tests.caos.remetente import Remetente

PENDENTES_POR_CLIENTE = 20  # com o servidor fora do ar o cliente junta até isto e depois só insiste
ESPERA_MINIMA_S, ESPERA_MAXIMA_S = 0.1, 0.8  # o Retry-After é de segundos; aqui se insiste mais que o educado

CHANCE_DE_REENVIAR = 0.10  # mesmo depois do 202
CHANCE_DE_DOBRO = 0.04
CHANCE_DE_PAR_INVERTIDO = 0.04
CHANCE_DE_CORTE = 0.03
CHANCE_DE_NAO_OUVIR = 0.03
CHANCE_DE_RECUSADO = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Pendente:
    """Um lote sem resposta que valha, e quando tentar de novo (relógio monotônico)."""

    lote: Lote
    tentar_em: float


class Cliente(Remetente):
    """Uma thread que manda até `parar`, e depois insiste só nos pendentes até acabarem ou `desistir`."""

    def __init__(
        self,
        numero: int,
        *,
        semente: int,
        porta: int,
        sites: Sequence[Site],
        oraculo: Oraculo,
        intervalo_s: float,
        parar: threading.Event,
        desistir: threading.Event,
    ) -> None:
        super().__init__(
            f"cliente-{numero}",
            canais=(Canal(porta), Canal(porta)),
            oraculo=oraculo,
            parar=parar,
            desistir=desistir,
        )
        self._sorteio = Random(f"{semente}:{numero}:modo")
        self._fabrica = Fabrica(f"{semente}:{numero}", sites)
        self._porta = porta
        self._intervalo_s = intervalo_s
        self.pendentes: deque[Pendente] = deque()

    def _trabalhar(self) -> None:
        proximo = time.monotonic() + self._sorteio.random() * self._intervalo_s
        while not self._desistir.is_set():
            if self._parar.is_set() and not self.pendentes:
                return
            self._insistir()
            if not self._parar.is_set() and len(self.pendentes) < PENDENTES_POR_CLIENTE:
                self._agir()
            # Quem ficou preso numa queda não recupera o atraso em rajada.
            proximo = max(proximo + self._intervalo_s, time.monotonic() - self._intervalo_s)
            time.sleep(max(0.0, proximo - time.monotonic()))

    def _agir(self) -> None:
        """Um passo sorteado do comportamento de quem usa a porta."""
        dado = self._sorteio.random()
        for chance, acao in (
            (CHANCE_DE_DOBRO, lambda: self._mandar_juntos(*(self._fabrica.lote(),) * 2)),
            (CHANCE_DE_PAR_INVERTIDO, lambda: self._mandar_juntos(*self._fabrica.par_invertido())),
            (CHANCE_DE_CORTE, self._cortar),
            (CHANCE_DE_NAO_OUVIR, lambda: self._mandar_sem_ouvir(self._fabrica.lote())),
            (CHANCE_DE_RECUSADO, lambda: self._mandar(self._fabrica.lote_recusado())),
        ):
            if dado < chance:
                return acao()
            dado -= chance
        return self._mandar(self._fabrica.lote())

    def _insistir(self) -> None:
        if self.pendentes and self.pendentes[0].tentar_em <= time.monotonic():
            self._mandar(self.pendentes.popleft().lote)

    def _mandar(self, lote: Lote) -> None:
        terminou = self._tentar(self._canais[0], lote)
        if terminou and self._sorteio.random() < CHANCE_DE_REENVIAR:
            self._tentar(self._canais[1], lote)

    def _tentar(self, canal: Canal, lote: Lote) -> bool:
        """Uma tentativa inteira; devolve True se o lote está resolvido (senão ele já ficou pendente)."""
        comeco = time.monotonic()
        self._oraculo.anotar_envio(lote)
        try:
            resposta = canal.postar(lote.corpo, lote.cabecalhos, em_pedacos=lote.em_pedacos)
        except SemResposta:
            self._oraculo.anotar_sem_resposta()
            self._guardar(lote)
            return False
        if self._oraculo.anotar_resposta(lote, resposta, time.monotonic() - comeco):
            return True
        self._guardar(lote)
        return False

    def _mandar_juntos(self, *lotes: Lote) -> None:
        """Os dois em conexões diferentes, os dois inteiros antes de ouvir qualquer resposta."""
        comeco = time.monotonic()
        mandados: list[tuple[Canal, Lote]] = []
        for canal, lote in zip(self._canais, lotes, strict=True):
            self._oraculo.anotar_envio(lote)
            try:
                canal.mandar(lote.corpo, lote.cabecalhos, em_pedacos=lote.em_pedacos)
                mandados.append((canal, lote))
            except SemResposta:
                self._oraculo.anotar_sem_resposta()
                self._guardar(lote)
        for canal, lote in mandados:
            try:
                resposta = canal.receber()
            except SemResposta:
                self._oraculo.anotar_sem_resposta()
                self._guardar(lote)
                continue
            if not self._oraculo.anotar_resposta(lote, resposta, time.monotonic() - comeco):
                self._guardar(lote)

    def _mandar_sem_ouvir(self, lote: Lote) -> None:
        """Manda inteiro e fecha sem ler: o servidor pode ter gravado; o cliente, que não sabe, reenvia."""
        canal = Canal(self._porta)
        self._oraculo.anotar_envio(lote)
        try:
            canal.mandar(lote.corpo, lote.cabecalhos, em_pedacos=lote.em_pedacos)
            time.sleep(self._sorteio.choice([0, 0, 0.005]))
        except SemResposta:
            pass  # dá no mesmo: sem resposta
        finally:
            canal.fechar()
        self._oraculo.anotar_sem_resposta()
        self._guardar(lote)

    def _cortar(self) -> None:
        """Corta o corpo no meio. Metade das vezes reenvia inteiro; na outra, os eventos não podem existir."""
        lote = self._fabrica.lote()
        self._oraculo.anotar_corte()
        cortar_no_meio(
            self._porta,
            lote.corpo,
            lote.cabecalhos,
            fracao=self._sorteio.random() * 0.95,
            abrupto=self._sorteio.random() < 0.5,
        )
        if self._sorteio.random() < 0.5:
            self._guardar(lote)

    def _guardar(self, lote: Lote) -> None:
        espera_s = self._sorteio.uniform(ESPERA_MINIMA_S, ESPERA_MAXIMA_S)
        self.pendentes.append(Pendente(lote=lote, tentar_em=time.monotonic() + espera_s))
