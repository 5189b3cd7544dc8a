"""Avisos de franquia: gravados na transação do uso, enviados depois por `painel/avisos/`."""

from django.db import models


class AvisoFranquia(models.Model):
    """O uso do mês cruzou `percentual` da franquia. Uma linha por período e percentual, para sempre.

    `enviado_em` fica nulo até o primeiro e-mail sair; sem destinatário o aviso vive só no painel.
    """

    id = models.BigAutoField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, verbose_name="aplicativo", db_index=False
    )
    periodo = models.DateField("período", help_text="Primeiro dia do mês.")
    percentual = models.PositiveSmallIntegerField("percentual")
    quantidade = models.PositiveBigIntegerField("uso no momento do aviso")
    franquia = models.PositiveBigIntegerField("franquia no momento do aviso")
    criado_em = models.DateTimeField("criado em")
    enviado_em = models.DateTimeField("enviado em", null=True, blank=True)

    class Meta:
        verbose_name = "aviso de franquia"
        verbose_name_plural = "avisos de franquia"
        ordering = ["-criado_em", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["aplicativo", "periodo", "percentual"], name="aviso_unico_no_periodo"
            )
        ]
        indexes = [
            models.Index(fields=["id"], name="aviso_por_enviar", condition=models.Q(enviado_em__isnull=True))
        ]

    def __str__(self) -> str:
        return f"{self.percentual}% em {self.periodo:%m/%Y}"
