"""O lado dos recibos: a integração, as mensagens já registradas, os callbacks prontos e a conferência."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import psycopg

from tests.bancada.banco import ContaErrada
from tests.bancada.servidor import RAIZ, Servidor, ambiente_do_servidor

MENSAGENS_POR_REGISTRO = 1_000  # o teto da rota
PRAZO_S = 60
PRAZO_PROJETADO_S = 180
PASSO_S = 0.01  # a incerteza do fim do relógio

SQL_LIMPAR = """
    TRUNCATE dlr_recepcao, dlr_recepcaopendente, dlr_eventologico, dlr_ocorrencia, dlr_mensagem,
        dlr_identificadorexterno, dlr_projecao, dlr_excecao, dlr_acaodeexcecao, dlr_decisaodefinal,
        dlr_mudancadeprojecao, dlr_verificacao
"""
# O pendente sai na mesma transação que projeta: caixa vazia é tudo projetado.
SQL_CAIXA_VAZIA = "SELECT NOT EXISTS (SELECT FROM dlr_recepcaopendente)"
SQL_CONFERIR = """
    SELECT (SELECT count(*) FROM dlr_recepcao), e.eventos, e.atados, e.recepcoes,
        (SELECT count(*) FROM dlr_ocorrencia WHERE evento_id IS NOT NULL AND NOT repeticao),
        (SELECT count(*) FROM dlr_projecao WHERE estado = 'DELIVERED' AND final AND NOT conflito),
        (SELECT count(*) FROM dlr_excecao), (SELECT count(*) FROM dlr_recepcaopendente)
    FROM (SELECT count(*) AS eventos, count(DISTINCT mensagem_id) AS atados,
        coalesce(sum(qtd_recepcoes), 0)::bigint AS recepcoes FROM dlr_eventologico) e
