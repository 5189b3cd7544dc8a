"""A contestação de uma captura: o quadro inteiro pedido ao aparelho, e a trilha de tudo o que houve."""

import uuid

from django.conf import settings
from django.db import models


class SituacaoDoPedido(models.TextChoices):
    """`aberto` é a única que muda; as outras são finais."""

    ABERTO = "aberto", "Aberto"
    ATENDIDO = "atendido", "Atendido"
    INDISPONIVEL = "indisponivel", "Indisponível no aparelho"
    VENCIDO = "vencido", "Vencido"
    HASH_DIVERGENTE = "hash_divergente", "SHA-256 divergente"
    CANCELADO = "cancelado", "Cancelado"


class MotivoIndisponivel(models.TextChoices):
    """Por que o aparelho não tem mais o quadro; os valores do protocolo."""

    EXPIRADO = "expirado", "Passou do prazo de guarda"
    NUNCA_GUARDADO = "nunca_guardado", "Nunca foi guardado"
    DESPEJADO_POR_ESPACO = "despejado_por_espaco", "Despejado por falta de espaço"
    ILEGIVEL = "ilegivel", "Guardado, mas ilegível"


class Pedido(models.Model):
    """Um pedido do quadro inteiro de uma captura. No máximo um aberto por captura."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    captura = models.ForeignKey(
        "ingestao.Captura", on_delete=models.PROTECT, related_name="pedidos", verbose_name="captura"
    )
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo", on_delete=models.PROTECT, db_index=False, verbose_name="dispositivo"
    )
    motivo = models.CharField("motivo", max_length=1000)
    aberto_por = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, verbose_name="aberto por"
    )
    aberto_em = models.DateTimeField("aberto em")
    vence_em = models.DateTimeField("vence em")
    situacao = models.CharField(
        "situação", max_length=20, choices=SituacaoDoPedido.choices, default=SituacaoDoPedido.ABERTO
    )
    motivo_indisponivel = models.CharField(
        "por que o aparelho não o tem",
        max_length=30,
        choices=MotivoIndisponivel.choices,
        blank=True,
        default="",
    )
    encerrado_em = models.DateTimeField("encerrado em", null=True, blank=True)
    quadro_bytes = models.PositiveBigIntegerField("tamanho esperado (bytes)")
    quadro_sha256 = models.CharField("SHA-256 esperado", max_length=64)
    recebidos_bytes = models.PositiveBigIntegerField(
        "recebidos (bytes)", default=0, help_text="O `offset` do protocolo."
    )
    divergencias = models.PositiveSmallIntegerField(
        "envios com SHA-256 divergente", default=0, help_text="Na terceira o pedido se encerra."
    )
    arquivo = models.CharField(
        "arquivo do quadro", max_length=200, blank=True, default="", help_text="Nome no depósito de quadros."
    )

    class Meta:
        verbose_name = "contestação"
        verbose_name_plural = "contestações"
        ordering = ["-aberto_em", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["captura"], name="pedido_aberto_unico", condition=models.Q(situacao="aberto")
            )
        ]
        indexes = [
            # A pergunta que cada ACK e cada espera fazem.
            models.Index(
                fields=["dispositivo", "aberto_em"],
                name="pedido_em_aberto",
                condition=models.Q(situacao="aberto"),
            ),
            models.Index(fields=["situacao", "-aberto_em"], name="pedido_por_situacao"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class PedacoDeQuadro(models.Model):
    """Um pedaço de quadro já confirmado ao aparelho. Some quando o quadro se completa ou o pedido se encerra.

    Fica no PostgreSQL, e não em disco, para que o COMMIT seja o ACK e qualquer nó possa receber o seguinte.
    """

    id = models.BigAutoField(primary_key=True)
    pedido = models.ForeignKey(Pedido, on_delete=models.PROTECT, db_index=False, verbose_name="pedido")
    inicio = models.PositiveBigIntegerField("início (bytes)")
    conteudo = models.BinaryField("conteúdo")

    class Meta:
        verbose_name = "pedaço de quadro"
        verbose_name_plural = "pedaços de quadro"
        constraints = [models.UniqueConstraint(fields=["pedido", "inicio"], name="pedaco_unico_no_quadro")]

    def __str__(self) -> str:
        return f"{self.pedido_id}+{self.inicio}"


class Ato(models.TextChoices):
    """O que se registra na trilha de uma captura."""

    PEDIDO_ABERTO = "pedido_aberto", "Contestou e pediu o quadro"
    PEDIDO_CANCELADO = "pedido_cancelado", "Cancelou o pedido"
    PEDIDO_VENCIDO = "pedido_vencido", "O prazo do pedido venceu"
    QUADRO_INDISPONIVEL = "quadro_indisponivel", "O aparelho disse que não tem o quadro"
    HASH_DIVERGENTE = "hash_divergente", "O quadro chegou com outro SHA-256"
    QUADRO_RECEBIDO = "quadro_recebido", "O quadro chegou e o SHA-256 confere"
    QUADRO_VISTO = "quadro_visto", "Viu o quadro"
    CAPTURA_EXCLUIDA = "captura_excluida", "Excluiu a captura"
    CAPTURA_RESTAURADA = "captura_restaurada", "Restaurou a captura"


class AtoDeCaptura(models.Model):
    """Uma linha da trilha: quem, quando, o quê, por quê. Um gatilho do banco recusa UPDATE e DELETE.

    `autor` nulo é o aparelho ou o próprio servidor; o ato diz qual.
    """

    id = models.BigAutoField(primary_key=True)
    captura = models.ForeignKey(
        "ingestao.Captura", on_delete=models.PROTECT, related_name="atos", verbose_name="captura"
    )
    pedido = models.ForeignKey(
        Pedido, on_delete=models.PROTECT, null=True, blank=True, related_name="atos", verbose_name="pedido"
    )
    ato = models.CharField("ato", max_length=30, choices=Ato.choices)
    autor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, verbose_name="autor"
    )
    motivo = models.CharField("motivo", max_length=1000, blank=True, default="")
    detalhes = models.JSONField("detalhes", default=dict)
    feito_em = models.DateTimeField("feito em")

    class Meta:
        verbose_name = "ato de captura"
        verbose_name_plural = "trilha das capturas"
        ordering = ["id"]

    def __str__(self) -> str:
        return self.get_ato_display()
