"""Uma rodada: subir, carregar, derrubar, parar de derrubar, esperar esvaziar, conferir, resumir."""

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil
import psycopg

from tests.caos.falhas import Falha, Marcada, montar_roteiro
from tests.caos.fluxo import Fluxo
from tests.caos.fluxo_capturas import FluxoDeCapturas
from tests.caos.fluxo_eventos import FluxoDeEventos
from tests.caos.fluxo_recibos import FluxoDeRecibos
from tests.caos.rele import Rele
from tests.caos.servidor import ServidorLocal, esperar
from tests.caos.transportadora import Integracao

LIMITE_POR_MINUTO = "10000000"  # a janela tem testes próprios; aqui ela só esconderia as falhas
MENSAGENS_POR_LOTE = 0.2  # mensagens de SMS por lote de eventos: uns três recibos cada uma
PASSO_DO_PROGRESSO_S = 10.0
FALHA_DEMORADA_S = 5.0  # só a que derruba e levanta tudo passa disto
# Reinício com recuo (até 10 s), varredura do beat (3 s) e, se um worker morreu com a mensagem, mais uma.
PRAZO_PARA_ESVAZIAR_S = 60


@dataclass(slots=True)
class Rodada:
    """O que uma rodada deixou: violações (nenhuma, se tudo vai bem) e as medidas para o resumo."""

    semente: int
    fluxos: Sequence[Fluxo]
    acusacoes: list[str] = field(default_factory=list)
    falhas: Counter[str] = field(default_factory=Counter)
    esvaziou_em_s: float | None = None
    memoria_maxima_mb: dict[str, float] = field(default_factory=dict)
    memoria_inicial_mb: float = 0.0

    @property
    def violacoes(self) -> list[str]:
        return self.acusacoes + [f"{f.nome}: {v}" for f in self.fluxos for v in f.violacoes]

    def resumo(self) -> str:
        """As falhas por tipo, o que cada fluxo mandou e ouviu, as memórias e quantas violações."""
        esvaziou = "não" if self.esvaziou_em_s is None else f"em {self.esvaziou_em_s:.1f} s"
        memorias = [f"{nome} {mb:.0f} MB" for nome, mb in sorted(self.memoria_maxima_mb.items())]
        return "\n".join(
            [
                f"semente {self.semente}: {sum(self.falhas.values())} falhas",
                *(f"  {vezes:4d} × {nome}" for nome, vezes in sorted(self.falhas.items())),
                *(f"{fluxo.nome}: {fluxo.resumo()}" for fluxo in self.fluxos),
                f"as caixas esvaziaram: {esvaziou}",
                f"memória máxima: {', '.join(memorias)} (o gerador começou com {self.memoria_inicial_mb:.0f} MB)",
                f"VIOLAÇÕES: {len(self.violacoes)}",
            ]
        )


def rodar(
    *,
    semente: int,
    duracao_s: float,
    por_segundo: float,
    falhas: Mapping[str, Falha],
    dizer: Callable[[str], None] = print,
    guardar_em: Path | None = None,
) -> Rodada:
    """Uma rodada inteira num servidor próprio; nada fica para trás. `dizer` recebe o progresso.

    Com violação, os registros dos processos ficam em `guardar_em`, se dado.
    """
    with ServidorLocal(ambiente={"LASTRO_LIMITE_POR_MINUTO": LIMITE_POR_MINUTO}) as servidor:
        try:
            return _rodar(servidor, semente, duracao_s, por_segundo, falhas, dizer, guardar_em)
        except BaseException:
            _guardar_registros(servidor, guardar_em, dizer)
            raise


def _rodar(
    servidor: ServidorLocal,
    semente: int,
    duracao_s: float,
    por_segundo: float,
    falhas: Mapping[str, Falha],
    dizer: Callable[[str], None],
    guardar_em: Path | None,
) -> Rodada:
    with (
        Rele(servidor.porta, semente) as rele,
        _montar_fluxos(servidor, semente, duracao_s, por_segundo, rele.porta) as fluxos,
    ):
        rodada = Rodada(semente=semente, fluxos=fluxos, memoria_inicial_mb=_memoria_do_gerador_mb())
        todas = {**falhas, **rele.falhas}
        for fluxo in fluxos:
            todas |= fluxo.falhas
        roteiro = montar_roteiro(semente, duracao_s, list(todas))
        dizer(f"semente {semente}: {len(roteiro)} falhas em {duracao_s:.0f} s, {por_segundo:.0f} lotes/s")
        for fluxo in fluxos:
            fluxo.iniciar()
        _seguir_roteiro(servidor, rodada, roteiro, duracao_s, todas, dizer)
        servidor.esperar_de_pe()
        dizer("fim das falhas: esperando as últimas respostas e conferindo")
        for fluxo in fluxos:
            antes_s = time.monotonic()
            fluxo.terminar()
            dizer(f"{fluxo.nome}: última resposta ouvida em {time.monotonic() - antes_s:.1f} s")
        _esperar_esvaziar(servidor, rodada)
        with servidor.conectar() as banco:
            for fluxo in fluxos:
                antes_s = time.monotonic()
                fluxo.conferir(banco)
                dizer(f"{fluxo.nome}: conferido em {time.monotonic() - antes_s:.1f} s")
        if rodada.violacoes:
            _guardar_registros(servidor, guardar_em, dizer)
        dizer(rodada.resumo())
        return rodada


