"""`capturas`: quantos eventos com imagem o servidor confirma por segundo, contra o pgbench gravando os mesmos bytes."""

from tests.bancada import aparelhos
from tests.bancada.carga import disparar
from tests.bancada.contexto import Bancada
from tests.bancada.medida import Medida, Rodada, percentil
from tests.bancada.pgbench import medir_insercoes
from tests.bancada.processador import medir_gasto
from tests.bancada.relatorio import formatar

UNIDADE = "ACKs/s"
CONEXOES = 8  # as mesmas da referência
EVENTOS = 6_000  # em lotes de 20: trezentas requisições de 400 KB
EVENTOS_RAPIDA = 800
EVENTOS_DO_AQUECIMENTO = 800


def medir(bancada: Bancada, nome: str) -> Medida:
    """Mede os ACKs duráveis (lotes de 20, recortes de 20 KB) e, logo depois, as linhas do pgbench."""
    tokens = aparelhos.criar_aparelhos(bancada.servidor)
    recortes = aparelhos.sortear_recortes(semente=1)
    _medir_rodada(bancada, tokens, recortes, EVENTOS_DO_AQUECIMENTO)
    rodadas = []
    for numero in range(1, bancada.rodadas + 1):
        rodada = _medir_rodada(bancada, tokens, recortes, EVENTOS_RAPIDA if bancada.rapida else EVENTOS)
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    aparelhos.limpar(bancada.banco)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _medir_rodada(bancada: Bancada, tokens: list[str], recortes: list[bytes], eventos: int) -> Rodada:
    carregamento = aparelhos.montar_carregamento(
        tokens, recortes, eventos=eventos, porta=bancada.servidor.porta
    )
    aparelhos.limpar(bancada.banco)
    with medir_gasto(bancada.servidor.pid) as gasto:
        disparo = disparar(
            bancada.servidor.porta,
            carregamento.requisicoes,
            conexoes=CONEXOES,
            aceita=aparelhos.confirma_tudo,
        )
    aparelhos.conferir(bancada.banco, carregamento)
    aparelhos.limpar(bancada.banco)
    referencia = medir_insercoes(
        bancada.servidor.banco_url, carregamento.linha, quantas=eventos, conexoes=CONEXOES
    )
    nota = (
        f"lote p50 {percentil(disparo.latencias_ms, 0.5):.0f} ms, p99 {percentil(disparo.latencias_ms, 0.99):.0f} ms, "
        f"recorte médio {formatar(carregamento.recortes_bytes / carregamento.eventos)} bytes · "
        f"{gasto.descrever(carregamento.eventos)}"
    )
    if disparo.recusas:
        nota += " · mandaram esperar: " + ", ".join(f"{n}× {s}" for s, n in sorted(disparo.recusas.items()))
    return Rodada(valor=carregamento.eventos / disparo.duracao_s, referencia=referencia, nota=nota)
