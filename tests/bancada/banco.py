"""O lado do PostgreSQL: começar do zero, esperar ficar visível, conferir as contas, COPY de referência."""

import time
from collections.abc import Sequence
from statistics import median
from uuid import UUID

import psycopg

from tests.bancada.amostras import Remessa

PASSO_S = 0.01  # a incerteza do fim do relógio; cada espiada custa uma consulta a poucas linhas
PRAZO_VISIVEL_S = 180
PRAZO_TRAVA_MS = 15_000
COPIAS = 3

SQL_LIMPAR = """
    TRUNCATE ingestao_evento, ingestao_sessao, ingestao_erro, ingestao_uso, ingestao_recusa, ingestao_lote
"""
# O uso é a última escrita da transação do worker e tem uma linha por aplicativo: barato de olhar.
SQL_ESPIAR = """
    SELECT coalesce(sum(quantidade_eventos), 0)::bigint FROM ingestao_uso WHERE aplicativo_id = ANY(%(ids)s)
"""
SQL_CONFERIR = """
    SELECT
        (SELECT count(*) FROM ingestao_evento WHERE aplicativo_id = ANY(%(ids)s)),
        (SELECT coalesce(sum(quantidade_eventos), 0)::bigint FROM ingestao_uso
            WHERE aplicativo_id = ANY(%(ids)s)),
        s.eventos, s.erros, s.sessoes,
        (SELECT coalesce(sum(quantidade), 0)::bigint FROM ingestao_erro WHERE aplicativo_id = ANY(%(ids)s)),
        (SELECT count(*) FROM ingestao_lote WHERE aplicativo_id = ANY(%(ids)s))
    FROM (
        SELECT coalesce(sum(quantidade_eventos), 0)::bigint AS eventos,
            coalesce(sum(quantidade_erros), 0)::bigint AS erros, count(*) AS sessoes
        FROM ingestao_sessao WHERE aplicativo_id = ANY(%(ids)s)
    ) AS s
"""
NOMES = (
    "linhas de evento", "eventos no uso", "eventos nas sessões", "erros nas sessões", "sessões",
    "ocorrências nos erros", "lotes pendentes",
)  # fmt: skip

# INCLUDING ALL leva os mesmos índices, restrições e padrões da tabela medida.
SQL_CRIAR_COPIA = """
    DROP TABLE IF EXISTS bancada_copia;
    CREATE TABLE bancada_copia (LIKE ingestao_evento INCLUDING ALL)
"""
SQL_RETIRAR = (
    "COPY (SELECT * FROM ingestao_evento WHERE aplicativo_id = ANY(%(ids)s)) TO STDOUT (FORMAT BINARY)"
)
SQL_COPIAR = "COPY bancada_copia FROM STDIN (FORMAT BINARY)"


class ContaErrada(Exception):
    """O banco não mostra exatamente o que foi aceito: o defeito que a bancada existe para gritar."""


def conectar(banco_url: str) -> psycopg.Connection:
    """Abre a conexão da bancada, em autocommit."""
    conexao = psycopg.connect(banco_url, autocommit=True)
    conexao.execute(f"SET lock_timeout = {PRAZO_TRAVA_MS}")
    return conexao


def limpar(banco: psycopg.Connection) -> None:
    """Deixa as tabelas do fluxo vazias e o disco em dia: toda rodada parte do mesmo ponto."""
    banco.execute(SQL_LIMPAR)
    banco.execute("CHECKPOINT")


def esperar_visivel(banco: psycopg.Connection, remessa: Remessa) -> float:
    """Espera a última linha aparecer com os contadores; devolve o instante (perf_counter, s).

    O instante é o de antes da conferência que deu certo: ela prova que, ali, tudo já estava visível.
    Levanta `ContaErrada` no prazo ou se alguma conta não é exata.
    """
    visivel_s = esperar_eventos(banco, remessa.aplicativos, remessa.eventos)
    conferir(banco, remessa)
    return visivel_s


def esperar_eventos(banco: psycopg.Connection, aplicativos: Sequence[UUID], eventos: int) -> float:
    """Espera o uso dos aplicativos chegar a `eventos`; devolve o instante em que foi visto (perf_counter, s).

    Levanta `ContaErrada` no prazo ou se passa do esperado.
    """
    ids = {"ids": list(aplicativos)}
    limite_s = time.perf_counter() + PRAZO_VISIVEL_S
    vistos = 0
    while time.perf_counter() < limite_s:
        agora_s = time.perf_counter()
        linha = banco.execute(SQL_ESPIAR, ids, prepare=True).fetchone()
        vistos = linha[0] if linha else 0
        if vistos == eventos:
            return agora_s
        if vistos > eventos:
            break
        time.sleep(PASSO_S)
    raise ContaErrada(f"o uso mostra {vistos} eventos; foram aceitos {eventos}")


def conferir(banco: psycopg.Connection, remessa: Remessa) -> None:
    """Levanta `ContaErrada` se linhas, sessões, erros, uso ou caixa não são exatamente os esperados."""
    linha = banco.execute(SQL_CONFERIR, {"ids": list(remessa.aplicativos)}).fetchone()
    esperado = (
        remessa.eventos, remessa.eventos, remessa.eventos, remessa.erros, remessa.sessoes, remessa.erros, 0,
    )  # fmt: skip
    if linha != esperado:
        diferencas = [
            f"{nome}: {visto} (esperado {certo})"
            for nome, visto, certo in zip(NOMES, linha or (None,) * len(NOMES), esperado, strict=True)
            if visto != certo
        ]
        raise ContaErrada("; ".join(diferencas))


def medir_copia(banco: psycopg.Connection, remessa: Remessa) -> float:
    """Linhas por segundo de um COPY binário, já montado, das mesmas linhas para uma tabela igual e vazia.

    É a mediana de `COPIAS`: uma cópia de cinco mil linhas dura 60 ms, e um tropeço do disco a dobra.
    """
    with banco.cursor() as cursor, cursor.copy(SQL_RETIRAR, {"ids": list(remessa.aplicativos)}) as saida:
        blocos = _agrupar(b"".join(bytes(pedaco) for pedaco in saida))
    return median(remessa.eventos / _copiar(banco, blocos, remessa.eventos) for _ in range(COPIAS))


def _copiar(banco: psycopg.Connection, blocos: Sequence[bytes], linhas: int) -> float:
    """Uma cópia para uma tabela recém-criada; devolve a duração (s), COMMIT incluído."""
    banco.execute(SQL_CRIAR_COPIA)
    banco.execute("CHECKPOINT")
    with banco.cursor() as cursor:
        comeco_s = time.perf_counter()
        with cursor.copy(SQL_COPIAR) as entrada:
            for bloco in blocos:
                entrada.write(bloco)
        duracao_s = time.perf_counter() - comeco_s
        copiadas = cursor.rowcount
    banco.execute("DROP TABLE bancada_copia")
    if copiadas != linhas:
        raise ContaErrada(f"o COPY de referência gravou {copiadas} linhas de {linhas}")
    return duracao_s


def _agrupar(bytes_da_copia: bytes, por_bloco: int = 1024 * 1024) -> list[bytes]:
    """Blocos grandes: linha a linha, o cliente seria o gargalo da referência."""
    return [bytes_da_copia[i : i + por_bloco] for i in range(0, len(bytes_da_copia), por_bloco)]
