"""As tabelas das capturas: aparelhos, capturas, contestações com a trilha delas, e medidas."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

AFINAR = """
    -- JPEG não se comprime: EXTERNAL poupa a tentativa e guarda os bytes como vieram.
    ALTER TABLE ingestao_captura ALTER COLUMN recorte SET STORAGE EXTERNAL;
    ALTER TABLE ingestao_pedacodequadro ALTER COLUMN conteudo SET STORAGE EXTERNAL;
    -- Reenvios, latências e contagens mudam a linha sem mudar índice: folga na página para ela ficar ao lado.
    ALTER TABLE ingestao_captura SET (fillfactor = 85);
    ALTER TABLE ingestao_medidadecaptura SET (fillfactor = 50);
    ALTER TABLE ingestao_dispositivo SET (fillfactor = 50);
    -- A trilha é imutável no banco, não só no código.
    CREATE FUNCTION ingestao_trilha_nao_muda() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'ingestao_atodecaptura so aceita INSERT: trilha e evidencia' USING ERRCODE = 'restrict_violation';
    END $$;
    CREATE TRIGGER trilha_nao_muda BEFORE UPDATE OR DELETE ON ingestao_atodecaptura
        FOR EACH ROW EXECUTE FUNCTION ingestao_trilha_nao_muda();
