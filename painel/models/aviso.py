"""Avisos: uma condição que merece atenção enquanto dura, e o que as pessoas fizeram a respeito."""

import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone


class TipoDeAviso(models.TextChoices):
    """O que se vigia; docs/avisos.md diz quando cada um abre e fecha."""

    FRANQUIA = "franquia", "Franquia"
    REGRESSAO = "regressao", "Erros que regrediram"
    EXCECOES = "excecoes", "Exceções de recibos"
    FILA = "fila", "Fila atrasada"
    ESTACIONADOS = "estacionados", "Itens estacionados"
    SILENCIO = "silencio", "Dispositivos em silêncio"
    DESCARTES = "descartes", "Descartes de capturas"


class Aviso(models.Model):
    """Uma condição observada. Enquanto dura é uma linha só, aberta: o índice parcial garante.

    `itens` são os casos que a compõem agora, `[{"chave", "texto"}]`; um item novo é novidade.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tipo = models.CharField("tipo", max_length=20, choices=TipoDeAviso.choices)
    alvo = models.CharField("alvo", max_length=120, help_text="De que a condição fala, dentro do tipo.")
    titulo = models.CharField("título", max_length=300)
    valor = models.FloatField("valor medido", null=True, blank=True)
    itens = models.JSONField("itens", default=list)
    qtd_itens = models.PositiveIntegerField("quantos itens", default=0)
    critico = models.BooleanField("crítico", default=False, help_text="Pode furar as horas de silêncio.")
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, null=True, blank=True, db_index=False
    )
    aberto_em = models.DateTimeField("aberto em")
    visto_em = models.DateTimeField("observado pela última vez em")
    novidade_em = models.DateTimeField("última novidade em")
    resolvido_em = models.DateTimeField("resolvido em", null=True, blank=True)
    silenciado_ate = models.DateTimeField("silenciado até", null=True, blank=True)
    reconhecido_em = models.DateTimeField("reconhecido em", null=True, blank=True)
    reconhecido_por = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        verbose_name="reconhecido por",
    )

    class Meta:
        verbose_name = "aviso"
        verbose_name_plural = "avisos"
        ordering = ["-aberto_em", "-id"]
        default_permissions = ("view", "change")
        constraints = [
            models.UniqueConstraint(
                fields=["tipo", "alvo"], name="aviso_aberto_unico", condition=Q(resolvido_em__isnull=True)
            )
        ]
        indexes = [models.Index(fields=["-aberto_em", "-id"], name="aviso_por_abertura")]

    def __str__(self) -> str:
        return self.titulo


class AtoDeAviso(models.Model):
    """O que uma pessoa fez diante de um aviso. Só se acrescenta; ver conta uma vez por pessoa."""

    class Ato(models.TextChoices):
        VIU = "viu", "Viu"
        RECONHECEU = "reconheceu", "Reconheceu"
        SILENCIOU = "silenciou", "Silenciou"
        VOLTOU = "voltou", "Voltou a avisar"

    id = models.BigAutoField(primary_key=True)
    aviso = models.ForeignKey(Aviso, on_delete=models.CASCADE, related_name="atos")
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, verbose_name="quem")
    ato = models.CharField("ato", max_length=12, choices=Ato.choices)
    ate = models.DateTimeField("até", null=True, blank=True)
    feito_em = models.DateTimeField("feito em", default=timezone.now)

    class Meta:
        verbose_name = "ato sobre aviso"
        verbose_name_plural = "atos sobre avisos"
        ordering = ["id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["aviso", "autor"], name="aviso_visto_uma_vez", condition=Q(ato="viu")
            )
        ]

    def __str__(self) -> str:
        return f"{self.autor} {self.get_ato_display().lower()}"


class LimiarDeAviso(models.Model):
    """A partir de quanto um tipo avisa, no lugar do padrão. Em exceções, o mais específico vence."""

    COM_LIMIAR = (TipoDeAviso.EXCECOES, TipoDeAviso.FILA, TipoDeAviso.ESTACIONADOS, TipoDeAviso.DESCARTES)

    id = models.BigAutoField(primary_key=True)
    tipo = models.CharField("tipo", max_length=20, choices=[(t.value, t.label) for t in COM_LIMIAR])
    integracao = models.ForeignKey(
        "dlr.Integracao",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        verbose_name="integração",
        help_text="Só para exceções; vazio = todas.",
    )
    excecao = models.CharField(
        "tipo de exceção", max_length=30, blank=True, default="", help_text="Só para exceções; vazio = todos."
    )
    valor = models.PositiveIntegerField(
        "avisa a partir de", help_text="Fila em segundos; os outros em quantidade. Zero desliga o aviso."
    )

    class Meta:
        verbose_name = "limiar de aviso"
        verbose_name_plural = "limiares de aviso"
        ordering = ["tipo", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["tipo", "integracao", "excecao"], name="limiar_unico", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_tipo_display()}: {self.valor}"

    def clean(self) -> None:
        """Integração e tipo de exceção só fazem sentido em exceções."""
        super().clean()
        if self.tipo != TipoDeAviso.EXCECOES and (self.integracao_id or self.excecao):
            raise ValidationError("Integração e tipo de exceção só valem para o aviso de exceções.")
