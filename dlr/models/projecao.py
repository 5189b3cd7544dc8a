"""O estado calculado de cada mensagem, e as escolhas de pessoas que entram na conta."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from dlr.models.integracao import ESTADOS


class Projecao(models.Model):
    """O resultado operacional com a evidência disponível. Recalculado inteiro a cada evento."""

    mensagem = models.OneToOneField(
        "dlr.Mensagem", on_delete=models.CASCADE, primary_key=True, related_name="projecao"
    )
    estado = models.CharField("estado", max_length=14, choices=ESTADOS, null=True)
    final = models.BooleanField("final")
    motivo = models.CharField("motivo", max_length=30)
    sustentam = ArrayField(models.BigIntegerField(), verbose_name="eventos que sustentam", default=list)
    conflito = models.BooleanField("conflito", default=False)
    divergente = models.BooleanField("partes divergentes", default=False)
    versao_das_regras = models.PositiveIntegerField("versão das regras")
    atualizada_em = models.DateTimeField("atualizada em")

    class Meta:
        verbose_name = "projeção"
        verbose_name_plural = "projeções"

    def __str__(self) -> str:
        return self.estado or "sem recibo"


class DecisaoDeFinal(models.Model):
    """Uma pessoa escolheu entre finais incompatíveis. A última de cada parte vale; as outras ficam."""

    id = models.BigAutoField(primary_key=True)
    mensagem = models.ForeignKey("dlr.Mensagem", on_delete=models.CASCADE, related_name="decisoes")
    parte = models.PositiveSmallIntegerField("parte", null=True, blank=True)
    estado = models.CharField("estado", max_length=14, choices=ESTADOS)
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT)
    motivo = models.CharField("motivo", max_length=1000)
    decidida_em = models.DateTimeField("decidida em")

    class Meta:
        verbose_name = "decisão de final"
        verbose_name_plural = "decisões de final"
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.estado} em {self.decidida_em:%d/%m/%Y}"


class MudancaDeProjecao(models.Model):
    """Uma projeção que mudou por reprojeção (leitor ou regra nova), e como era antes. Só se acrescenta."""

    id = models.BigAutoField(primary_key=True)
    mensagem = models.ForeignKey("dlr.Mensagem", on_delete=models.CASCADE, related_name="mudancas")
    de_estado = models.CharField("estado antes", max_length=14, null=True)
    de_final = models.BooleanField("final antes")
    de_motivo = models.CharField("motivo antes", max_length=30)
    de_regras = models.PositiveIntegerField("regras antes")
    para_estado = models.CharField("estado depois", max_length=14, null=True)
    para_final = models.BooleanField("final depois")
    para_motivo = models.CharField("motivo depois", max_length=30)
    para_regras = models.PositiveIntegerField("regras depois")
    mudou_em = models.DateTimeField("mudou em")

    class Meta:
        verbose_name = "mudança de projeção"
        verbose_name_plural = "mudanças de projeção"
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.de_estado} → {self.para_estado}"
