"""O lote à espera não paga o pglz: 30 KB de JSON custavam 0,3 ms à porta, e a linha vive décimos de segundo."""

from django.db import migrations

# O lz4 custa um décimo e ainda poupa WAL; um PostgreSQL montado sem ele guarda os bytes como vieram.
DEPRESSA = """
    DO $$ BEGIN
        ALTER TABLE ingestao_lote ALTER COLUMN conteudo SET COMPRESSION lz4;
    EXCEPTION WHEN feature_not_supported THEN
        ALTER TABLE ingestao_lote ALTER COLUMN conteudo SET STORAGE EXTERNAL;
    END $$
"""
COMO_ERA = """
    ALTER TABLE ingestao_lote ALTER COLUMN conteudo SET STORAGE EXTENDED;
    ALTER TABLE ingestao_lote ALTER COLUMN conteudo SET COMPRESSION default;
"""


class Migration(migrations.Migration):
    dependencies = [("ingestao", "0007_contestacao_no_nome")]

    operations = [migrations.RunSQL(DEPRESSA, COMO_ERA)]
