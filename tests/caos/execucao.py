"""Uma rodada: subir, carregar, derrubar, parar de derrubar, esperar esvaziar, conferir, resumir."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import psutil
import psycopg

from tests.caos.clientes import Cliente
from tests.caos.conferencia import conferir
from tests.caos.falhas import Falha, Marcada, montar_roteiro
from tests.caos.lotes import Site
from tests.caos.oraculo import Oraculo
from tests.caos.servidor import ServidorLocal, esperar

QTD_SITES = 8
QTD_CLIENTES = 12
FRANQUIA = 1_500  # de um dos sites: passa dela no meio da rodada e começa a receber 402
LIMITE_POR_MINUTO = "10000000"  # a janela tem testes próprios; aqui ela só esconderia as falhas
PASSO_DO_PROGRESSO_S = 5.0
PRAZO_DOS_CLIENTES_S = 60
FALHA_DEMORADA_S = 5.0  # só a que derruba e levanta tudo passa disto
# Reinício com recuo (até 10 s), varredura do beat (3 s) e, se um worker morreu com a mensagem, mais uma.
PRAZO_PARA_ESVAZIAR_S = 60

SQL_PENDENTES = "SELECT count(*) FROM ingestao_lote WHERE estacionado_em IS NULL"


@dataclass(slots=True)
class Rodada:
    """O que uma rodada deixou: violações (nenhuma, se tudo vai bem) e as medidas para o resumo."""

    semente: int
    oraculo: Oraculo
    falhas: Counter[str] = field(default_factory=Counter)
    linhas: int = 0
    esvaziou_em_s: float | None = None
    memoria_maxima_mb: dict[str, float] = field(default_factory=dict)

    @property
    def violacoes(self) -> list[str]:
        return self.oraculo.violacoes

    def resumo(self) -> str:
        """Uma linha com a semente e o que aconteceu."""
        o = self.oraculo
        esperas = sorted(o.esperas_s) or [0.0]
        p50, p99 = (esperas[int((len(esperas) - 1) * q)] * 1000 for q in (0.5, 0.99))
        esvaziou = "não" if self.esvaziou_em_s is None else f"em {self.esvaziou_em_s:.1f} s"
        return (
            f"semente={self.semente} violações={o.qtd_violacoes} falhas={sum(self.falhas.values())} "
            f"mandadas={o.respostas['mandadas']} 202={o.respostas['202']} 503={o.respostas['503']} "
            f"sem_resposta={o.respostas['sem resposta']} prometidos={len(o.prometidos)} linhas={self.linhas} "
            f"p50={p50:.0f}ms p99={p99:.0f}ms máximo={esperas[-1]:.1f}s esvaziou={esvaziou} "
            + " ".join(f"memória_{nome}={mb:.0f}MB" for nome, mb in sorted(self.memoria_maxima_mb.items()))
        )


class Carga:
    """Os clientes de uma rodada, do primeiro lote ao último reenvio."""

    def __init__(
        self, servidor: ServidorLocal, sites: Sequence[Site], semente: int, por_segundo: float
    ) -> None:
        self.oraculo = Oraculo()
        self._parar, self._desistir = threading.Event(), threading.Event()
        self._clientes = [
            Cliente(
                numero,
                semente=semente,
                porta=servidor.porta,
                sites=sites,
                oraculo=self.oraculo,
                intervalo_s=QTD_CLIENTES / por_segundo,
                parar=self._parar,
                desistir=self._desistir,
            )
            for numero in range(QTD_CLIENTES)
        ]

    def __enter__(self) -> "Carga":
        for cliente in self._clientes:
            cliente.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._parar.set()
        self._desistir.set()
        for cliente in self._clientes:
            cliente.join(30)

    def terminar(self) -> None:
        """Para de criar lotes e espera os reenvios; acusa quem ficou sem resposta com o servidor de pé."""
        self._parar.set()
        limite = time.monotonic() + PRAZO_DOS_CLIENTES_S
        for cliente in self._clientes:
            cliente.join(max(0.0, limite - time.monotonic()))
        presos = sum(len(c.pendentes) or 1 for c in self._clientes if c.is_alive())
        if presos:
            self.oraculo.acusar(f"{presos} lotes sem resposta {PRAZO_DOS_CLIENTES_S} s depois das falhas")


def rodar(
    *,
    semente: int,
    duracao_s: float,
    por_segundo: float,
    falhas: Mapping[str, Falha],
    dizer: Callable[[str], None] = print,
) -> Rodada:
    """Uma rodada inteira num servidor próprio; nada fica para trás. `dizer` recebe o progresso."""
    roteiro = montar_roteiro(semente, duracao_s, list(falhas))
    dizer(f"semente {semente}: {len(roteiro)} falhas em {duracao_s:.0f} s, {por_segundo:.0f} lotes/s")
    with ServidorLocal(ambiente={"LASTRO_LIMITE_POR_MINUTO": LIMITE_POR_MINUTO}) as servidor:
        sites = criar_sites(servidor, QTD_SITES, franquia=FRANQUIA)
        with Carga(servidor, sites, semente, por_segundo) as carga:
            rodada = Rodada(semente=semente, oraculo=carga.oraculo)
            _seguir_roteiro(servidor, rodada, roteiro, duracao_s, falhas, dizer)
            servidor.esperar_de_pe()
            carga.terminar()
            _esperar_esvaziar(servidor, rodada)
            with servidor.conectar() as conexao:
                rodada.linhas = conferir(conexao, rodada.oraculo, sites)
            if rodada.violacoes:
                dizer(servidor.fim_da_saida(80))
    dizer(rodada.resumo())
    return rodada


def criar_sites(servidor: ServidorLocal, quantos: int, *, franquia: int | None = None) -> list[Site]:
    """Cria os sites da carga; com `franquia`, o último a tem e para de receber quando ela acaba."""
    argumentos = [str(quantos)] + ([str(franquia)] if franquia is not None else [])
    return [Site(**site) for site in servidor.rodar_modulo("tests.caos.aplicativos", *argumentos)]


def _seguir_roteiro(
    servidor: ServidorLocal,
    rodada: Rodada,
    roteiro: Sequence[Marcada],
    duracao_s: float,
    falhas: Mapping[str, Falha],
    dizer: Callable[[str], None],
) -> None:
    comeco = time.monotonic()
    progresso_s = PASSO_DO_PROGRESSO_S
    for marcada in [*roteiro, None]:
        fim_s = marcada.em_s if marcada else duracao_s
        while (agora_s := time.monotonic() - comeco) < fim_s:
            if agora_s >= progresso_s:
                dizer(_progresso(servidor, rodada, agora_s, duracao_s))
                progresso_s += PASSO_DO_PROGRESSO_S
            time.sleep(min(0.2, max(0.0, fim_s - agora_s)))
        if marcada:
            servidor.anotar_processos()
            antes_s = time.monotonic()
            feito = falhas[marcada.nome](servidor, Random(marcada.semente))
            if (levou_s := time.monotonic() - antes_s) > FALHA_DEMORADA_S:
                comeco += levou_s  # senão as atrasadas viriam todas juntas
            rodada.falhas[marcada.nome] += 1
            dizer(f"  {marcada.em_s:6.1f} s  {marcada.nome}: {feito}")


def _progresso(servidor: ServidorLocal, rodada: Rodada, agora_s: float, duracao_s: float) -> str:
    anotar_memoria(servidor, rodada.memoria_maxima_mb)
    respostas = rodada.oraculo.respostas
    return (
        f"{agora_s:5.0f}/{duracao_s:.0f} s  202={respostas['202']} 503={respostas['503']} "
        f"sem resposta={respostas['sem resposta']} violações={rodada.oraculo.qtd_violacoes}"
    )


def anotar_memoria(servidor: ServidorLocal, maximos_mb: dict[str, float]) -> None:
    """Guarda a maior memória residente, em MB, já vista num processo da web e num do worker."""
    for nome in ("web", "worker"):
        pid = servidor.pid_de(nome)
        for processo in servidor.grupo(nome) if pid else []:
            try:
                usado_mb = processo.memory_info().rss / 1e6
            except psutil.Error:
                continue
            maximos_mb[nome] = max(maximos_mb.get(nome, 0.0), usado_mb)


def _esperar_esvaziar(servidor: ServidorLocal, rodada: Rodada) -> None:
    """Espera a caixa esvaziar sozinha; acusa se não esvaziou no prazo."""
    comeco = time.monotonic()
    if esperar(lambda: contar_pendentes(servidor) == 0, PRAZO_PARA_ESVAZIAR_S, passo_s=0.1):
        rodada.esvaziou_em_s = time.monotonic() - comeco
    else:
        rodada.oraculo.acusar(
            f"a caixa não esvaziou em {PRAZO_PARA_ESVAZIAR_S} s: {contar_pendentes(servidor)} lotes"
        )


def contar_pendentes(servidor: ServidorLocal) -> int | None:
    """Lotes à espera na caixa; None enquanto o banco não responde."""
    try:
        return int(servidor.consultar(SQL_PENDENTES)[0][0])
    except psycopg.OperationalError:
        return None
