"""A triagem de erros com dono e trilha, e a ordem por quantidade."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingestao", "0004_uso_por_minuto"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AcaoDeErro",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("acao", models.CharField(max_length=10, verbose_name="ação")),
                ("nota", models.CharField(blank=True, default="", max_length=1000, verbose_name="nota")),
                ("feita_em", models.DateTimeField(verbose_name="feita em")),
            ],
            options={
                "verbose_name": "ação de erro",
                "verbose_name_plural": "ações de erro",
                "ordering": ["-id"],
            },
        ),
        migrations.AddField(
            model_name="erro",
            name="atribuido_a",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="erros_atribuidos",
                to=settings.AUTH_USER_MODEL,
                verbose_name="atribuído a",
            ),
        ),
        migrations.AddIndex(
            model_name="erro",
            index=models.Index(fields=["quantidade", "id"], name="erro_por_quantidade"),
        ),
        migrations.AddField(
            model_name="acaodeerro",
            name="autor",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL, verbose_name="autor"
            ),
        ),
        migrations.AddField(
            model_name="acaodeerro",
            name="erro",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="acoes",
                to="ingestao.erro",
            ),
        ),
    ]
