"""Quantas recepções chegaram, por minuto e por dia: contar a evidência custaria a tabela inteira."""

from django.db import models


class RecepcaoPorMinuto(models.Model):
    """Recepções aplicadas (`motivo` vazio) e chamadas recusadas (o motivo) num minuto. Vive dois dias."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey(
        "dlr.Integracao", on_delete=models.PROTECT, null=True, blank=True, db_index=False
    )
    minuto = models.DateTimeField("minuto")
    motivo = models.CharField("motivo", max_length=60, blank=True, default="", db_default="")
    quantidade = models.PositiveBigIntegerField("quantidade", default=0, db_default=0)

    class Meta:
        verbose_name = "recepções por minuto"
        verbose_name_plural = "recepções por minuto"
        ordering = ["-minuto", "motivo", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["minuto", "integracao", "motivo"],
                name="recepcao_unica_no_minuto",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.minuto:%d/%m/%Y %H:%M} {self.motivo}".strip()


class RecepcaoPorDia(models.Model):
    """Recepções aplicadas num dia (fuso `LASTRO_FUSO`), pelo dia em que a porta as recebeu. Não vence."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey("dlr.Integracao", on_delete=models.PROTECT, db_index=False)
    dia = models.DateField("dia")
    quantidade = models.PositiveBigIntegerField("quantidade", default=0, db_default=0)

    class Meta:
        verbose_name = "recepções por dia"
        verbose_name_plural = "recepções por dia"
        ordering = ["-dia", "integracao_id"]
        constraints = [models.UniqueConstraint(fields=["dia", "integracao"], name="recepcao_unica_no_dia")]

    def __str__(self) -> str:
        return f"{self.dia} {self.integracao_id}"
