"""As sessões de um visitante sem nome: sem isto, achá-las seria varrer a tabela."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = (
        False  # CREATE INDEX CONCURRENTLY não cabe numa transação: a ingestão continua enquanto ele nasce
    )

    dependencies = [("ingestao", "0005_triagem_com_trilha")]

    operations = [
        AddIndexConcurrently(
            model_name="sessao",
            index=models.Index(
                fields=["aplicativo", "anonimo_id"],
                name="sessao_por_anonimo",
                condition=models.Q(anonimo_id__isnull=False),
            ),
        )
    ]