@contextmanager
def _montar_fluxos(
    servidor: ServidorLocal, semente: int, duracao_s: float, por_segundo: float, porta_do_rele: int
) -> Iterator[list[Fluxo]]:
    """Os três fluxos, cadastrados e parados; na saída, encerrados."""
    epocas = FluxoDeRecibos.contar_epocas(duracao_s)
    cadastro = servidor.rodar_modulo("tests.caos.cadastro", str(epocas), *FluxoDeCapturas.APARELHOS)
    integracoes = [Integracao(**criada) for criada in cadastro["integracoes"]]
    fluxos: list[Fluxo] = [
        FluxoDeEventos(servidor, semente, por_segundo=por_segundo, porta_do_rele=porta_do_rele),
        FluxoDeRecibos(
            servidor,
            semente,
            integracoes,
            duracao_s=duracao_s,
            mensagens_por_segundo=por_segundo * MENSAGENS_POR_LOTE,
            porta_do_rele=porta_do_rele,
        ),
        FluxoDeCapturas(servidor, semente, cadastro["aparelhos"], porta_do_rele=porta_do_rele),
    ]
    with ExitStack() as pilha:
        for fluxo in fluxos:
            pilha.callback(fluxo.parar)
        yield fluxos


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
    _anotar_memoria(servidor, rodada.memoria_maxima_mb)
    contas = " | ".join(f"{fluxo.nome} {fluxo.progresso()}" for fluxo in rodada.fluxos)
    return (
        f"{agora_s:5.0f}/{duracao_s:.0f} s  {contas} | gerador {_memoria_do_gerador_mb():.0f} MB | "
        f"violações={len(rodada.violacoes)}"
    )


def _anotar_memoria(servidor: ServidorLocal, maximos_mb: dict[str, float]) -> None:
    """Guarda a maior memória residente, em MB, já vista num processo da web, num do worker e no gerador."""
    maximos_mb["gerador"] = max(maximos_mb.get("gerador", 0.0), _memoria_do_gerador_mb())
    for nome in ("web", "worker"):
        pid = servidor.pid_de(nome)
        for processo in servidor.grupo(nome) if pid else []:
            try:
                usado_mb = processo.memory_info().rss / 1e6
            except psutil.Error:
                continue
            maximos_mb[nome] = max(maximos_mb.get(nome, 0.0), usado_mb)


def _memoria_do_gerador_mb() -> float:
    return psutil.Process(os.getpid()).memory_info().rss / 1e6


def _esperar_esvaziar(servidor: ServidorLocal, rodada: Rodada) -> None:
    """Espera que o servidor acabe sozinho o que tem a fazer; acusa se não acabou no prazo."""

    def contar() -> dict[str, int] | None:
        try:
            return {fluxo.nome: fluxo.contar_por_fazer(servidor) for fluxo in rodada.fluxos}
        except psycopg.OperationalError:
            return None

    def acabou() -> bool:
        contas = contar()
        return contas is not None and not any(contas.values())

    comeco = time.monotonic()
    if esperar(acabou, PRAZO_PARA_ESVAZIAR_S, passo_s=0.1):
        rodada.esvaziou_em_s = time.monotonic() - comeco
    else:
        rodada.acusacoes.append(f"as caixas não esvaziaram em {PRAZO_PARA_ESVAZIAR_S} s: {contar()}")


def _guardar_registros(
    servidor: ServidorLocal, guardar_em: Path | None, dizer: Callable[[str], None]
) -> None:
    """Copia o que os processos disseram, que some com a pasta da rodada; sem onde guardar, mostra o fim."""
    if guardar_em is None:
        dizer(servidor.fim_da_saida(80))
        return
    guardar_em.mkdir(parents=True, exist_ok=True)
    for registro in servidor.pasta.rglob("*.log"):
        destino = guardar_em / "-".join(registro.relative_to(servidor.pasta).parts)
        shutil.copyfile(registro, destino)
    dizer(f"registros dos processos em {guardar_em}")
