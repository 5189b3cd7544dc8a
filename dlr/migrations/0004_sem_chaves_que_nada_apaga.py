"""As chaves que o PostgreSQL conferia linha a linha e que nada pode violar (docs/decisoes/0016)."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dlr", "0003_recepcoes_por_minuto_e_dia"),
    ]

    operations = [
        migrations.AlterField(
            model_name="eventologico",
            name="integracao",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                to="dlr.integracao",
            ),
        ),
        migrations.AlterField(
            model_name="eventologico",
            name="recepcao",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="A primeira.",
                on_delete=django.db.models.deletion.PROTECT,
                to="dlr.recepcao",
            ),
        ),
        migrations.AlterField(
            model_name="ocorrencia",
            name="evento",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="ocorrencias",
                to="dlr.eventologico",
            ),
        ),
        migrations.AlterField(
            model_name="ocorrencia",
            name="recepcao",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="ocorrencias",
                to="dlr.recepcao",
            ),
        ),
    ]
