"""Um aparelho de campo que manda capturas: o token, e o que o último pulso contou dele."""

import uuid
from datetime import datetime, timedelta

from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

SILENCIOSO_APOS_S = 900  # quinze minutos: três pulsos de cinco minutos perdidos


class Dispositivo(models.Model):
    """Um aparelho. O token só existe em resumo (SHA-256) e aparece uma vez, ao ser criado ou trocado.

    `deletado` guarda a história e recusa o token, como `revogado_em`; a diferença é que um revogado continua
    nas listas, à espera de um token novo. Os campos do pulso são os do último que chegou.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    nome = models.CharField("nome", max_length=120)
    token_resumo = models.CharField("resumo do token", max_length=64, unique=True, editable=False)
    token_anterior_resumo = models.CharField(
        "resumo do token anterior", max_length=64, blank=True, default="", db_index=True, editable=False
    )
    token_anterior_ate = models.DateTimeField(
        "token anterior vale até", null=True, blank=True, editable=False
    )
    revogado_em = models.DateTimeField("revogado em", null=True, blank=True, editable=False)
    silencioso_apos_s = models.PositiveIntegerField(
        "silencioso após (s)",
        default=SILENCIOSO_APOS_S,
        validators=[MinValueValidator(1)],
        help_text="Sem contato por este tempo, o aparelho aparece como silencioso.",
    )
    criado_em = models.DateTimeField("criado em", default=timezone.now, editable=False)
    ultimo_contato_em = models.DateTimeField(
        "último contato em",
        null=True,
        blank=True,
        editable=False,
        help_text="Qualquer chamada autêntica; atualizado no máximo a cada dez segundos.",
    )
    ultimo_pulso_em = models.DateTimeField("último pulso em", null=True, blank=True, editable=False)
    versao = models.CharField("versão do cliente", max_length=60, blank=True, default="", editable=False)
    boot_id = models.CharField("id da partida", max_length=64, blank=True, default="", editable=False)
    fila_qtd = models.PositiveBigIntegerField("eventos na fila", null=True, blank=True, editable=False)
    fila_mais_antigo_s = models.FloatField("mais antigo da fila (s)", null=True, blank=True, editable=False)
    disco_livre_bytes = models.PositiveBigIntegerField(
        "disco livre (bytes)", null=True, blank=True, editable=False
    )
    quarentena = models.PositiveBigIntegerField("em quarentena", null=True, blank=True, editable=False)
    quadros_qtd = models.PositiveBigIntegerField("quadros guardados", null=True, blank=True, editable=False)
    quadros_bytes = models.PositiveBigIntegerField(
        "quadros guardados (bytes)", null=True, blank=True, editable=False
    )
    relogio_suspeito = models.BooleanField("relógio suspeito", default=False, editable=False)
    deletado = models.BooleanField("excluído", default=False)

    class Meta:
        verbose_name = "dispositivo"
        verbose_name_plural = "dispositivos"
        ordering = ["nome"]

    def __str__(self) -> str:
        return self.nome

    @property
    def ativo(self) -> bool:
        """O token vale."""
        return self.revogado_em is None and not self.deletado

    def silencioso(self, agora: datetime) -> bool:
        """Ativo e sem contato há mais que `silencioso_apos_s` (desde que foi criado, se nunca falou)."""
        ultimo = self.ultimo_contato_em or self.criado_em
        return self.ativo and agora - ultimo > timedelta(seconds=self.silencioso_apos_s)
