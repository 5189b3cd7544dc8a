"""Ajustes de armazenamento das tabelas que mais mudam; nenhum muda o que elas guardam."""

from django.db import migrations

AFINAR = """
    -- A caixa vive vazia e nasce e morre milhares de vezes por segundo: limpar por quantidade, não por
    -- proporção, senão cada reivindicação atravessa as linhas mortas das anteriores.
    ALTER TABLE ingestao_lote SET (
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0
    );
    -- Contadores somados a cada transação do worker: folga na página para a linha nova ficar ao lado.
    ALTER TABLE ingestao_sessao SET (fillfactor = 70);
    ALTER TABLE ingestao_erro SET (fillfactor = 70);
    ALTER TABLE ingestao_uso SET (fillfactor = 50);
"""
DESAFINAR = """
    ALTER TABLE ingestao_lote RESET (
        autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_vacuum_insert_threshold,
        autovacuum_analyze_scale_factor, autovacuum_analyze_threshold, autovacuum_vacuum_cost_delay
    );
    ALTER TABLE ingestao_sessao RESET (fillfactor);
    ALTER TABLE ingestao_erro RESET (fillfactor);
    ALTER TABLE ingestao_uso RESET (fillfactor);
"""


class Migration(migrations.Migration):
    dependencies = [("ingestao", "0001_inicial")]

    operations = [migrations.RunSQL(AFINAR, DESAFINAR)]
