"""Enche o banco com eventos antigos, pelo SQL: um milhão pela porta levaria minutos e não é o que se mede."""

from collections.abc import Callable
from uuid import UUID

import psycopg

EVENTOS_POR_SESSAO = 20
EVENTOS_POR_VEZ = 100_000  # por transação: mostra o andamento e não segura uma trava por meio minuto

SQL_SESSOES = """
    INSERT INTO ingestao_sessao (aplicativo_id, sessao_externa, navegador, sistema_operacional, dispositivo,
        resolucao, pagina_inicial, pais, quantidade_eventos, primeira_atividade_em, ultima_atividade_em,
        criado_em)
    SELECT %(aplicativo)s, 'acervo-' || n, 'Chrome 140', 'Linux', 'desktop', '1920x1080',
        'https://loja.exemplo.com.br/', 'BR', %(por_sessao)s, t.em, t.em + interval '10 minutes', t.em
    FROM generate_series(%(primeira)s::int, %(ultima)s::int) AS n,
        LATERAL (SELECT now() - make_interval(days => %(dias)s, secs => n %% 86400) AS em) AS t
    RETURNING id
"""
# Ids ao acaso, como os UUIDv5 de verdade: é o que espalha as inserções pelo índice.
SQL_EVENTOS = """
    INSERT INTO ingestao_evento (id, aplicativo_id, sessao_id, evento_id, tipo, url, metodo, status,
        duracao_ms, payload, ocorrido_em, criado_em)
    SELECT gen_random_uuid(), %(aplicativo)s, s.id, 'acervo-' || s.id || '-' || n, 'REQUISICAO',
        'https://loja.exemplo.com.br/api/v2/produtos/' || n || '?rastro=' || md5(s.id::text || n), 'GET', 200,
        n * 3.5, jsonb_build_object('versao_do_site', '2025.11.3+build.4821', 'rastro', md5(n::text || s.id),
            'viewport', jsonb_build_object('largura', 1903, 'altura', 969), 'rota', 'loja/vitrine/produto',
            'experimentos', jsonb_build_array('frete-gratis-b', 'vitrine-compacta-a')),
        s.criado_em + make_interval(secs => n), s.criado_em + make_interval(secs => n)
    FROM unnest(%(sessoes)s::bigint[]) AS alvo(id) JOIN ingestao_sessao s USING (id),
        generate_series(1, %(por_sessao)s::int) AS n
"""


def encher(
    banco: psycopg.Connection, aplicativo: UUID, *, eventos: int, dias: int, avisar: Callable[[str], None]
) -> int:
    """Grava cerca de `eventos` eventos de `dias` dias atrás, em sessões inteiras; devolve quantos foram."""
    total_de_sessoes = eventos // EVENTOS_POR_SESSAO
    por_vez = EVENTOS_POR_VEZ // EVENTOS_POR_SESSAO
    for primeira in range(0, total_de_sessoes, por_vez):
        ultima = min(primeira + por_vez, total_de_sessoes) - 1
        valores = {
            "aplicativo": aplicativo,
            "dias": dias,
            "por_sessao": EVENTOS_POR_SESSAO,
            "primeira": primeira,
            "ultima": ultima,
        }
        with banco.transaction():
            sessoes = [id_ for (id_,) in banco.execute(SQL_SESSOES, valores)]
            banco.execute(SQL_EVENTOS, {**valores, "sessoes": sessoes})
        avisar(f"acervo: {(ultima + 1) * EVENTOS_POR_SESSAO:,} de {eventos:,} eventos".replace(",", "."))
    banco.execute("VACUUM (ANALYZE) ingestao_evento, ingestao_sessao")
    banco.execute("CHECKPOINT")
    return total_de_sessoes * EVENTOS_POR_SESSAO