"""
NOMES = (
    "recepções", "eventos lógicos", "mensagens com evento", "recepções nos eventos", "ocorrências",
    "projeções DELIVERED", "exceções", "recepções pendentes",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Integracao:
    """O que `criar_integracao` imprimiu, e que a carga usa."""

    token: str
    url_callback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrega:
    """Os callbacks prontos de uma rodada. `corpos` são os mesmos JSON, para a referência."""

    requisicoes: tuple[bytes, ...]
    corpos: tuple[bytes, ...]
    recibos: int


def criar_integracao(servidor: Servidor, slug: str) -> Integracao:
    """Cria uma integração do formato padrão; levanta `CalledProcessError` se não conseguiu."""
    saida = subprocess.run(
        [sys.executable, "manage.py", "criar_integracao", "--slug", slug, "--formato", "padrao"],
        env=ambiente_do_servidor(servidor.dados),
        cwd=RAIZ,
        check=True,
        stdout=subprocess.PIPE,
        timeout=PRAZO_S,
    ).stdout
    criada = json.loads(saida)
    return Integracao(token=criada["token"], url_callback=criada["url_callback"])


def limpar(banco: psycopg.Connection) -> None:
    """Deixa as tabelas dos recibos vazias e o disco em dia: toda rodada parte do mesmo ponto."""
    banco.execute(SQL_LIMPAR)
    banco.execute("CHECKPOINT")


def registrar(servidor: Servidor, integracao: Integracao, ids: Sequence[str]) -> None:
    """Registra uma mensagem por id externo, pela rota de quem envia; levanta `ContaErrada` se não deu."""
    conexao = http.client.HTTPConnection("127.0.0.1", servidor.porta, timeout=PRAZO_S)
    cabecalhos = {"Authorization": f"Bearer {integracao.token}", "Content-Type": "application/json"}
    try:
        for inicio in range(0, len(ids), MENSAGENS_POR_REGISTRO):
            pedaco = ids[inicio : inicio + MENSAGENS_POR_REGISTRO]
            corpo = orjson.dumps({"mensagens": [_montar_mensagem(id_) for id_ in pedaco]})
            conexao.request("POST", "/dlr/mensagens", body=corpo, headers=cabecalhos)
            resposta = conexao.getresponse()
            lido = resposta.read()
            if resposta.status != 200 or lido.count(b'"id":') != len(pedaco):
                raise ContaErrada(f"o registro respondeu {resposta.status}: {lido[:500]!r}")
    finally:
        conexao.close()


def montar_entrega(integracao: Integracao, ids: Sequence[str], *, por_chamada: int, porta: int) -> Entrega:
    """Um recibo DELIVERED por id, sozinho ou em vetores de `por_chamada`."""
    agora = datetime.now(UTC)
    corpos = [
        orjson.dumps(recibos[0] if por_chamada == 1 else recibos)
        for inicio in range(0, len(ids), por_chamada)
        if (recibos := [_montar_recibo(id_, agora) for id_ in ids[inicio : inicio + por_chamada]])
    ]
    return Entrega(
        requisicoes=tuple(_montar_requisicao(integracao.url_callback, corpo, porta) for corpo in corpos),
        corpos=tuple(corpos),
        recibos=len(ids),
    )


def esperar_projetado(banco: psycopg.Connection, entrega: Entrega) -> float:
    """Espera a última projeção; devolve o instante (perf_counter, s) em que já estava tudo pronto.

    Levanta `ContaErrada` no prazo, ou se alguma conta não é exata.
    """
    limite_s = time.perf_counter() + PRAZO_PROJETADO_S
    while True:
        agora_s = time.perf_counter()
        if banco.execute(SQL_CAIXA_VAZIA, prepare=True).fetchone() == (True,):
            break
        if agora_s > limite_s:
            raise ContaErrada(f"a caixa não esvaziou em {PRAZO_PROJETADO_S} s")
        time.sleep(PASSO_S)
    conferir(banco, entrega)
    return agora_s


def conferir(banco: psycopg.Connection, entrega: Entrega) -> None:
    """Levanta `ContaErrada` se recepções, eventos, ocorrências ou projeções não são exatamente os esperados."""
    linha = banco.execute(SQL_CONFERIR).fetchone()
    esperado = (len(entrega.corpos), *(entrega.recibos,) * 5, 0, 0)
    if linha != esperado:
        diferencas = [
            f"{nome}: {visto} (esperado {certo})"
            for nome, visto, certo in zip(NOMES, linha or (None,) * len(NOMES), esperado, strict=True)
            if visto != certo
        ]
        raise ContaErrada("; ".join(diferencas))


def _montar_mensagem(id_externo: str) -> dict[str, Any]:
    return {
        "id_interno": f"pedido-{id_externo}",
        "ids_externos": [{"valor": id_externo}],
        "origem": "28500",
        "destino": f"+55119{id_externo[-8:]}",
        "apresentada_em": f"{datetime.now(UTC) - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}",
        "aceita": True,
    }


def _montar_recibo(id_externo: str, agora: datetime) -> dict[str, Any]:
    return {
        "evento_id": f"{id_externo}-2",
        "id_externo": id_externo,
        "estado": "DELIVERED",
        "erro": "000",
        "origem": "28500",
        "destino": f"+55119{id_externo[-8:]}",
        "apresentado_em": f"{agora - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ}",
        "concluido_em": f"{agora:%Y-%m-%dT%H:%M:%SZ}",
    }


def _montar_requisicao(caminho: str, corpo: bytes, porta: int) -> bytes:
    cabecalhos = (
        f"POST {caminho} HTTP/1.1",
        f"Host: 127.0.0.1:{porta}",
        f"Content-Length: {len(corpo)}",
        "Content-Type: application/json",
        "User-Agent: operadora-dlr/4.2",
        "Accept: */*",
    )
    return "\r\n".join(cabecalhos).encode() + b"\r\n\r\n" + corpo
