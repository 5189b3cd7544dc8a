"""`crescimento_1m` e `crescimento_10m`: a vazão em lotes de 50 com o banco cheio, contra a mesma com ele vazio."""

from collections.abc import Callable

from tests.bancada import banco
from tests.bancada.acervo import encher
from tests.bancada.aplicativos import criar_aplicativos
from tests.bancada.contexto import Bancada
from tests.bancada.figuras import eventos
from tests.bancada.medida import Medida, Rodada
from tests.bancada.relatorio import formatar

POR_LOTE = 50
EVENTOS = 60_000
PARTE_RAPIDA = 6
DIAS_DO_ACERVO = 5  # dentro da retenção: ninguém apaga o acervo no meio da medida


def medidor(*, guardados: int) -> Callable[[Bancada, str], Medida]:
    """Devolve a função que mede com `guardados` eventos já no banco (um sexto deles com `--rapida`)."""

    def medir(bancada: Bancada, nome: str) -> Medida:
        """Todas as rodadas com o banco vazio, depois o acervo, depois todas com ele cheio.

        É a exceção à alternância: encher milhões a cada rodada levaria mais que medir.
        """
        eventos.aquecer(bancada, POR_LOTE)
        vazio = _medir_rodadas(bancada, nome, "vazio", esvaziar=True)
        banco.limpar(bancada.banco)
        (dono,) = criar_aplicativos(bancada.servidor, 1)
        quantos = guardados // PARTE_RAPIDA if bancada.rapida else guardados
        encher(bancada.banco, dono.id, eventos=quantos, dias=DIAS_DO_ACERVO, avisar=bancada.avisar)
        cheio = _medir_rodadas(bancada, nome, "cheio", esvaziar=False)
        rodadas = tuple(
            Rodada(valor=valor, referencia=referencia) for valor, referencia in zip(cheio, vazio, strict=True)
        )
        return Medida(figura=nome, unidade=eventos.UNIDADE, rodadas=rodadas)

    return medir


def _medir_rodadas(bancada: Bancada, nome: str, estado: str, *, esvaziar: bool) -> list[float]:
    valores = []
    for numero in range(1, bancada.rodadas + 1):
        if esvaziar:
            banco.limpar(bancada.banco)
        quantos = EVENTOS // PARTE_RAPIDA if bancada.rapida else EVENTOS
        remessa = eventos.preparar(bancada, eventos=quantos, por_lote=POR_LOTE, semente=numero)
        bancada.banco.execute("CHECKPOINT")
        valor, nota = eventos.medir_vazao(bancada, remessa)
        bancada.avisar(f"{nome} {estado} {numero}/{bancada.rodadas}: {formatar(valor)} eventos/s · {nota}")
        valores.append(valor)
    return valores
