"""As medidas das capturas: contagens por hora, somadas na transação que as causou."""

from django.db import models


class MedidaDeCaptura(models.Model):
    """Quantas vezes a medida caiu na faixa, naquela hora (UTC), naquele aparelho.

    `medida` é uma distribuição (`latencia_ms`, `bytes`, `razao_ppm`), com `faixa` logarítmica de erro ≤ 5 %, ou um
    contador (`gravadas`, `reenvios_link`, `invalidos:<codigo>`…), com `faixa` 0. As regras e os nomes estão em
    `ingestao/capturas/medidas.py`. A hora é a do servidor ao gravar.
    """

    id = models.BigAutoField(primary_key=True)
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo", on_delete=models.PROTECT, db_index=False, verbose_name="dispositivo"
    )
    hora = models.DateTimeField("hora")
    medida = models.CharField("medida", max_length=80)
    faixa = models.SmallIntegerField("faixa", default=0)
    quantidade = models.PositiveBigIntegerField("quantidade", default=0)

    class Meta:
        verbose_name = "medida de captura"
        verbose_name_plural = "medidas de captura"
        ordering = ["-hora", "medida", "faixa"]
        constraints = [
            models.UniqueConstraint(fields=["dispositivo", "hora", "medida", "faixa"], name="medida_unica")
        ]
        indexes = [models.Index(fields=["hora", "medida"], name="medida_por_hora")]

    def __str__(self) -> str:
        return f"{self.medida} {self.faixa}"


class RelatoDeDescarte(models.Model):
    """O que um aparelho disse ter descartado desde o contato anterior. Aplicado uma vez por `relato`."""

    id = models.BigAutoField(primary_key=True)
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo", on_delete=models.PROTECT, db_index=False, verbose_name="dispositivo"
    )
    relato = models.CharField(
        "id do relato", max_length=64, help_text="O do aparelho, ou o que se deriva do lote."
    )
    descartados = models.JSONField("descartados", help_text="{motivo: quantos}.")
    recebido_em = models.DateTimeField("recebido em")

    class Meta:
        verbose_name = "relato de descarte"
        verbose_name_plural = "relatos de descarte"
        ordering = ["-recebido_em", "-id"]
        constraints = [models.UniqueConstraint(fields=["dispositivo", "relato"], name="relato_unico")]
        indexes = [models.Index(fields=["recebido_em", "id"], name="relato_por_chegada")]

    def __str__(self) -> str:
        return self.relato


class RecusaDeCaptura(models.Model):
    """Chamadas inteiras recusadas (token, corpo, tamanho), por dia e motivo. Nada delas é guardado."""

    id = models.BigAutoField(primary_key=True)
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        verbose_name="dispositivo",
    )
    dia = models.DateField("dia")
    motivo = models.CharField("motivo", max_length=60, help_text="O `codigo` que o aparelho recebeu.")
    quantidade = models.PositiveBigIntegerField("quantidade", default=0, db_default=0)

    class Meta:
        verbose_name = "chamada de captura recusada"
        verbose_name_plural = "chamadas de captura recusadas"
        ordering = ["-dia", "motivo"]
        constraints = [
            models.UniqueConstraint(
                fields=["dispositivo", "dia", "motivo"],
                name="recusa_de_captura_unica",
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"{self.dia} {self.motivo}"
