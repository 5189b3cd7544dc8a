"""Quem manda os recibos e quem registra as mensagens: insistem até ouvir 2xx e anotam o que ouviram."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from tests.caos.envio import Canal, Resposta, SemResposta
from tests.caos.recibos import Callback, Registro, Roteiro
from tests.caos.servidor import ServidorLocal

CLIENTES = 8
ESPERA_MINIMA_S, ESPERA_MAXIMA_S = 0.1, 0.4  # o Retry-After é de segundos; aqui se insiste mais que o educado
CHANCE_DE_NAO_OUVIR = 0.03  # a transportadora que desistiu da resposta e vai reenviar
PRAZO_DA_CARGA_S = 60
CODIGOS_503 = {"armazenamento_indisponivel", "armazenamento_lento", "porta_cheia"}
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Integracao:
    """O que `criar_integracao` imprimiu."""

    id: int
    slug: str
    token: str
    url_callback: str


def criar_integracao(servidor: ServidorLocal, slug: str) -> Integracao:
    """Cria no servidor uma integração do formato padrão."""
    return Integracao(
        **servidor.rodar_modulo("manage", "criar_integracao", "--slug", slug, "--formato", "padrao")
    )


class CanalDeRecibos(Canal):
    """Uma conexão mantida aberta, numa rota só."""

    def __init__(self, porta: int, rota: str, **opcoes: float) -> None:
        super().__init__(porta, **opcoes)
        self._rota = rota

    def mandar(self, corpo: bytes, cabecalhos: Mapping[str, str], *, em_pedacos: bool = False) -> None:
        """Manda a requisição inteira e não lê a resposta; levanta SemResposta."""
        try:
            self._conexao.request("POST", self._rota, body=corpo, headers=dict(cabecalhos))
        except (OSError, http.client.HTTPException) as queda:
            self.fechar()
            raise SemResposta(repr(queda)) from queda


@dataclass(slots=True)
class Anotacoes:
    """O que se ouviu. Por marca: quantas vezes o servidor confirmou, e quantas não se sabe se gravou."""

    confirmadas: Counter[str] = field(default_factory=Counter)
    duvidosas: Counter[str] = field(default_factory=Counter)
    registradas: set[str] = field(default_factory=set)
    respostas: Counter[str] = field(default_factory=Counter)
    violacoes: list[str] = field(default_factory=list)


class Carga:
    """O roteiro inteiro, mandado por `CLIENTES` threads no ritmo pedido; usar como bloco `with`."""

    def __init__(
        self,
        servidor: ServidorLocal,
        integracao: Integracao,
        roteiro: Roteiro,
        *,
        duracao_s: float,
        porta: int | None = None,
    ) -> None:
        """`porta` é a de um relé, se os recibos passam por ele."""
        self.anotacoes = Anotacoes()
        self._roteiro, self._integracao = roteiro, integracao
        self._porta = porta or servidor.porta
        self._intervalo_s = duracao_s / len(roteiro.chamadas)
        self._numero = iter(range(len(roteiro.chamadas)))
        self._trava = threading.Lock()
        self._desistir = threading.Event()
        self._comeco_s = 0.0
        self._threads = [
            threading.Thread(target=self._rodar, args=(n,), daemon=True) for n in range(CLIENTES)
        ]

    def __enter__(self) -> "Carga":
        self._comeco_s = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._desistir.set()
        for thread in self._threads:
            thread.join(30)

    def dormir_ate(self, instante_s: float) -> None:
        """Espera até tantos segundos depois do começo da carga."""
        time.sleep(max(0.0, self._comeco_s + instante_s - time.monotonic()))

    @property
    def acabou(self) -> bool:
        """Se o roteiro inteiro já foi confirmado."""
        return not any(thread.is_alive() for thread in self._threads)

    def apressar(self) -> None:
        """O que falta do roteiro sai já, sem esperar o instante."""
        self._intervalo_s = 0.0

    def terminar(self) -> None:
        """Espera que tudo tenha sido confirmado; acusa o que ficou por confirmar no prazo."""
        limite = time.monotonic() + PRAZO_DA_CARGA_S
        for thread in self._threads:
            thread.join(max(0.0, limite - time.monotonic()))
        presas = sum(thread.is_alive() for thread in self._threads)
        if presas:
            self._acusar(f"{presas} clientes ainda esperam um 2xx {PRAZO_DA_CARGA_S} s depois")

    def _rodar(self, cliente: int) -> None:
        sorteio = Random(f"{self._integracao.slug}:{cliente}")
        recibos = CanalDeRecibos(self._porta, self._integracao.url_callback)
        mensagens = CanalDeRecibos(self._porta, "/dlr/mensagens")
        try:
            while not self._desistir.is_set():
                with self._trava:
                    numero = next(self._numero, None)
                if numero is None:
                    return
                self.dormir_ate(numero * self._intervalo_s)
                chamada = self._roteiro.chamadas[numero]
                if isinstance(chamada, Callback):
                    self._insistir(lambda c=chamada: self._mandar_callback(recibos, c, sorteio), sorteio)
                else:
                    self._insistir(lambda c=chamada: self._registrar(mensagens, c), sorteio)
        except Exception as erro:  # noqa: BLE001 - um defeito do cliente não pode passar por silêncio
            self._acusar(f"cliente {cliente} quebrou: {erro!r}")
        finally:
            recibos.fechar()
            mensagens.fechar()

    def _insistir(self, tentar, sorteio: Random) -> None:
        while not tentar() and not self._desistir.is_set():
            time.sleep(sorteio.uniform(ESPERA_MINIMA_S, ESPERA_MAXIMA_S))

    def _mandar_callback(self, canal: CanalDeRecibos, callback: Callback, sorteio: Random) -> bool:
        """Uma tentativa; devolve True se a transportadora ouviu 202."""
        try:
            canal.mandar(callback.corpo, JSON)
            if sorteio.random() < CHANCE_DE_NAO_OUVIR:
                canal.fechar()
                raise SemResposta("não quis ouvir")
            resposta = canal.receber()
        except SemResposta:
            self._contar("sem resposta", duvidosa=callback.marca)
            return False
        if resposta.status == 202:
            self._contar("202", confirmada=callback.marca)
            return True
        self._contar(f"{resposta.status} {resposta.codigo}", duvidosa=callback.marca)
        self._conferir_503(resposta)
        return False

    def _registrar(self, canal: CanalDeRecibos, registro: Registro) -> bool:
        """Uma tentativa; devolve True se o servidor registrou todas."""
        cabecalhos = {**JSON, "Authorization": f"Bearer {self._integracao.token}"}
        try:
            resposta = canal.postar(registro.corpo, cabecalhos)
        except SemResposta:
            self._contar("registro sem resposta")
            return False
        self._contar(f"registro {resposta.status}")
        if resposta.status != 200:
            self._conferir_503(resposta)
            return False
        resultados = (resposta.json() or {}).get("resultados", [])
        if [r.get("id_interno") for r in resultados] != [f"m-{id_}" for id_ in registro.ids]:
            self._acusar(f"registro respondeu outra coisa: {resposta.corpo[:300]!r}")
        with self._trava:
            self.anotacoes.registradas.update(registro.ids)
        return True

    def _conferir_503(self, resposta: Resposta) -> None:
        espera = resposta.cabecalhos.get("retry-after", "")
        if resposta.status != 503 or resposta.codigo not in CODIGOS_503 or not espera.isdigit():
            self._acusar(f"veio {resposta.status} {resposta.cabecalhos} {resposta.corpo[:300]!r}")

    def _contar(self, resposta: str, *, confirmada: str = "", duvidosa: str = "") -> None:
        with self._trava:
            self.anotacoes.respostas[resposta] += 1
            if confirmada:
                self.anotacoes.confirmadas[confirmada] += 1
            if duvidosa:
                self.anotacoes.duvidosas[duvidosa] += 1

    def _acusar(self, violacao: str) -> None:
        with self._trava:
            self.anotacoes.violacoes.append(violacao)
