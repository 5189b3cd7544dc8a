"""`eventos_1`, `eventos_50`, `eventos_500`: do primeiro POST à última linha visível com os contadores."""

from collections.abc import Callable

from tests.bancada import banco
from tests.bancada.amostras import Remessa, montar_remessa
from tests.bancada.aplicativos import criar_aplicativos, quantos_para
from tests.bancada.carga import disparar
from tests.bancada.contexto import Bancada
from tests.bancada.medida import Medida, Rodada
from tests.bancada.processador import medir_gasto
from tests.bancada.relatorio import formatar

UNIDADE = "eventos/s"
# Enche as threads da porta (12 por processo) sem formar fila na frente delas. Lotes grandes pesam mais
# por requisição: menos conexões bastam.
CONEXOES = {1: 24, 50: 16, 500: 8}
PARTE_RAPIDA = 6  # `--rapida` manda um sexto
EVENTOS_DO_AQUECIMENTO = 2_000


def medidor(*, por_lote: int, eventos: int) -> Callable[[Bancada, str], Medida]:
    """Devolve a função que mede uma figura de vazão com lotes deste tamanho."""

    def medir(bancada: Bancada, nome: str) -> Medida:
        quantos = max(por_lote, eventos // PARTE_RAPIDA) if bancada.rapida else eventos
        aquecer(bancada, por_lote)
        rodadas = []
        for numero in range(1, bancada.rodadas + 1):
            rodada = _medir_rodada(bancada, por_lote, quantos, numero)
            bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
            rodadas.append(rodada)
        return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))

    return medir


def aquecer(bancada: Bancada, por_lote: int) -> None:
    """Uma remessa pequena fora da conta: planos preparados, importações e caches de quem acabou de subir."""
    remessa = preparar(bancada, eventos=EVENTOS_DO_AQUECIMENTO, por_lote=por_lote, semente=0)
    medir_vazao(bancada, remessa)


def preparar(bancada: Bancada, *, eventos: int, por_lote: int, semente: int) -> Remessa:
    """Cria os aplicativos da rodada (novos: a janela de um minuto começa vazia) e monta os bytes."""
    aplicativos = criar_aplicativos(bancada.servidor, quantos_para(eventos))
    return montar_remessa(
        aplicativos, eventos=eventos, por_lote=por_lote, porta=bancada.servidor.porta, semente=semente
    )


def medir_vazao(bancada: Bancada, remessa: Remessa) -> tuple[float, str]:
    """Manda a remessa e espera ficar visível; devolve eventos/s e a nota. Levanta `ContaErrada`."""
    with medir_gasto(bancada.servidor.pid) as gasto:
        disparo = disparar(
            bancada.servidor.porta, remessa.requisicoes, conexoes=CONEXOES.get(remessa.por_lote, 16)
        )
        visivel_s = banco.esperar_visivel(bancada.banco, remessa)
    aceite = remessa.eventos / disparo.duracao_s
    nota = f"aceite {formatar(aceite)}/s, cauda {max(0.0, visivel_s - disparo.fim_s):.2f} s"
    nota += f" · {gasto.descrever(remessa.eventos)}"
    if disparo.recusas:
        nota += " · mandaram esperar: " + ", ".join(f"{n}× {s}" for s, n in sorted(disparo.recusas.items()))
    return remessa.eventos / (visivel_s - disparo.comeco_s), nota


def _medir_rodada(bancada: Bancada, por_lote: int, eventos: int, numero: int) -> Rodada:
    remessa = preparar(bancada, eventos=eventos, por_lote=por_lote, semente=numero)
    banco.limpar(bancada.banco)
    valor, nota = medir_vazao(bancada, remessa)
    return Rodada(valor=valor, referencia=banco.medir_copia(bancada.banco, remessa), nota=nota)
