"""O que chegou, exatamente: a evidência, que não muda, e a fila do que falta aplicar."""

from django.db import models

from ingestao.caixa import ItemDaCaixa


class Recepcao(models.Model):
    """Uma chamada autêntica da transportadora. Um gatilho do banco recusa UPDATE e DELETE."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey("dlr.Integracao", on_delete=models.PROTECT, db_index=False)
    recebida_em = models.DateTimeField("recebida em")
    metodo = models.CharField("método", max_length=8)
    url = models.CharField("URL", max_length=4000, help_text="Com o token mascarado.")
    consulta = models.BinaryField("consulta")
    cabecalhos = models.JSONField("cabeçalhos")
    corpo = models.BinaryField("corpo")

    class Meta:
        verbose_name = "recepção"
        verbose_name_plural = "recepções"
        ordering = ["-id"]
        indexes = [models.Index(fields=["integracao", "-id"], name="recepcao_da_integracao")]

    def __str__(self) -> str:
        return f"recepção {self.pk}"


class RecepcaoPendente(ItemDaCaixa):
    """O item da caixa de uma recepção: nasce no mesmo COMMIT que ela e some ao ser aplicado."""

    recepcao = models.ForeignKey(
        Recepcao, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, verbose_name="recepção"
    )

    class Meta(ItemDaCaixa.Meta):
        verbose_name = "recepção na caixa"
        verbose_name_plural = "recepções na caixa"

    def __str__(self) -> str:
        return f"pendente {self.pk}"


class RecusaDeCallback(models.Model):
    """Chamadas não autênticas ou impossíveis, por dia e motivo. Não são evidência: só se contam."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey(
        "dlr.Integracao", on_delete=models.PROTECT, null=True, blank=True, db_index=False
    )
    dia = models.DateField("dia")
    motivo = models.CharField("motivo", max_length=60)
    quantidade = models.PositiveBigIntegerField("quantidade", default=0, db_default=0)

    class Meta:
        verbose_name = "callback recusado"
        verbose_name_plural = "callbacks recusados"
        ordering = ["-dia", "motivo"]
        constraints = [
            models.UniqueConstraint(
                fields=["integracao", "dia", "motivo"], name="recusa_de_callback_unica", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.dia} {self.motivo}"
