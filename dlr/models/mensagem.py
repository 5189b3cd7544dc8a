"""O que foi enviado: a mensagem, os ids que ela ganhou lá fora, e provas independentes do recibo."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone


class Mensagem(models.Model):
    """Uma mensagem apresentada. Os endereços ficam como foram mandados; o destino também em E.164."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey("dlr.Integracao", on_delete=models.PROTECT, db_index=False)
    id_interno = models.CharField(
        "id interno", max_length=200, null=True, blank=True, help_text="De quem envia; imutável."
    )
    origem = models.CharField("origem", max_length=100, blank=True, default="")
    destino = models.CharField("destino", max_length=100, blank=True, default="")
    destino_e164 = models.CharField("destino (E.164)", max_length=20, null=True, blank=True)
    rota = models.CharField("rota", max_length=200, null=True, blank=True)
    registered_delivery = models.PositiveSmallIntegerField(
        "registered_delivery",
        null=True,
        blank=True,
        help_text="Como foi pedido o recibo (SMPP); nulo = não se sabe.",
    )
    apresentada_em = models.DateTimeField("apresentada em", null=True, blank=True)
    aceita = models.BooleanField(
        "aceita", null=True, help_text="Aceitação da apresentação; nada diz da entrega."
    )
    criada_em = models.DateTimeField("criada em", default=timezone.now)
    final_cobrado_em = models.DateTimeField("final cobrado em", null=True, blank=True)

    class Meta:
        verbose_name = "mensagem"
        verbose_name_plural = "mensagens"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["integracao", "id_interno"], name="mensagem_unica_por_id_interno")
        ]
        indexes = [
            models.Index(fields=["integracao", "criada_em"], name="mensagem_por_criacao"),
        ]

    def __str__(self) -> str:
        return self.id_interno or f"mensagem {self.pk}"


class IdentificadorExterno(models.Model):
    """O id que o SMSC deu à mensagem (ou a uma parte dela), exatamente como veio.

    `formas` são todas as escritas equivalentes sob alguma opção (`dlr.dominio.correlacao.formas`): servem
    para achar candidatas e quase acertos, nunca para decidir.
    """

    id = models.BigAutoField(primary_key=True)
    mensagem = models.ForeignKey(Mensagem, on_delete=models.CASCADE, related_name="identificadores")
    integracao = models.ForeignKey("dlr.Integracao", on_delete=models.PROTECT, db_index=False)
    valor = models.CharField("valor", max_length=200)
    parte = models.PositiveSmallIntegerField("parte", null=True, blank=True)
    formas = ArrayField(models.TextField(), verbose_name="formas", default=list)

    class Meta:
        verbose_name = "identificador externo"
        verbose_name_plural = "identificadores externos"
        constraints = [
            models.UniqueConstraint(
                fields=["mensagem", "valor", "parte"], name="identificador_unico", nulls_distinct=False
            )
        ]
        indexes = [
            models.Index(fields=["integracao", "valor"], name="identificador_por_valor"),
            GinIndex(fields=["formas"], name="identificador_por_forma"),
        ]

    def __str__(self) -> str:
        return self.valor


class Verificacao(models.Model):
    """Uma prova feita fora do recibo (o código foi digitado…). Nunca se mistura ao estado do DLR."""

    id = models.BigAutoField(primary_key=True)
    mensagem = models.ForeignKey(Mensagem, on_delete=models.CASCADE, related_name="verificacoes")
    origem = models.CharField("origem", max_length=120)
    ocorrida_em = models.DateTimeField("ocorrida em")
    detalhe = models.CharField("detalhe", max_length=500, blank=True, default="")
    registrada_em = models.DateTimeField("registrada em", default=timezone.now)

    class Meta:
        verbose_name = "verificação independente"
        verbose_name_plural = "verificações independentes"
        ordering = ["-ocorrida_em"]
        constraints = [
            models.UniqueConstraint(
                fields=["mensagem", "origem", "ocorrida_em", "detalhe"], name="verificacao_unica"
            )
        ]

    def __str__(self) -> str:
        return f"{self.origem} {self.ocorrida_em:%d/%m/%Y %H:%M}"
