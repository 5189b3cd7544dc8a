"""Recibos com tudo caindo: o que a transportadora ouviu ser confirmado está lá, e vale uma vez só."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import psycopg
import pytest

from tests.caos import falhas
from tests.caos.conferencia_recibos import SQL_POR_FAZER, conferir
from tests.caos.envio import Resposta
from tests.caos.recibos import Roteiro, montar_roteiro
from tests.caos.servidor import ServidorLocal, esperar
from tests.caos.transportadora import JSON, Anotacoes, CanalDeRecibos, Carga, Integracao, criar_integracao
from tests.falhas.carga import em_paralelo

MENSAGENS = 1_000
DURACAO_S = 8.0
QUEDAS = (
    (1.0, falhas.matar_worker),
    (2.5, falhas.matar_web),
    (4.5, falhas.matar_valkey),
    (6.0, falhas.matar_postgres),
)
PRAZO_PARA_ASSENTAR_S = 25  # a varredura dos soltos vem a cada cinco segundos
ESPERA_MORTO_S = 1.0
VOLTA_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rodada:
    """Uma carga inteira, com as quatro quedas, já assentada."""

    semente: int
    integracao: Integracao
    roteiro: Roteiro
    anotacoes: Anotacoes
    assentou: bool


@pytest.fixture(scope="module")
def rodada(servidor_da_pasta: ServidorLocal) -> Rodada:
    """A carga com as quedas; ninguém faz nada pelo servidor depois delas."""
    semente = random.randrange(10**6)  # outra a cada vez; a mensagem de falha diz qual
    servidor_da_pasta.esperar_de_pe()
    integracao = criar_integracao(servidor_da_pasta, "com-quedas")
    roteiro = montar_roteiro(semente, mensagens=MENSAGENS)
    with Carga(servidor_da_pasta, integracao, roteiro, duracao_s=DURACAO_S) as carga:
        for instante_s, derrubar in QUEDAS:
            carga.dormir_ate(instante_s)
            derrubar(servidor_da_pasta, Random(semente))
        carga.terminar()
    assentou = esperar(lambda: por_fazer(servidor_da_pasta) == 0, PRAZO_PARA_ASSENTAR_S, passo_s=0.1)
    return Rodada(
        semente=semente,
        integracao=integracao,
        roteiro=roteiro,
        anotacoes=carga.anotacoes,
        assentou=assentou,
    )


@pytest.fixture(scope="module")
def calma(servidor_da_pasta: ServidorLocal) -> Integracao:
    """A integração dos testes que mandam um callback de cada vez."""
    servidor_da_pasta.esperar_de_pe()
    return criar_integracao(servidor_da_pasta, "calma")


def por_fazer(servidor: ServidorLocal) -> int | None:
    try:
        return int(servidor.consultar(SQL_POR_FAZER)[0][0])
    except psycopg.OperationalError:
        return None


def test_recibo_confirmado_nao_se_perde_nem_conta_duas_vezes(servidor: ServidorLocal, rodada: Rodada) -> None:
    with servidor.conectar() as banco:
        violacoes = conferir(banco, rodada.integracao, rodada.roteiro, rodada.anotacoes)

    respostas = rodada.anotacoes.respostas
    conte = "\n".join([f"semente {rodada.semente}: {dict(respostas)}", *violacoes])
    assert violacoes == [], conte
    assert rodada.assentou, conte
    # As quedas pegaram a carga no meio: houve quem ficasse sem resposta, e tudo acabou confirmado.
    assert respostas["sem resposta"] > 0, conte
    assert respostas["202"] == sum(c in rodada.roteiro.callbacks.values() for c in rodada.roteiro.chamadas)
    assert set(rodada.anotacoes.registradas) == rodada.roteiro.registradas


@pytest.mark.parametrize(
    ("estrago", "acusacao"),
    [
        # Uma só poderia ser a sobra de uma chamada que ficou sem resposta e foi repetida: ninguém daria pela falta.
        ("DELETE FROM dlr_recepcao", "sem recepção"),
        ("UPDATE dlr_recepcao SET corpo = corpo || '\\x20'::bytea", "bytes que ninguém mandou"),
        ("UPDATE dlr_eventologico SET qtd_recepcoes = qtd_recepcoes + 1", "qtd_recepcoes"),
        ("UPDATE dlr_eventologico SET estado_bruto = 'OUTRO' WHERE indice = 0", "eventos lógicos: a mais"),
        ("UPDATE dlr_eventologico SET mensagem_id = NULL", "correlação do evento"),
        ("UPDATE dlr_eventologico SET recepcao_id = recepcao_id + 1", "primeira recepção"),
        ("UPDATE dlr_projecao SET estado = 'ENROUTE'", "projeções: falta"),
        ("UPDATE dlr_excecao SET situacao = 'resolvida'", "exceções abertas: falta"),
        ("UPDATE dlr_ocorrencia SET ilegivel = ''", "itens ilegíveis: falta"),
        (
            "INSERT INTO dlr_recepcaopendente (recepcao_id, recebido_em, peso) VALUES (1, now(), 1)",
            "ficou recepção na caixa",
        ),
    ],
)
def test_a_conferencia_percebe_o_que_foi_estragado(
    servidor: ServidorLocal, rodada: Rodada, estrago: str, acusacao: str
) -> None:
    with servidor.conectar() as banco, banco.transaction(force_rollback=True):
        banco.execute("SET LOCAL session_replication_role = replica")  # sem o gatilho e as chaves externas
        banco.execute(estrago)
        violacoes = conferir(banco, rodada.integracao, rodada.roteiro, rodada.anotacoes)

    assert acusacao in "\n".join(violacoes)


@pytest.fixture
def recibo() -> Iterator[bytes]:
    yield b'{"id_externo": "avulso", "estado": "DELIVERED", "concluido_em": "2026-03-01T12:00:00-03:00"}'


def mandar(servidor: ServidorLocal, integracao: Integracao, corpo: bytes) -> tuple[Resposta, float]:
    """A resposta de um callback numa conexão nova, e quanto ela demorou, em segundos."""
    canal = CanalDeRecibos(servidor.porta, integracao.url_callback)
    comeco = time.monotonic()
    try:
        return canal.postar(corpo, JSON), time.monotonic() - comeco
    finally:
        canal.fechar()


def recepcoes(servidor: ServidorLocal, integracao: Integracao) -> int:
    return int(
        servidor.consultar("SELECT count(*) FROM dlr_recepcao WHERE integracao_id = %s", (integracao.id,))[0][
            0
        ]
    )


@pytest.mark.parametrize("ociosa_s", [0, 3], ids=["porta_quente", "porta_fria"])
def test_callback_com_o_postgres_morto_da_503_depressa_e_nao_guarda_nada(
    servidor: ServidorLocal, calma: Integracao, recibo: bytes, ociosa_s: float
) -> None:
    aquecidos = em_paralelo(lambda _: mandar(servidor, calma, recibo)[0].status, range(20), threads=10)
    antes = recepcoes(servidor, calma)

    with servidor.sem_postgres():
        time.sleep(ociosa_s)  # a integração sai do cache da porta em dois segundos
        medidas = em_paralelo(lambda _: mandar(servidor, calma, recibo), range(40), threads=10)
    assert esperar(lambda: por_fazer(servidor) is not None, VOLTA_S)
    guardadas = recepcoes(servidor, calma) - antes
    depois = em_paralelo(lambda _: mandar(servidor, calma, recibo)[0].status, range(20), threads=10)

    assert aquecidos == [202] * 20
    for resposta, espera_s in medidas:
        assert (resposta.status, resposta.codigo) == (503, "armazenamento_indisponivel"), resposta
        assert int(resposta.cabecalhos["retry-after"]) > 0
        assert espera_s < ESPERA_MORTO_S
    assert guardadas == 0
    assert depois == [202] * 20
    assert recepcoes(servidor, calma) == antes + 20
