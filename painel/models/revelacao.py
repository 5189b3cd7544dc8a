"""Quem viu o que as telas mascaram: a trilha que só se acrescenta."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Revelacao(models.Model):
    """Uma vez em que alguém viu um dado mascarado. Um gatilho do banco recusa UPDATE e DELETE."""

    id = models.BigAutoField(primary_key=True)
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, verbose_name="quem viu")
    revelada_em = models.DateTimeField("quando", default=timezone.now)
    o_que = models.CharField("o que foi mostrado", max_length=120)
    modelo = models.CharField("tabela", max_length=100, help_text="`aplicativo.modelo` do registro.")
    registro_id = models.CharField("registro", max_length=64)
    motivo = models.CharField("motivo", max_length=500, blank=True, default="")

    class Meta:
        verbose_name = "revelação"
        verbose_name_plural = "revelações"
        ordering = ["-id"]
        default_permissions = ("view",)
        permissions = [("revelar", "Pode revelar telefones e segredos mascarados")]
        indexes = [models.Index(fields=["modelo", "registro_id"], name="revelacao_do_registro")]

    def __str__(self) -> str:
        return f"{self.o_que}: {self.modelo} {self.registro_id}"
