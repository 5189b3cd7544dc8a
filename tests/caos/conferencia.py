"""O banco contra as promessas, depois que as falhas pararam e a caixa esvaziou."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import psycopg

from tests.caos.lotes import Site
from tests.caos.oraculo import Oraculo

LINHAS_POR_VEZ = 20_000
EXEMPLOS = 5

SQL_ESPERADO = "SELECT sessao, tipo, e_erro, ocorrido_em, visto FROM evento WHERE site = ? AND evento_id = ?"
SQL_VISTO = "UPDATE evento SET visto = 1 WHERE site = ? AND evento_id = ?"

SQL_EVENTOS = """
    SELECT e.aplicativo_id::text, e.evento_id, e.tipo, e.texto, e.erro_id IS NOT NULL,
        s.aplicativo_id::text, s.sessao_externa, e.ocorrido_em, e.ocorrido_em_original
    FROM ingestao_evento e LEFT JOIN ingestao_sessao s ON s.id = e.sessao_id
    WHERE e.aplicativo_id = ANY(%s)
"""
SQL_SESSOES = "SELECT aplicativo_id::text, sessao_externa FROM ingestao_sessao WHERE aplicativo_id = ANY(%s)"
SQL_RECUSAS = """
    SELECT motivo, sum(quantidade_requisicoes)::bigint, sum(quantidade_eventos)::bigint
    FROM ingestao_recusa WHERE aplicativo_id IS NULL OR aplicativo_id = ANY(%s) GROUP BY motivo
