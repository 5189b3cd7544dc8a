"""Dez milhões de eventos e um milhão de recepções, direto nas tabelas: o que as listas do painel folheiam.

As linhas são pequenas e os índices são os de verdade. Nada passa pela porta: levaria horas e não é o que se
mede. As quantidades guardam as proporções de um mês de uso: vinte eventos por sessão, um recibo por mensagem,
um erro enorme entre milhares de pequenos.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

import psycopg

EVENTOS_POR_SESSAO = 20
SESSOES_POR_VEZ = 25_000  # meio milhão de eventos por transação: mostra o andamento a cada poucos segundos
RECEPCOES_POR_VEZ = 100_000
DIAS = 29  # dentro da retenção
ERROS = 5_000
EXCECOES_ABERTAS = 20_000
TABELAS_DOS_SITES = "ingestao_evento, ingestao_sessao, ingestao_erro, ingestao_uso, ingestao_recusa"
TABELAS_DOS_RECIBOS = (
    "dlr_recepcao, dlr_mensagem, dlr_identificadorexterno, dlr_eventologico, dlr_ocorrencia, dlr_projecao,"
    " dlr_excecao"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acervo:
    """De quem são as linhas, e quantas."""

    aplicativos: list[UUID]
    integracoes: list[int]
    eventos: int
    recepcoes: int


# O instante cresce com o número da sessão: as linhas ficam no disco na ordem em que chegariam.
SQL_SESSOES = """
    INSERT INTO ingestao_sessao (id, aplicativo_id, sessao_externa, anonimo_id, usuario_id, pais,
        quantidade_eventos, quantidade_erros, primeira_atividade_em, ultima_atividade_em, criado_em)
    SELECT n, (%(aplicativos)s::uuid[])[1 + n %% %(quantos)s], 'acervo-' || n, 'anonimo-' || n / 3,
        CASE WHEN n %% 4 = 0 THEN 'usuario-' || n %% 50000 END, 'BR', %(por_sessao)s, n %% 2, em, em, em
    FROM generate_series(%(primeira)s::int, %(ultima)s::int) AS n, LATERAL (
        SELECT now() - make_interval(days => %(dias)s) * (1 - n::float8 / %(sessoes)s) AS em
    ) AS t
"""
SQL_ERROS = """
    INSERT INTO ingestao_erro (id, aplicativo_id, impressao, versao, tipo, titulo, quantidade, estado,
        primeira_ocorrencia_em, ultima_ocorrencia_em)
    SELECT md5('erro-' || n)::uuid, (%(aplicativos)s::uuid[])[1 + n %% %(quantos)s], md5(n::text) || md5(n::text),
        1, 'ERRO_JS', 'TypeError: acervo ' || n, 1 + 500000 / (n + 1), 'aberto', now() - interval '29 days',
        now() - make_interval(mins => n)
    FROM generate_series(0, %(erros)s::int - 1) AS n
"""
# Dois eventos por sessão são erros; metade deles, do mesmo erro, que fica com centenas de milhares.
SQL_EVENTOS = """
    INSERT INTO ingestao_evento (id, aplicativo_id, sessao_id, erro_id, evento_id, tipo, mensagem, url,
        ocorrido_em, criado_em)
    SELECT md5(s.id || '-' || n)::uuid, s.aplicativo_id, s.id,
        CASE n WHEN 1 THEN md5('erro-0')::uuid WHEN 2 THEN md5('erro-' || s.id %% %(erros)s)::uuid END,
        s.id || '-' || n, CASE WHEN n < 3 THEN 'ERRO_JS' WHEN n < 8 THEN 'CLIQUE' ELSE 'REQUISICAO' END,
        'pedido ' || s.id, '/carrinho/' || n, s.criado_em + make_interval(secs => n),
        s.criado_em + make_interval(secs => n)
    FROM ingestao_sessao s, generate_series(1, %(por_sessao)s::int) AS n
    WHERE s.id BETWEEN %(primeira)s AND %(ultima)s
    ORDER BY s.id, n
"""
SQL_USO = """
    INSERT INTO ingestao_uso (aplicativo_id, dia, quantidade_eventos)
    SELECT id, current_date - d, 1000 FROM unnest(%(aplicativos)s::uuid[]) AS a(id), generate_series(0, 364) AS d
"""
SQL_RECUSAS = """
    INSERT INTO ingestao_recusa (aplicativo_id, dia, motivo, quantidade_requisicoes, quantidade_eventos)
    SELECT id, current_date - d, m, 1, 1
    FROM unnest(%(aplicativos)s::uuid[]) AS a(id), generate_series(0, 89) AS d,
        unnest(ARRAY['tipo_invalido', 'limite_por_minuto', 'franquia_estourada']) AS m
"""
DA_RECEPCAO = """
    FROM generate_series(%(primeira)s::int, %(ultima)s::int) AS n, LATERAL (
        SELECT (%(integracoes)s::bigint[])[1 + n %% %(quantas)s] AS integracao,
            now() - make_interval(days => %(dias)s) * (1 - n::float8 / %(recepcoes)s) AS em
    ) AS t
