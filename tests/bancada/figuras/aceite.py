"""`aceite_p99`: quanto a porta acrescenta ao que o PostgreSQL já cobra para gravar os mesmos bytes."""

from tests.bancada import banco
from tests.bancada.amostras import Remessa
from tests.bancada.carga import disparar
from tests.bancada.contexto import Bancada
from tests.bancada.figuras import eventos
from tests.bancada.insercao import inserir
from tests.bancada.medida import Medida, Rodada, percentil
from tests.bancada.relatorio import formatar

UNIDADE = "ms"
FRACAO = 0.99
CONEXOES = 8  # moderada: ocupa a porta sem enfileirar na frente das threads, e é a mesma da referência
POR_LOTE = 10  # o que um coletor manda numa descarga
LOTES = 3_000  # o p99 é a trigésima pior: abaixo disso uma pausa só do sistema o decide
LOTES_RAPIDA = 600


def medir(bancada: Bancada, nome: str) -> Medida:
    """Mede o p99 do aceite com o worker trabalhando, e o do `INSERT` puro logo depois."""
    eventos.aquecer(bancada, POR_LOTE)
    rodadas = []
    for numero in range(1, bancada.rodadas + 1):
        remessa = eventos.preparar(
            bancada,
            eventos=POR_LOTE * (LOTES_RAPIDA if bancada.rapida else LOTES),
            por_lote=POR_LOTE,
            semente=numero,
        )
        rodada = _medir_rodada(bancada, remessa)
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _medir_rodada(bancada: Bancada, remessa: Remessa) -> Rodada:
    banco.limpar(bancada.banco)
    disparo = disparar(bancada.servidor.porta, remessa.requisicoes, conexoes=CONEXOES)
    banco.esperar_visivel(bancada.banco, remessa)
    banco.limpar(bancada.banco)
    puras_ms = inserir(bancada.servidor.banco_url, remessa.corpos, conexoes=CONEXOES)
    nota = (
        f"p50 {percentil(disparo.latencias_ms, 0.5):.1f} contra {percentil(puras_ms, 0.5):.1f} ms, "
        f"{formatar(len(disparo.latencias_ms) / disparo.duracao_s)} lotes/s"
    )
    return Rodada(
        valor=percentil(disparo.latencias_ms, FRACAO), referencia=percentil(puras_ms, FRACAO), nota=nota
    )
