"""Dois hospedeiros, um banco, um broker: um deles some da rede sob carga e volta; as contas fecham."""

import http.client
import json
import os
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random

import psycopg

from tests.caos.servidor import esperar
from tests.escala.hospedeiros import PORTA_DA_WEB, Hospedeiro, hospedeiro, meio_de_campo, servir
from tests.escala.pecas import processo

RAIZ = Path(__file__).resolve().parents[2]
CLIENTES, LOTES_POR_CLIENTE, POR_LOTE = 6, 220, 10
CORTE_S = 20  # mais que os 15 s em que cada lado percebe que o outro sumiu
PRAZO_HTTP_S = 6.0
ORIGEM = "https://escala.exemplo"

SQL_TOTAIS = """
    SELECT (SELECT count(*) FROM ingestao_evento), (SELECT sum(quantidade_eventos)::int FROM ingestao_sessao),
        (SELECT sum(quantidade_eventos)::int FROM ingestao_uso), (SELECT sum(quantidade)::int FROM ingestao_erro)
"""
SQL_PENDENTES = "SELECT count(*) FROM ingestao_lote"


class Cliente(threading.Thread):
    """Manda cada lote a um dos dois até receber 202; de vez em quando, o mesmo lote aos dois."""

    def __init__(self, numero: int, enderecos: list[str], chave: str) -> None:
        super().__init__(daemon=True)
        self._numero, self._enderecos, self._chave = numero, enderecos, chave
        self._sorteio = Random(numero)
        self.aceitos: Counter[str] = Counter()
        self.quando: list[tuple[float, str]] = []

    def run(self) -> None:
        for lote in range(LOTES_POR_CLIENTE):
            corpo = self._montar(lote)
            primeiro, segundo = self._sorteio.sample(self._enderecos, 2)
            for tentativa in range(60):
                if self._mandar((primeiro, segundo)[tentativa % 2], corpo):
                    break
            else:
                raise AssertionError("sessenta tentativas sem um 202")
            if self._sorteio.random() < 0.2:
                self._mandar(segundo, corpo)
            time.sleep(self._sorteio.uniform(0, 0.4))

    def _montar(self, lote: int) -> bytes:
        ids = [f"{self._numero}-{lote}-{i}" for i in range(POR_LOTE)]
        eventos = [{"evento_id": i, "tipo": "ERRO_JS", "nome": "E", "mensagem": "falhou"} for i in ids]
        sessao = {"sessao_externa": f"s{lote % 5}"}
        return json.dumps({"chave": self._chave, "sessao": sessao, "eventos": eventos}).encode()

    def _mandar(self, endereco: str, corpo: bytes) -> bool:
        conexao = http.client.HTTPConnection(endereco, PORTA_DA_WEB, timeout=PRAZO_HTTP_S)
        try:
            conexao.request("POST", "/evento/ingestao", corpo, {"Origin": ORIGEM})
            aceito = conexao.getresponse().status == 202
        except (OSError, http.client.HTTPException):
            return False
        finally:
            conexao.close()
        if aceito:
            self.aceitos[endereco] += 1
            self.quando.append((time.monotonic(), endereco))
        return aceito


def test_um_hospedeiro_some_da_rede_sob_carga_e_volta(pilha: ExitStack, pasta: Path) -> None:
    banco_url, redis_url = pilha.enter_context(meio_de_campo(pasta))
    a = pilha.enter_context(hospedeiro("a", 1))
    b = pilha.enter_context(hospedeiro("b", 2))
    ambiente = {
        "DATABASE_URL": banco_url,
        "REDIS_URL": redis_url,
        "LASTRO_SEGREDO": "segredo-so-deste-teste-" + "0" * 32,
        "LASTRO_HOSPEDEIROS": f"{a.endereco},{b.endereco}",
        "LASTRO_LIMITE_POR_MINUTO": "10000000",
        "LASTRO_DADOS": str(pasta / "dados"),
        "LASTRO_LOCAL": "0",
        "PORTA": str(PORTA_DA_WEB),
    }
    chave = preparar(pasta, ambiente)
    for onde, papeis in ((a, ("web", "worker", "beat")), (b, ("web", "worker"))):
        for papel in papeis:
            servir(pilha, onde, papel, sys.executable, ambiente, pasta / f"{onde.espaco}-{papel}.log")
    for onde in (a, b):
        assert esperar(lambda onde=onde: responde(onde), 90, passo_s=0.2), ler_registros(pasta)

    clientes = [Cliente(n, [a.endereco, b.endereco], chave) for n in range(CLIENTES)]
    for cliente in clientes:
        cliente.start()
    time.sleep(5)
    b.tirar_o_cabo()
    cortado_em = time.monotonic()
    time.sleep(CORTE_S)
    b.por_o_cabo()
    voltou_em = time.monotonic()
    for cliente in clientes:
        cliente.join(180)
        assert not cliente.is_alive()

    no_corte = Counter(
        onde for cliente in clientes for quando, onde in cliente.quando if cortado_em < quando < voltou_em
    )
    depois = Counter(onde for cliente in clientes for quando, onde in cliente.quando if quando > voltou_em)
    with psycopg.connect(banco_url, autocommit=True) as banco:
        vazia = esperar(lambda: banco.execute(SQL_PENDENTES).fetchone() == (0,), 60, passo_s=0.2)
        totais = banco.execute(SQL_TOTAIS).fetchone()
    esperado = CLIENTES * LOTES_POR_CLIENTE * POR_LOTE
    print(f"no corte: {no_corte}; depois: {depois}; totais: {totais}")
    assert vazia, ler_registros(pasta)
    assert totais == (esperado,) * 4
    assert no_corte[a.endereco] > 0, "o hospedeiro que ficou parou junto"
    assert no_corte[b.endereco] == 0, "o corte não cortou"
    assert depois[b.endereco] > 0, "o hospedeiro que voltou não atendeu mais"


def preparar(pasta: Path, ambiente: dict[str, str]) -> str:
    """Migra e cria o aplicativo; devolve a chave."""
    chave = "pk_live_escala"
    criar = ("criar_aplicativo", "--nome", "Escala", "--dominio", "escala.exemplo", "--chave", chave)
    for comando in (("migrate", "--noinput"), criar):
        with processo(
            [sys.executable, str(RAIZ / "manage.py"), *comando], pasta / "preparo.log", ambiente=ambiente
        ) as filho:
            assert filho.wait(120) == 0, (pasta / "preparo.log").read_text()
    return chave


def responde(onde: Hospedeiro) -> bool:
    conexao = http.client.HTTPConnection(onde.endereco, PORTA_DA_WEB, timeout=3)
    try:
        conexao.request("GET", "/prontidao", headers={"Host": onde.endereco})
        return conexao.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        conexao.close()


def ler_registros(pasta: Path) -> str:
    return "\n".join(
        f"== {a.name}\n{a.read_text()[-1500:]}" for a in pasta.glob("*.log") if os.path.getsize(a)
    )