"""

# Cada consulta devolve só o que está errado; a primeira coluna diz onde.
COERENCIA = {
    "ficou lote na caixa, pendente ou estacionado": "SELECT id, tentativas, falha FROM ingestao_lote",
    "sessao.quantidade_eventos difere das linhas": """
        SELECT s.id, s.quantidade_eventos, count(e.id)
        FROM ingestao_sessao s LEFT JOIN ingestao_evento e ON e.sessao_id = s.id
        WHERE s.aplicativo_id = ANY(%(sites)s)
        GROUP BY s.id HAVING s.quantidade_eventos <> count(e.id)""",
    "sessao.quantidade_erros difere das linhas": """
        SELECT s.id, s.quantidade_erros, count(e.id)
        FROM ingestao_sessao s LEFT JOIN ingestao_evento e ON e.sessao_id = s.id AND e.erro_id IS NOT NULL
        WHERE s.aplicativo_id = ANY(%(sites)s)
        GROUP BY s.id HAVING s.quantidade_erros <> count(e.id)""",
    "erro.quantidade difere das linhas": """
        SELECT coalesce(r.id, l.erro_id), r.quantidade, l.linhas
        FROM (SELECT id, quantidade FROM ingestao_erro WHERE aplicativo_id = ANY(%(sites)s)) r
        FULL JOIN (SELECT erro_id, count(*) AS linhas FROM ingestao_evento
            WHERE erro_id IS NOT NULL AND aplicativo_id = ANY(%(sites)s) GROUP BY erro_id) l
            ON l.erro_id = r.id
        WHERE r.quantidade IS DISTINCT FROM l.linhas""",
    "soma de uso.quantidade_eventos difere das linhas e das sessões": """
        SELECT a.id, u.total, l.linhas, s.total
        FROM ingestao_aplicativo a
        CROSS JOIN LATERAL (SELECT coalesce(sum(quantidade_eventos), 0) AS total
            FROM ingestao_uso WHERE aplicativo_id = a.id) u
        CROSS JOIN LATERAL (SELECT count(*) AS linhas FROM ingestao_evento WHERE aplicativo_id = a.id) l
        CROSS JOIN LATERAL (SELECT coalesce(sum(quantidade_eventos), 0) AS total
            FROM ingestao_sessao WHERE aplicativo_id = a.id) s
        WHERE a.id = ANY(%(sites)s) AND (u.total <> l.linhas OR s.total <> l.linhas)""",
    "soma de uso.quantidade_recusados difere das recusas": """
        SELECT a.id, u.total, r.total
        FROM ingestao_aplicativo a
        CROSS JOIN LATERAL (SELECT coalesce(sum(quantidade_recusados), 0) AS total
            FROM ingestao_uso WHERE aplicativo_id = a.id) u
        CROSS JOIN LATERAL (SELECT coalesce(sum(quantidade_eventos), 0) AS total
            FROM ingestao_recusa WHERE aplicativo_id = a.id) r
        WHERE a.id = ANY(%(sites)s) AND u.total <> r.total""",
    "os tempos da sessão não cobrem os eventos dela": """
        SELECT s.id, s.primeira_atividade_em, s.ultima_atividade_em, min(e.ocorrido_em), max(e.ocorrido_em)
        FROM ingestao_sessao s JOIN ingestao_evento e ON e.sessao_id = s.id
        WHERE s.aplicativo_id = ANY(%(sites)s)
        GROUP BY s.id
        HAVING s.primeira_atividade_em > min(e.ocorrido_em) OR s.ultima_atividade_em < max(e.ocorrido_em)""",
    "sessao.usuario_id não é o da identificação mais recente": """
        SELECT s.id, s.usuario_id, ultima.usuario_id
        FROM ingestao_sessao s
        LEFT JOIN LATERAL (SELECT e.usuario_id FROM ingestao_evento e
            WHERE e.sessao_id = s.id AND e.tipo = 'IDENTIFICACAO'
            ORDER BY e.ocorrido_em DESC, e.usuario_id DESC LIMIT 1) ultima ON true
        WHERE s.aplicativo_id = ANY(%(sites)s) AND s.usuario_id IS DISTINCT FROM ultima.usuario_id""",
    "sessao.tempo_carregamento_ms não é o da medida mais recente": """
        SELECT s.id, s.tempo_carregamento_ms, ultima.valor
        FROM ingestao_sessao s
        LEFT JOIN LATERAL (SELECT e.valor FROM ingestao_evento e
            WHERE e.sessao_id = s.id AND e.tipo = 'DESEMPENHO' AND e.metrica = 'CARREGAMENTO'
            ORDER BY e.ocorrido_em DESC, e.valor DESC LIMIT 1) ultima ON true
        WHERE s.aplicativo_id = ANY(%(sites)s) AND s.tempo_carregamento_ms IS DISTINCT FROM ultima.valor""",
    "aplicativo com eventos e sem primeiro_evento_em": """
        SELECT a.id FROM ingestao_aplicativo a
        WHERE a.id = ANY(%(sites)s) AND a.primeiro_evento_em IS NULL
            AND EXISTS (SELECT 1 FROM ingestao_evento e WHERE e.aplicativo_id = a.id)""",
}


def conferir(conexao: psycopg.Connection[Any], oraculo: Oraculo, sites: Sequence[Site]) -> int:
    """Acusa no oráculo o que o banco tem de diferente do prometido; devolve quantos eventos leu."""
    ids = [site.id for site in sites]
    livro = oraculo.livro
    livro.anotar("UPDATE evento SET visto = 0", [()])
    # Um PostgreSQL morto com SIGKILL esquece as estatísticas, e as contas abaixo levariam minutos.
    conexao.execute("ANALYZE ingestao_evento, ingestao_sessao, ingestao_erro")
    qtd_lidos = 0
    for linhas in _percorrer(conexao, SQL_EVENTOS, ids):
        qtd_lidos += len(linhas)
        linhas.sort(key=lambda linha: linha[:2])  # na ordem do livro, que assim se lê em sequência
        for linha in linhas:
            _conferir_evento(oraculo, *linha)
        for chave, seguinte in pairwise(linha[:2] for linha in linhas):
            if chave == seguinte:
                oraculo.acusar(f"evento em dobro: {chave}")
        livro.anotar(SQL_VISTO, [linha[:2] for linha in linhas])
    perdidos = livro.contar("SELECT count(*) FROM evento WHERE prometido AND NOT visto")
    if perdidos:
        exemplos = livro.buscar(f"SELECT * FROM evento WHERE prometido AND NOT visto LIMIT {EXEMPLOS}")
        oraculo.acusar(f"{perdidos} eventos confirmados não existem, como {exemplos}")
    _conferir_sessoes(conexao, oraculo, ids)
    _conferir_recusas(conexao, oraculo, ids)
    for frase, sql in COERENCIA.items():
        erradas = conexao.execute(sql, {"sites": ids}).fetchall()
        if erradas:
            oraculo.acusar(f"{frase}: {len(erradas)} casos, como {erradas[:EXEMPLOS]}")
    return qtd_lidos


def _percorrer(conexao: psycopg.Connection[Any], sql: str, ids: list[str]) -> Iterator[list[tuple[Any, ...]]]:
    with conexao.transaction(), conexao.cursor(name="conferencia") as cursor:
        cursor.execute(sql, (ids,))
        while linhas := cursor.fetchmany(LINHAS_POR_VEZ):
            yield linhas


def _conferir_evento(
    oraculo: Oraculo,
    aplicativo: str,
    evento_id: str,
    tipo: str,
    texto: str | None,
    tem_erro: bool,
    aplicativo_da_sessao: str | None,
    sessao: str | None,
    ocorrido_em: datetime,
    original: str | None,
) -> None:
    chave = (aplicativo, evento_id)
    achado = oraculo.livro.buscar(SQL_ESPERADO, chave)
    if not achado:
        oraculo.acusar(f"evento que ninguém mandou inteiro: {chave}")
        return
    ((sessao_certa, tipo_certo, e_erro, hora, visto),) = achado
    if visto:
        oraculo.acusar(f"evento em dobro: {chave}")
    veio = (aplicativo_da_sessao, sessao, tipo, tem_erro, texto)
    devia = (aplicativo, sessao_certa, tipo_certo, bool(e_erro), evento_id[: len(texto or "")])
    if veio != devia or tipo_certo == "PULSO":
        oraculo.acusar(f"evento {chave} gravado como {veio}, devia ser {devia}")
    # A hora do remetente fica como veio; a que não se aceita (torta, ilegível) fica guardada ao lado.
    if hora is not None and hora != original and (original or datetime.fromisoformat(hora) != ocorrido_em):
        oraculo.acusar(f"evento {chave} mandado às {hora}, gravado às {ocorrido_em} ({original})")


def _conferir_sessoes(conexao: psycopg.Connection[Any], oraculo: Oraculo, ids: list[str]) -> None:
    sessoes = {(aplicativo, externa) for aplicativo, externa in conexao.execute(SQL_SESSOES, (ids,))}
    if faltam := oraculo.sessoes_prometidas - sessoes:
        oraculo.acusar(f"{len(faltam)} sessões confirmadas não existem, como {sorted(faltam)[:EXEMPLOS]}")
    if sobram := sessoes - oraculo.sessoes_mandadas:
        oraculo.acusar(f"{len(sobram)} sessões que ninguém mandou, como {sorted(sobram)[:EXEMPLOS]}")


def _conferir_recusas(conexao: psycopg.Connection[Any], oraculo: Oraculo, ids: list[str]) -> None:
    contadas = {motivo: (r, e) for motivo, r, e in conexao.execute(SQL_RECUSAS, (ids,))}
    for motivo in contadas.keys() | oraculo.recusas.keys():
        requisicoes, eventos = contadas.get(motivo, (0, 0))
        conta = oraculo.recusas.get(motivo)
        if conta is None:
            oraculo.acusar(f"recusa que ninguém provocou: {motivo} {requisicoes}/{eventos}")
            continue
        if not conta.requisicoes_respondidas <= requisicoes <= conta.requisicoes_mandadas:
            oraculo.acusar(f"recusa {motivo}: {requisicoes} requisições contadas, devia caber em {conta}")
        if not conta.eventos_respondidos <= eventos <= conta.eventos_mandados:
            oraculo.acusar(f"recusa {motivo}: {eventos} eventos contados, devia caber em {conta}")
