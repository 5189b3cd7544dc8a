"""`retencao`: o aceite não pode sentir a retenção apagando um milhão de eventos vencidos."""

import subprocess
import sys
import time

from tests.bancada import banco
from tests.bancada.acervo import encher
from tests.bancada.amostras import Remessa
from tests.bancada.aplicativos import criar_aplicativos
from tests.bancada.carga import Disparo, disparar
from tests.bancada.contexto import Bancada
from tests.bancada.figuras import eventos
from tests.bancada.medida import Medida, Rodada, percentil
from tests.bancada.relatorio import formatar
from tests.bancada.servidor import RAIZ, ambiente_do_servidor

UNIDADE = "ms"
FRACAO = 0.95
CONEXOES = 8  # a mesma do aceite
POR_LOTE = 10
LOTES_SEM = 3_000
LOTES_COM = 12_000  # uns 20 s de um expurgo que leva um minuto; o que sobra de um mais rápido não é mandado
VENCIDOS = 1_000_000
DIAS_DO_ACERVO = 40  # a retenção é de 30
PARTE_RAPIDA = 6
RODADAS_MAXIMAS = 3  # cada uma enche e apaga um milhão: passa de um minuto
PRAZO_S = 300
EXPURGAR = "from ingestao.eventos.retencao import expurgar; e = expurgar(); print(e.eventos, e.completo)"


class RetencaoIncompleta(Exception):
    """A retenção não apagou exatamente os eventos vencidos."""


def medir(bancada: Bancada, nome: str) -> Medida:
    """Por rodada: acervo vencido, p95 sem a retenção, p95 enquanto ela apaga, e a conferência dos dois."""
    eventos.aquecer(bancada, POR_LOTE)
    rodadas = []
    for numero in range(1, min(bancada.rodadas, RODADAS_MAXIMAS) + 1):
        rodada = _medir_rodada(bancada, numero)
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _medir_rodada(bancada: Bancada, numero: int) -> Rodada:
    quantos = VENCIDOS // PARTE_RAPIDA if bancada.rapida else VENCIDOS
    banco.limpar(bancada.banco)
    (dono,) = criar_aplicativos(bancada.servidor, 1)
    vencidos = encher(bancada.banco, dono.id, eventos=quantos, dias=DIAS_DO_ACERVO, avisar=bancada.avisar)
    sem = _preparar(bancada, LOTES_SEM, numero)
    com = _preparar(bancada, LOTES_COM, numero + bancada.rodadas)
    calma = disparar(bancada.servidor.porta, sem.requisicoes, conexoes=CONEXOES)
    banco.esperar_visivel(bancada.banco, sem)
    atarefada, duracao_s = _disparar_durante_a_retencao(bancada, com, vencidos)
    # Nem todo lote foi mandado: conta-se o que foi aceito.
    banco.esperar_eventos(bancada.banco, com.aplicativos, len(atarefada.latencias_ms) * POR_LOTE)
    nota = f"apagou {formatar(vencidos / duracao_s)} eventos/s; {len(atarefada.latencias_ms)} lotes durante"
    return Rodada(
        valor=percentil(atarefada.latencias_ms, FRACAO),
        referencia=percentil(calma.latencias_ms, FRACAO),
        nota=nota,
    )


def _preparar(bancada: Bancada, lotes: int, semente: int) -> Remessa:
    parte = PARTE_RAPIDA if bancada.rapida else 1
    return eventos.preparar(bancada, eventos=lotes // parte * POR_LOTE, por_lote=POR_LOTE, semente=semente)


def _disparar_durante_a_retencao(bancada: Bancada, remessa: Remessa, vencidos: int) -> tuple[Disparo, float]:
    """Manda lotes enquanto o expurgo vive; devolve o disparo e quanto o expurgo levou (s)."""
    comeco_s = time.perf_counter()
    expurgo = subprocess.Popen(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", EXPURGAR],
        cwd=RAIZ,
        env=ambiente_do_servidor(bancada.servidor.dados),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,  # o registro dela só interessa se falhar
        text=True,
    )
    try:
        disparo = disparar(
            bancada.servidor.porta,
            remessa.requisicoes,
            conexoes=CONEXOES,
            parar=lambda: expurgo.poll() is not None,
        )
        saida, registro = expurgo.communicate(timeout=PRAZO_S)
    finally:
        expurgo.kill()
        expurgo.wait()
    if expurgo.returncode != 0:
        raise RetencaoIncompleta(f"o expurgo terminou com código {expurgo.returncode}:\n{registro}")
    apagados, completo = saida.split()
    if (int(apagados), completo) != (vencidos, "True"):
        raise RetencaoIncompleta(f"apagou {apagados} eventos de {vencidos} (completo: {completo})")
    return disparo, time.perf_counter() - comeco_s
