"""`dlr` e `dlr_lote`: do primeiro POST da transportadora à última projeção, contra gravar os mesmos bytes."""

from collections.abc import Callable

from tests.bancada import transportadora
from tests.bancada.carga import Disparo, disparar
from tests.bancada.contexto import Bancada
from tests.bancada.insercao import inserir
from tests.bancada.medida import Medida, Rodada, percentil
from tests.bancada.processador import medir_gasto
from tests.bancada.relatorio import formatar
from tests.bancada.transportadora import Entrega, Integracao

UNIDADE = "recibos/s"
CONEXOES = {1: 24, 100: 8}  # por recibos por chamada; as da referência são as mesmas
PARTE_RAPIDA = 6  # `--rapida` manda um sexto
RECIBOS_DO_AQUECIMENTO = 1_000
PARTE_DA_CALMA = 2  # a latência se mede à metade da vazão máxima, com metade dos callbacks
FRACAO = 0.99


def medidor(*, por_chamada: int, recibos: int) -> Callable[[Bancada, str], Medida]:
    """Devolve a função que mede com tantos recibos por chamada."""

    def medir(bancada: Bancada, nome: str) -> Medida:
        quantos = recibos // PARTE_RAPIDA if bancada.rapida else recibos
        integracao = transportadora.criar_integracao(bancada.servidor, nome.replace("_", "-"))
        _entregar(bancada, _preparar(bancada, integracao, "0", RECIBOS_DO_AQUECIMENTO, por_chamada))
        rodadas = []
        for numero in range(1, bancada.rodadas + 1):
            rodada = _medir_rodada(bancada, integracao, numero, quantos, por_chamada)
            bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
            rodadas.append(rodada)
        return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))

    return medir


def _medir_rodada(
    bancada: Bancada, integracao: Integracao, numero: int, quantos: int, por_chamada: int
) -> Rodada:
    entrega = _preparar(bancada, integracao, f"{numero}1", quantos, por_chamada)
    with medir_gasto(bancada.servidor.pid) as gasto:
        disparo, projetado_s = _entregar(bancada, entrega)
    vazao = entrega.recibos / (projetado_s - disparo.comeco_s)
    puras_ms = inserir(bancada.servidor.banco_url, entrega.corpos, conexoes=_conexoes(entrega))
    calma = _preparar(bancada, integracao, f"{numero}2", quantos // PARTE_DA_CALMA, por_chamada)
    a_meia_vazao, _ = _entregar(bancada, calma, por_segundo=vazao / 2 / por_chamada)
    nota = (
        f"aceite {formatar(entrega.recibos / disparo.duracao_s)}/s, "
        f"cauda {max(0.0, projetado_s - disparo.fim_s):.2f} s · p99 {formatar(_p99(disparo))} ms; "
        f"à metade da vazão, {formatar(_p99(a_meia_vazao))} ms · {gasto.descrever(entrega.recibos)}"
    )
    if disparo.recusas:
        nota += " · mandaram esperar: " + ", ".join(f"{n}× {s}" for s, n in sorted(disparo.recusas.items()))
    # Cada conexão sempre tem uma instrução no ar: as linhas por segundo saem da latência média.
    referencia = entrega.recibos * _conexoes(entrega) / (sum(puras_ms) / 1000)
    return Rodada(valor=vazao, referencia=referencia, nota=nota)


def _preparar(
    bancada: Bancada, integracao: Integracao, prefixo: str, quantos: int, por_chamada: int
) -> Entrega:
    """Esvazia as tabelas, registra as mensagens e monta os callbacks delas; tudo fora do relógio."""
    transportadora.limpar(bancada.banco)
    ids = [f"{prefixo}{numero:012d}" for numero in range(quantos)]
    transportadora.registrar(bancada.servidor, integracao, ids)
    bancada.banco.execute("CHECKPOINT")
    return transportadora.montar_entrega(
        integracao, ids, por_chamada=por_chamada, porta=bancada.servidor.porta
    )


def _entregar(
    bancada: Bancada, entrega: Entrega, *, por_segundo: float | None = None
) -> tuple[Disparo, float]:
    """Manda tudo e espera a última projeção, conferindo as contas; devolve o disparo e o instante dela."""
    disparo = disparar(
        bancada.servidor.porta,
        entrega.requisicoes,
        conexoes=_conexoes(entrega),
        aceita=lambda resposta: resposta[9:12] == b"202",
        por_segundo=por_segundo,
    )
    return disparo, transportadora.esperar_projetado(bancada.banco, entrega)


def _conexoes(entrega: Entrega) -> int:
    return CONEXOES[1 if entrega.recibos == len(entrega.corpos) else 100]


def _p99(disparo: Disparo) -> float:
    return percentil(disparo.latencias_ms, FRACAO)
