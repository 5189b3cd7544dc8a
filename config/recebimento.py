"""Juntar o corpo de uma requisição: sob teto, sob prazos e dentro do orçamento de memória do processo."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Self

Receber = Callable[[], Awaitable[dict[str, Any]]]

DESCARTE_MAXIMO_BYTES = 16 * 1024 * 1024  # além disto o remetente perde a conexão em vez de um 413 limpo
SILENCIO_MAXIMO_S = 30  # sem um byte por este tempo, o remetente desistiu
CORPO_MAXIMO_S = 300  # 1 MiB a 3,5 KB/s: o pior enlace móvel que ainda termina
# Corpos na memória do processo, dos que chegam aos pedaços aos que esperam thread. Com isto e a base do
# código (~110 MB), a web fica abaixo de 170 MB mesmo sob centenas de bombas. Os pequenos passam sempre: quem
# enche a memória com corpos grandes não fecha a porta para os outros.
CORPOS_MAXIMO_BYTES = 12 * 1024 * 1024
# As capturas têm o seu, à parte: um lote delas pode ter 16 MiB e não caberia no geral, nem o geral pode esperar
# por quem sobe imagens em enlace lento.
CAPTURAS_MAXIMO_BYTES = 24 * 1024 * 1024
PEQUENO_BYTES = 16 * 1024
# Um corpo grande vira dezenas de MB de objetos, e uma bomba de gzip, dezenas de ms de CPU: poucos por vez, e
# quem espera a vez é uma corrotina. Os pequenos passam ao lado.
GRANDE_BYTES = 128 * 1024  # como enviado; em gzip, cerca de 1 MiB de JSON


class Orcamento:
    """Quantos bytes de corpos grandes cabem na memória do processo de uma vez."""

    def __init__(self, maximo_bytes: int) -> None:
        self.maximo_bytes = maximo_bytes
        self.usados_bytes = 0

    def cabe(self, mais_bytes: int) -> bool:
        """Se ainda há lugar para tantos bytes."""
        return self.usados_bytes + mais_bytes <= self.maximo_bytes


GERAL = Orcamento(CORPOS_MAXIMO_BYTES)
DAS_CAPTURAS = Orcamento(CAPTURAS_MAXIMO_BYTES)


class CorpoNaoVeio(Exception):
    """O corpo não chegou inteiro: conexão fechada, pedaço malformado, silêncio, prazo ou memória."""

    def __init__(self, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


class Corpo:
    """O corpo de uma requisição, contado num orçamento de memória do processo enquanto existir."""

    def __init__(self, teto_bytes: int, orcamento: Orcamento = GERAL) -> None:
        self._teto_bytes = teto_bytes
        self._orcamento = orcamento
        self._pedacos: list[bytes] = []
        self._guardado = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._orcamento.usados_bytes -= self._guardado
        self._pedacos.clear()

    @property
    def grande(self) -> bool:
        return self._guardado > GRANDE_BYTES

    def inteiro(self) -> bytes:
        """O que chegou, numa peça só; os pedaços são soltos, para não ocupar o dobro."""
        if len(self._pedacos) != 1:
            self._pedacos = [b"".join(self._pedacos)]
        return self._pedacos[0]

    async def juntar(self, receber: Receber) -> None:
        """Guarda até `teto_bytes + 1`; o excedente é lido e jogado fora até um limite. Levanta `CorpoNaoVeio`."""
        vigia = _Vigia()
        descartado = 0
        try:
            while True:
                mensagem = await receber()
                vigia.ouviu()
                if mensagem["type"] == "http.disconnect":
                    # Também é assim que chega um chunked malformado, com a conexão de pé: sem resposta nossa,
                    # o servidor inventaria um 500.
                    raise CorpoNaoVeio(
                        400, "corpo_incompleto", "O corpo veio cortado ou malformado; reenvie."
                    )
                pedaco = mensagem.get("body", b"")
                cabe = pedaco[: self._teto_bytes + 1 - self._guardado]
                self._guardar(cabe)
                descartado += len(pedaco) - len(cabe)
                if not mensagem.get("more_body", False) or descartado > DESCARTE_MAXIMO_BYTES:
                    return
        except asyncio.CancelledError:
            if vigia.venceu:
                raise CorpoNaoVeio(408, "corpo_incompleto", "O corpo parou de chegar; reenvie.") from None
            raise
        finally:
            vigia.dispensar()

    def _guardar(self, pedaco: bytes) -> None:
        if not pedaco:
            return
        pequeno = self._guardado + len(pedaco) <= PEQUENO_BYTES
        if not pequeno and not self._orcamento.cabe(len(pedaco)):
            raise CorpoNaoVeio(
                503, "porta_cheia", "Muitos corpos grandes ao mesmo tempo; reenvie em instantes."
            )
        self._pedacos.append(pedaco)
        self._guardado += len(pedaco)
        self._orcamento.usados_bytes += len(pedaco)


class _Vigia:
    """Cancela a tarefa que lê um corpo mudo há `SILENCIO_MAXIMO_S` ou que já dura `CORPO_MAXIMO_S`.

    Um despertador só por corpo, remarcado ao disparar: um por leitura custaria mais que a leitura.
    """

    def __init__(self) -> None:
        self.venceu = False
        self._laco = asyncio.get_running_loop()
        self._tarefa = asyncio.current_task()
        self._comeco = self._ouviu_em = self._laco.time()
        self._despertador = self._laco.call_later(min(SILENCIO_MAXIMO_S, CORPO_MAXIMO_S), self._conferir)

    def ouviu(self) -> None:
        """Chegou mais um pedaço."""
        self._ouviu_em = self._laco.time()

    def dispensar(self) -> None:
        """O corpo acabou."""
        self._despertador.cancel()

    def _conferir(self) -> None:
        prazo = min(self._ouviu_em + SILENCIO_MAXIMO_S, self._comeco + CORPO_MAXIMO_S)
        if self._laco.time() < prazo:
            self._despertador = self._laco.call_at(prazo, self._conferir)
        elif self._tarefa is not None:
            self.venceu = True
            self._tarefa.cancel()
