"""A trilha de quem viu o que, os segundos fatores, e os gatilhos que tornam as trilhas imutáveis no banco."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

TRAVAR = """
    CREATE FUNCTION painel_trilha_nao_muda() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION '% so aceita INSERT: e trilha', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER revelacao_nao_muda BEFORE UPDATE OR DELETE ON painel_revelacao
        FOR EACH ROW EXECUTE FUNCTION painel_trilha_nao_muda();
    -- `content_type_id` fica de fora: o Django o anula quando um modelo deixa de existir.
    CREATE TRIGGER trilha_nao_muda
        BEFORE DELETE OR UPDATE OF action_time, user_id, object_id, object_repr, action_flag, change_message
        ON django_admin_log FOR EACH ROW EXECUTE FUNCTION painel_trilha_nao_muda();
"""
DESTRAVAR = """
    DROP TRIGGER trilha_nao_muda ON django_admin_log;
    DROP TRIGGER revelacao_nao_muda ON painel_revelacao;
    DROP FUNCTION painel_trilha_nao_muda();
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("otp_static", "0003_add_timestamps"),
        ("otp_totp", "0003_add_timestamps"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Autenticador",
            fields=[],
            options={
                "verbose_name": "segundo fator",
                "verbose_name_plural": "segundos fatores",
                "permissions": [("remover_segundo_fator", "Pode remover o segundo fator de outra pessoa")],
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("otp_totp.totpdevice",),
        ),
        migrations.CreateModel(
            name="CodigosDeRecuperacao",
            fields=[],
            options={
                "verbose_name": "códigos de recuperação",
                "verbose_name_plural": "códigos de recuperação",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("otp_static.staticdevice",),
        ),
        migrations.CreateModel(
            name="Revelacao",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "revelada_em",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="quando"),
                ),
                ("o_que", models.CharField(max_length=120, verbose_name="o que foi mostrado")),
                (
                    "modelo",
                    models.CharField(
                        help_text="`aplicativo.modelo` do registro.", max_length=100, verbose_name="tabela"
                    ),
                ),
                ("registro_id", models.CharField(max_length=64, verbose_name="registro")),
                ("motivo", models.CharField(blank=True, default="", max_length=500, verbose_name="motivo")),
                (
                    "autor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="quem viu",
                    ),
                ),
            ],
            options={
                "verbose_name": "revelação",
                "verbose_name_plural": "revelações",
                "ordering": ["-id"],
                "permissions": [("revelar", "Pode revelar telefones e segredos mascarados")],
                "default_permissions": ("view",),
                "indexes": [models.Index(fields=["modelo", "registro_id"], name="revelacao_do_registro")],
            },
        ),
        migrations.RunSQL(TRAVAR, DESTRAVAR),
    ]
