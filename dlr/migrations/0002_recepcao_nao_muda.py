"""A evidência é imutável no banco, não só no código: um gatilho recusa UPDATE e DELETE."""

from django.db import migrations

TRAVAR = """
    CREATE FUNCTION dlr_recepcao_nao_muda() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'dlr_recepcao so aceita INSERT: recepcao e evidencia' USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER recepcao_nao_muda BEFORE UPDATE OR DELETE ON dlr_recepcao
        FOR EACH ROW EXECUTE FUNCTION dlr_recepcao_nao_muda();
    ALTER TABLE dlr_recepcaopendente SET (
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_insert_threshold = -1, autovacuum_analyze_scale_factor = 0,
        autovacuum_analyze_threshold = 50000, autovacuum_vacuum_cost_delay = 0
    );
    ALTER TABLE dlr_eventologico SET (fillfactor = 85);
    ALTER TABLE dlr_projecao SET (fillfactor = 85);
"""
DESTRAVAR = """
    DROP TRIGGER recepcao_nao_muda ON dlr_recepcao;
    DROP FUNCTION dlr_recepcao_nao_muda();
"""


class Migration(migrations.Migration):
    dependencies = [("dlr", "0001_inicial")]

    operations = [migrations.RunSQL(TRAVAR, DESTRAVAR)]
