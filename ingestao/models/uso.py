"""O que entrou e o que foi recusado, por dia. Não passa por retenção."""

from django.db import models


class Uso(models.Model):
    """O uso de um aplicativo num dia (fuso `LASTRO_FUSO`), pelo dia em que a porta recebeu.

    `quantidade_eventos` conta linhas gravadas: reenvio não conta, PULSO não conta.
    `quantidade_recusados` conta eventos recusados, a cada recusa.
    """

    id = models.BigAutoField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, verbose_name="aplicativo", db_index=False
    )
    dia = models.DateField("dia")
    quantidade_eventos = models.PositiveBigIntegerField("eventos", default=0, db_default=0)
    quantidade_recusados = models.PositiveBigIntegerField("recusados", default=0, db_default=0)

    class Meta:
        verbose_name = "dia de uso"
        verbose_name_plural = "dias de uso"
        ordering = ["-dia", "aplicativo_id"]
        constraints = [models.UniqueConstraint(fields=["aplicativo", "dia"], name="uso_unico_no_dia")]
        indexes = [models.Index(fields=["-dia", "aplicativo"], name="uso_por_dia")]

    def __str__(self) -> str:
        return f"{self.aplicativo_id} {self.dia}"


class Recusa(models.Model):
    """O que foi recusado num dia, por motivo. `aplicativo` é nulo quando não se soube de quem era.

    Uma requisição recusada inteira soma 1 em `quantidade_requisicoes` e, se chegou a ser lida, os seus
    eventos em `quantidade_eventos`; um evento recusado num lote aceito soma só eventos.
    """

    id = models.BigAutoField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        verbose_name="aplicativo",
        db_index=False,
    )
    dia = models.DateField("dia")
    motivo = models.CharField("motivo", max_length=60, help_text="O `codigo` que o remetente recebeu.")
    quantidade_requisicoes = models.PositiveBigIntegerField("requisições", default=0, db_default=0)
    quantidade_eventos = models.PositiveBigIntegerField("eventos", default=0, db_default=0)

    class Meta:
        verbose_name = "recusa"
        verbose_name_plural = "recusas"
        ordering = ["-dia", "motivo"]
        constraints = [
            models.UniqueConstraint(
                fields=["aplicativo", "dia", "motivo"], name="recusa_unica_no_dia", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["-dia", "motivo"], name="recusa_por_dia")]

    def __str__(self) -> str:
        return f"{self.dia} {self.motivo}"