"""
DESAFINAR = """
    DROP TRIGGER trilha_nao_muda ON ingestao_atodecaptura;
    DROP FUNCTION ingestao_trilha_nao_muda();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ingestao", "0002_afina_tabelas_quentes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Dispositivo",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("nome", models.CharField(max_length=120, verbose_name="nome")),
                (
                    "token_resumo",
                    models.CharField(
                        editable=False, max_length=64, unique=True, verbose_name="resumo do token"
                    ),
                ),
                (
                    "token_anterior_resumo",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        default="",
                        editable=False,
                        max_length=64,
                        verbose_name="resumo do token anterior",
                    ),
                ),
                (
                    "token_anterior_ate",
                    models.DateTimeField(
                        blank=True, editable=False, null=True, verbose_name="token anterior vale até"
                    ),
                ),
                (
                    "revogado_em",
                    models.DateTimeField(blank=True, editable=False, null=True, verbose_name="revogado em"),
                ),
                (
                    "silencioso_apos_s",
                    models.PositiveIntegerField(
                        default=900,
                        help_text="Sem contato por este tempo, o aparelho aparece como silencioso.",
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="silencioso após (s)",
                    ),
                ),
                (
                    "criado_em",
                    models.DateTimeField(
                        default=django.utils.timezone.now, editable=False, verbose_name="criado em"
                    ),
                ),
                (
                    "ultimo_contato_em",
                    models.DateTimeField(
                        blank=True,
                        editable=False,
                        help_text="Qualquer chamada autêntica; atualizado no máximo a cada dez segundos.",
                        null=True,
                        verbose_name="último contato em",
                    ),
                ),
                (
                    "ultimo_pulso_em",
                    models.DateTimeField(
                        blank=True, editable=False, null=True, verbose_name="último pulso em"
                    ),
                ),
                (
                    "versao",
                    models.CharField(
                        blank=True,
                        default="",
                        editable=False,
                        max_length=60,
                        verbose_name="versão do cliente",
                    ),
                ),
                (
                    "boot_id",
                    models.CharField(
                        blank=True, default="", editable=False, max_length=64, verbose_name="id da partida"
                    ),
                ),
                (
                    "fila_qtd",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, null=True, verbose_name="eventos na fila"
                    ),
                ),
                (
                    "fila_mais_antigo_s",
                    models.FloatField(
                        blank=True, editable=False, null=True, verbose_name="mais antigo da fila (s)"
                    ),
                ),
                (
                    "disco_livre_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, null=True, verbose_name="disco livre (bytes)"
                    ),
                ),
                (
                    "quarentena",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, null=True, verbose_name="em quarentena"
                    ),
                ),
                (
                    "quadros_qtd",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, null=True, verbose_name="quadros guardados"
                    ),
                ),
                (
                    "quadros_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, editable=False, null=True, verbose_name="quadros guardados (bytes)"
                    ),
                ),
                (
                    "relogio_suspeito",
                    models.BooleanField(default=False, editable=False, verbose_name="relógio suspeito"),
                ),
                ("deletado", models.BooleanField(default=False, verbose_name="excluído")),
            ],
            options={
                "verbose_name": "dispositivo",
                "verbose_name_plural": "dispositivos",
                "ordering": ["nome"],
            },
        ),
        migrations.CreateModel(
            name="Captura",
            fields=[
                (
                    "id_evento",
                    models.UUIDField(primary_key=True, serialize=False, verbose_name="id do evento"),
                ),
                (
                    "capturado_em",
                    models.DateTimeField(
                        help_text="Relógio do aparelho, como veio.", verbose_name="capturado em"
                    ),
                ),
                (
                    "idade_ms",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Relógio monotônico do aparelho; vazia se ele reiniciou entre a captura e o envio.",
                        null=True,
                        verbose_name="idade no envio (ms)",
                    ),
                ),
                (
                    "hora_suspeita",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Confere"),
                            ("anterior_a_2020", "Antes de 2020: o relógio não estava acertado"),
                            ("no_futuro", "No futuro"),
                            ("diverge_da_idade", "Diverge da idade medida pelo aparelho"),
                        ],
                        db_default="",
                        default="",
                        max_length=20,
                        verbose_name="hora suspeita",
                    ),
                ),
                (
                    "seq",
                    models.BigIntegerField(
                        help_text="Conta as capturas do aparelho.", verbose_name="sequência"
                    ),
                ),
                ("payload", models.JSONField(verbose_name="payload")),
                (
                    "quadro_largura",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="largura do quadro (px)"),
                ),
                (
                    "quadro_altura",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="altura do quadro (px)"),
                ),
                (
                    "quadro_bytes",
                    models.PositiveBigIntegerField(
                        blank=True, null=True, verbose_name="tamanho do quadro (bytes)"
                    ),
                ),
                (
                    "quadro_sha256",
                    models.CharField(blank=True, max_length=64, null=True, verbose_name="SHA-256 do quadro"),
                ),
                (
                    "quadro_expira_em",
                    models.DateTimeField(
                        blank=True, null=True, verbose_name="quadro guardado no aparelho até"
                    ),
                ),
                ("caixa_x", models.PositiveIntegerField(blank=True, null=True, verbose_name="caixa: x (px)")),
                ("caixa_y", models.PositiveIntegerField(blank=True, null=True, verbose_name="caixa: y (px)")),
                (
                    "caixa_largura",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="caixa: largura (px)"),
                ),
                (
                    "caixa_altura",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="caixa: altura (px)"),
                ),
                (
                    "caixa_margem",
                    models.PositiveIntegerField(
                        blank=True, null=True, verbose_name="caixa: margem pedida (px)"
                    ),
                ),
                (
                    "sem_recorte",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        max_length=60,
                        verbose_name="por que não há recorte",
                    ),
                ),
                ("recorte", models.BinaryField(blank=True, null=True, verbose_name="recorte (JPEG)")),
                (
                    "recorte_bytes",
                    models.PositiveIntegerField(
                        blank=True, null=True, verbose_name="tamanho do recorte (bytes)"
                    ),
                ),
                (
                    "recorte_largura",
                    models.PositiveIntegerField(
                        blank=True, null=True, verbose_name="largura do recorte (px)"
                    ),
                ),
                (
                    "recorte_altura",
                    models.PositiveIntegerField(blank=True, null=True, verbose_name="altura do recorte (px)"),
                ),
                (
                    "recorte_sha256",
                    models.CharField(blank=True, max_length=64, null=True, verbose_name="SHA-256 do recorte"),
                ),
                ("conteudo_resumo", models.CharField(max_length=64, verbose_name="resumo do conteúdo")),
                (
                    "gravado_em",
                    models.DateTimeField(
                        help_text="Relógio do servidor; é o que o ACK devolve.", verbose_name="gravado em"
                    ),
                ),
                (
                    "maior_tentativa",
                    models.PositiveIntegerField(
                        db_default=1, default=1, verbose_name="maior tentativa vista"
                    ),
                ),
                (
                    "reenvios_link",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="A tentativa cresceu: o ACK se perdeu no caminho.",
                        verbose_name="reenvios por link",
                    ),
                ),
                (
                    "reenvios_fila",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Tentativa repetida, ou reenvio depois de o aparelho ter visto o ACK: defeito na fila dele.",
                        verbose_name="reenvios por fila",
                    ),
                ),
                (
                    "latencia_ms",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Da captura ao ACK durável, medida no aparelho com relógio monotônico.",
                        null=True,
                        verbose_name="latência até o ACK (ms)",
                    ),
                ),
                ("deletado", models.BooleanField(db_default=False, default=False, verbose_name="excluída")),
                (
                    "dispositivo",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "captura",
                "verbose_name_plural": "capturas",
                "ordering": ["-gravado_em", "-id_evento"],
            },
        ),
        migrations.CreateModel(
            name="MedidaDeCaptura",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("hora", models.DateTimeField(verbose_name="hora")),
                ("medida", models.CharField(max_length=80, verbose_name="medida")),
                ("faixa", models.SmallIntegerField(default=0, verbose_name="faixa")),
                ("quantidade", models.PositiveBigIntegerField(default=0, verbose_name="quantidade")),
                (
                    "dispositivo",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "medida de captura",
                "verbose_name_plural": "medidas de captura",
                "ordering": ["-hora", "medida", "faixa"],
            },
        ),
        migrations.CreateModel(
            name="Pedido",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("motivo", models.CharField(max_length=1000, verbose_name="motivo")),
                ("aberto_em", models.DateTimeField(verbose_name="aberto em")),
                ("vence_em", models.DateTimeField(verbose_name="vence em")),
                (
                    "situacao",
                    models.CharField(
                        choices=[
                            ("aberto", "Aberto"),
                            ("atendido", "Atendido"),
                            ("indisponivel", "Indisponível no aparelho"),
                            ("vencido", "Vencido"),
                            ("hash_divergente", "SHA-256 divergente"),
                            ("cancelado", "Cancelado"),
                        ],
                        default="aberto",
                        max_length=20,
                        verbose_name="situação",
                    ),
                ),
                (
                    "motivo_indisponivel",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("expirado", "Passou do prazo de guarda"),
                            ("nunca_guardado", "Nunca foi guardado"),
                            ("despejado_por_espaco", "Despejado por falta de espaço"),
                            ("ilegivel", "Guardado, mas ilegível"),
                        ],
                        default="",
                        max_length=30,
                        verbose_name="por que o aparelho não o tem",
                    ),
                ),
                ("encerrado_em", models.DateTimeField(blank=True, null=True, verbose_name="encerrado em")),
                ("quadro_bytes", models.PositiveBigIntegerField(verbose_name="tamanho esperado (bytes)")),
                ("quadro_sha256", models.CharField(max_length=64, verbose_name="SHA-256 esperado")),
                (
                    "recebidos_bytes",
                    models.PositiveBigIntegerField(
                        default=0, help_text="O `offset` do protocolo.", verbose_name="recebidos (bytes)"
                    ),
                ),
                (
                    "divergencias",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="Na terceira o pedido se encerra.",
                        verbose_name="envios com SHA-256 divergente",
                    ),
                ),
                (
                    "arquivo",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Nome no depósito de quadros.",
                        max_length=200,
                        verbose_name="arquivo do quadro",
                    ),
                ),
                (
                    "aberto_por",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="aberto por",
                    ),
                ),
                (
                    "captura",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pedidos",
                        to="ingestao.captura",
                        verbose_name="captura",
                    ),
                ),
                (
                    "dispositivo",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "pedido de quadro",
                "verbose_name_plural": "pedidos de quadro",
                "ordering": ["-aberto_em", "-id"],
            },
        ),
        migrations.CreateModel(
            name="PedacoDeQuadro",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("inicio", models.PositiveBigIntegerField(verbose_name="início (bytes)")),
                ("conteudo", models.BinaryField(verbose_name="conteúdo")),
                (
                    "pedido",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.pedido",
                        verbose_name="pedido",
                    ),
                ),
            ],
            options={
                "verbose_name": "pedaço de quadro",
                "verbose_name_plural": "pedaços de quadro",
            },
        ),
        migrations.CreateModel(
            name="AtoDeCaptura",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "ato",
                    models.CharField(
                        choices=[
                            ("pedido_aberto", "Contestou e pediu o quadro"),
                            ("pedido_cancelado", "Cancelou o pedido"),
                            ("pedido_vencido", "O prazo do pedido venceu"),
                            ("quadro_indisponivel", "O aparelho disse que não tem o quadro"),
                            ("hash_divergente", "O quadro chegou com outro SHA-256"),
                            ("quadro_recebido", "O quadro chegou e o SHA-256 confere"),
                            ("quadro_visto", "Viu o quadro"),
                            ("captura_excluida", "Excluiu a captura"),
                            ("captura_restaurada", "Restaurou a captura"),
                        ],
                        max_length=30,
                        verbose_name="ato",
                    ),
                ),
                ("motivo", models.CharField(blank=True, default="", max_length=1000, verbose_name="motivo")),
                ("detalhes", models.JSONField(default=dict, verbose_name="detalhes")),
                ("feito_em", models.DateTimeField(verbose_name="feito em")),
                (
                    "autor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="autor",
                    ),
                ),
                (
                    "captura",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="atos",
                        to="ingestao.captura",
                        verbose_name="captura",
                    ),
                ),
                (
                    "pedido",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="atos",
                        to="ingestao.pedido",
                        verbose_name="pedido",
                    ),
                ),
            ],
            options={
                "verbose_name": "ato de captura",
                "verbose_name_plural": "trilha das capturas",
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="RecusaDeCaptura",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("dia", models.DateField(verbose_name="dia")),
                (
                    "motivo",
                    models.CharField(
                        help_text="O `codigo` que o aparelho recebeu.", max_length=60, verbose_name="motivo"
                    ),
                ),
                (
                    "quantidade",
                    models.PositiveBigIntegerField(db_default=0, default=0, verbose_name="quantidade"),
                ),
                (
                    "dispositivo",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "chamada de captura recusada",
                "verbose_name_plural": "chamadas de captura recusadas",
                "ordering": ["-dia", "motivo"],
            },
        ),
        migrations.CreateModel(
            name="RelatoDeDescarte",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "relato",
                    models.CharField(
                        help_text="O do aparelho, ou o que se deriva do lote.",
                        max_length=64,
                        verbose_name="id do relato",
                    ),
                ),
                ("descartados", models.JSONField(help_text="{motivo: quantos}.", verbose_name="descartados")),
                ("recebido_em", models.DateTimeField(verbose_name="recebido em")),
                (
                    "dispositivo",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "relato de descarte",
                "verbose_name_plural": "relatos de descarte",
                "ordering": ["-recebido_em", "-id"],
            },
        ),
        migrations.CreateModel(
            name="CapturaRecusada",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("id_evento", models.UUIDField(blank=True, null=True, verbose_name="id do evento")),
                (
                    "situacao",
                    models.CharField(
                        choices=[("conflito", "Conflito"), ("invalido", "Inválido")],
                        max_length=10,
                        verbose_name="situação",
                    ),
                ),
                ("codigo", models.CharField(max_length=40, verbose_name="código")),
                (
                    "detalhe",
                    models.CharField(help_text="O da última vez.", max_length=300, verbose_name="detalhe"),
                ),
                ("quantidade", models.PositiveBigIntegerField(default=1, verbose_name="quantas vezes")),
                ("primeira_em", models.DateTimeField(verbose_name="primeira vez em")),
                ("ultima_em", models.DateTimeField(verbose_name="última vez em")),
                (
                    "dispositivo",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        to="ingestao.dispositivo",
                        verbose_name="dispositivo",
                    ),
                ),
            ],
            options={
                "verbose_name": "captura recusada",
                "verbose_name_plural": "capturas recusadas",
                "ordering": ["-ultima_em", "-id"],
                "indexes": [
                    models.Index(fields=["ultima_em", "id"], name="captura_recusada_recente"),
                    models.Index(fields=["id_evento"], name="captura_recusada_do_evento"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dispositivo", "id_evento", "codigo"),
                        name="captura_recusada_unica",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="captura",
            index=models.Index(fields=["gravado_em", "id_evento"], name="captura_por_gravacao"),
        ),
        migrations.AddIndex(
            model_name="captura",
            index=models.Index(
                fields=["dispositivo", "gravado_em", "id_evento"], name="captura_do_dispositivo"
            ),
        ),
        migrations.AddIndex(
            model_name="medidadecaptura",
            index=models.Index(fields=["hora", "medida"], name="medida_por_hora"),
        ),
        migrations.AddConstraint(
            model_name="medidadecaptura",
            constraint=models.UniqueConstraint(
                fields=("dispositivo", "hora", "medida", "faixa"), name="medida_unica"
            ),
        ),
        migrations.AddIndex(
            model_name="pedido",
            index=models.Index(
                condition=models.Q(("situacao", "aberto")),
                fields=["dispositivo", "aberto_em"],
                name="pedido_em_aberto",
            ),
        ),
        migrations.AddIndex(
            model_name="pedido",
            index=models.Index(fields=["situacao", "-aberto_em"], name="pedido_por_situacao"),
        ),
        migrations.AddConstraint(
            model_name="pedido",
            constraint=models.UniqueConstraint(
                condition=models.Q(("situacao", "aberto")), fields=("captura",), name="pedido_aberto_unico"
            ),
        ),
        migrations.AddConstraint(
            model_name="pedacodequadro",
            constraint=models.UniqueConstraint(fields=("pedido", "inicio"), name="pedaco_unico_no_quadro"),
        ),
        migrations.AddConstraint(
            model_name="recusadecaptura",
            constraint=models.UniqueConstraint(
                fields=("dispositivo", "dia", "motivo"), name="recusa_de_captura_unica", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="relatodedescarte",
            index=models.Index(fields=["recebido_em", "id"], name="relato_por_chegada"),
        ),
        migrations.AddConstraint(
            model_name="relatodedescarte",
            constraint=models.UniqueConstraint(fields=("dispositivo", "relato"), name="relato_unico"),
        ),
        migrations.RunSQL(AFINAR, DESAFINAR),
    ]
