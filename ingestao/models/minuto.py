"""O que entrou e o que foi recusado, por minuto: o traço fino do uso, para as telas. Vive dois dias."""

from django.db import models


class UsoPorMinuto(models.Model):
    """O que um aplicativo mandou num minuto, pelo relógio da porta. Soma na mesma transação que `Uso` e `Recusa`.

    `motivo` vazio são eventos gravados (reenvio e PULSO não contam); senão, o `codigo` da recusa, com
    `quantidade_requisicoes` e `quantidade_eventos` como em `Recusa`. `aplicativo` nulo: não se soube de quem era.
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
    minuto = models.DateTimeField("minuto")
    motivo = models.CharField("motivo", max_length=60, blank=True, default="", db_default="")
    quantidade_requisicoes = models.PositiveBigIntegerField("requisições", default=0, db_default=0)
    quantidade_eventos = models.PositiveBigIntegerField("eventos", default=0, db_default=0)

    class Meta:
        verbose_name = "uso por minuto"
        verbose_name_plural = "uso por minuto"
        ordering = ["-minuto", "motivo", "id"]
        constraints = [
            # O minuto vem antes: o mesmo índice serve à soma, à leitura da última hora e ao expurgo.
            models.UniqueConstraint(
                fields=["minuto", "aplicativo", "motivo"], name="uso_unico_no_minuto", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.minuto:%d/%m/%Y %H:%M} {self.motivo}".strip()