"""
SQL_RECIBOS = (
    """INSERT INTO dlr_recepcao (id, integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo)
    SELECT n, integracao, em, 'POST', '/dlr/callback/acervo/***', '', '{}', '{"id_externo": "x"}'"""
    + DA_RECEPCAO,
    """INSERT INTO dlr_mensagem (id, integracao_id, id_interno, origem, destino, aceita, criada_em)
    SELECT n, integracao, 'pedido-' || n, 'LOJA', '+5511999990000', true, em"""
    + DA_RECEPCAO,
    """INSERT INTO dlr_identificadorexterno (mensagem_id, integracao_id, valor, formas)
    SELECT n, integracao, 'id' || n, ARRAY['id' || n]"""
    + DA_RECEPCAO,
    """INSERT INTO dlr_eventologico (id, integracao_id, mensagem_id, chave, conteudo, componentes, versao_da_chave,
        recepcao_id, indice, recebido_em, id_externo, estado_bruto, estado, notas, extras, correlacao, papel,
        versao_do_leitor, versao_das_regras, qtd_recepcoes)
    SELECT n, integracao, n, md5(n::text), '', '{}', 1, n, 0, em, 'id' || n, 'DELIVRD', 'DELIVERED', '[]', '{}',
        'unica', 'sustenta', 1, 1, 1"""
    + DA_RECEPCAO,
    """INSERT INTO dlr_ocorrencia (recepcao_id, indice, evento_id, repeticao, versao_do_leitor, ilegivel)
    SELECT n, 0, n, false, 1, ''"""
    + DA_RECEPCAO,
    """INSERT INTO dlr_projecao (mensagem_id, estado, final, motivo, sustentam, conflito, divergente,
        versao_das_regras, atualizada_em)
    SELECT n, 'DELIVERED', true, 'final', ARRAY[n], false, false, 1, em"""
    + DA_RECEPCAO,
)
SQL_EXCECOES = """
    INSERT INTO dlr_excecao (integracao_id, tipo, alvo, situacao, mensagem_id, detalhe, dicas, aberta_em,
        encerramento)
    SELECT (%(integracoes)s::bigint[])[1 + n %% %(quantas)s],
        (ARRAY['conflito_final', 'final_ausente', 'partes_divergentes'])[1 + n %% 3], 'acervo:' || n,
        CASE WHEN n <= %(abertas)s THEN 'aberta' ELSE 'resolvida' END, n, 'acervo', '[]',
        now() - make_interval(mins => n), ''
    FROM generate_series(1, %(abertas)s::int * 3) AS n
"""


def encher(
    banco: psycopg.Connection,
    *,
    aplicativos: list[UUID],
    integracoes: list[int],
    eventos: int,
    recepcoes: int,
    avisar: Callable[[str], None],
) -> Acervo:
    """Grava tudo, em transações curtas, e atualiza as estatísticas; devolve o que gravou."""
    _encher_sites(banco, aplicativos, eventos // EVENTOS_POR_SESSAO, avisar)
    _encher_recibos(banco, integracoes, recepcoes, avisar)
    avisar("acervo do painel: estatísticas e mapa de visibilidade…")
    banco.execute(f"VACUUM (ANALYZE) {TABELAS_DOS_SITES}, {TABELAS_DOS_RECIBOS}")
    banco.execute("CHECKPOINT")
    return Acervo(
        aplicativos=aplicativos,
        integracoes=integracoes,
        eventos=eventos // EVENTOS_POR_SESSAO * EVENTOS_POR_SESSAO,
        recepcoes=recepcoes,
    )


def _encher_sites(
    banco: psycopg.Connection, aplicativos: list[UUID], sessoes: int, avisar: Callable[[str], None]
) -> None:
    valores = {
        "aplicativos": aplicativos,
        "quantos": len(aplicativos),
        "por_sessao": EVENTOS_POR_SESSAO,
        "sessoes": sessoes,
        "dias": DIAS,
        "erros": ERROS,
    }
    for sql in (SQL_ERROS, SQL_USO, SQL_RECUSAS):
        banco.execute(sql, valores)
    for primeira in range(1, sessoes + 1, SESSOES_POR_VEZ):
        ultima = min(primeira + SESSOES_POR_VEZ - 1, sessoes)
        with banco.transaction():
            for sql in (SQL_SESSOES, SQL_EVENTOS):
                banco.execute(sql, {**valores, "primeira": primeira, "ultima": ultima})
        gravados, total = ultima * EVENTOS_POR_SESSAO, sessoes * EVENTOS_POR_SESSAO
        avisar(f"acervo do painel: {gravados:,} de {total:,} eventos".replace(",", "."))
    banco.execute("SELECT setval(pg_get_serial_sequence('ingestao_sessao', 'id'), %s)", (sessoes + 1,))


def _encher_recibos(
    banco: psycopg.Connection, integracoes: list[int], recepcoes: int, avisar: Callable[[str], None]
) -> None:
    valores = {
        "integracoes": integracoes,
        "quantas": len(integracoes),
        "recepcoes": recepcoes,
        "dias": DIAS,
        "abertas": min(EXCECOES_ABERTAS, recepcoes // 3),
    }
    for primeira in range(1, recepcoes + 1, RECEPCOES_POR_VEZ):
        ultima = min(primeira + RECEPCOES_POR_VEZ - 1, recepcoes)
        with banco.transaction():
            for sql in SQL_RECIBOS:
                banco.execute(sql, {**valores, "primeira": primeira, "ultima": ultima})
        avisar(f"acervo do painel: {ultima:,} de {recepcoes:,} recepções".replace(",", "."))
    banco.execute(SQL_EXCECOES, valores)
    for tabela in ("dlr_recepcao", "dlr_mensagem", "dlr_eventologico"):
        banco.execute(f"SELECT setval(pg_get_serial_sequence('{tabela}', 'id'), %s)", (recepcoes + 1,))
