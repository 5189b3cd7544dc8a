"""Um site que manda eventos: a chave pública, os domínios de onde ela vale e a franquia."""

import re
import secrets
import uuid
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator, validate_email
from django.db import models
from django.utils import timezone

from ingestao.eventos.origem import PadraoInvalido, conferir_padrao

PREFIXO_DA_CHAVE = "pk_live_"
CARENCIA_DA_CHAVE_ANTERIOR = timedelta(days=7)  # tempo para o site trocar o script sem perder eventos


def gerar_chave() -> str:
    """Uma chave nova: pública, mas impossível de adivinhar (192 bits)."""
    return PREFIXO_DA_CHAVE + secrets.token_hex(24)


def conferir_dominio(padrao: str) -> None:
    """Validador de campo: levanta `ValidationError` com o que há de errado no padrão."""
    try:
        conferir_padrao(padrao)
    except PadraoInvalido as erro:
        raise ValidationError(str(erro), code="dominio_invalido") from erro


def conferir_emails(texto: str) -> None:
    """Validador de campo: uma lista de e-mails separados por vírgula."""
    for email in filter(None, (parte.strip() for parte in texto.split(","))):
        validate_email(email)


class PoliticaDeFranquia(models.TextChoices):
    """O que fazer quando a franquia do mês acaba."""

    PARAR_INGESTAO = "PARAR_INGESTAO", "Parar a ingestão (402)"
    SO_AVISAR = "SO_AVISAR", "Só avisar"


class Aplicativo(models.Model):
    """Um site cliente. Nunca é apagado de verdade: `deletado` tira a chave de uso e guarda a história."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    nome = models.CharField("nome", max_length=120)
    dominios = ArrayField(
        models.CharField(max_length=255, validators=[conferir_dominio]),
        verbose_name="domínios",
        help_text="De onde a chave vale: exemplo.com.br, exemplo.com.br:8443 ou *.exemplo.com.br (subdomínios).",
    )
    chave = models.CharField(
        "chave",
        max_length=120,
        unique=True,
        default=gerar_chave,
        validators=[
            RegexValidator(
                re.compile(r"^pk_[A-Za-z0-9_-]{4,117}\Z"),
                "A chave começa com pk_ e usa letras, números, - e _.",
            )
        ],
        help_text="Pública: roda na página do cliente. Quem autoriza é a conferência da origem.",
    )
    chave_anterior = models.CharField("chave anterior", max_length=120, blank=True, default="", db_index=True)
    chave_anterior_ate = models.DateTimeField("chave anterior vale até", null=True, blank=True)
    franquia = models.PositiveBigIntegerField(
        "franquia mensal",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Eventos gravados por mês civil; vazio = sem limite.",
    )
    politica = models.CharField(
        "política da franquia",
        max_length=20,
        choices=PoliticaDeFranquia.choices,
        default=PoliticaDeFranquia.SO_AVISAR,
    )
    emails_de_aviso = models.CharField(
        "e-mails de aviso",
        max_length=500,
        blank=True,
        default="",
        validators=[conferir_emails],
        help_text="Recebem os avisos de franquia e de regressão, separados por vírgula; vazio = só no painel.",
    )
    primeiro_evento_em = models.DateTimeField("primeiro evento em", null=True, blank=True, editable=False)
    criado_em = models.DateTimeField("criado em", default=timezone.now, editable=False)
    deletado = models.BooleanField("excluído", default=False)

    class Meta:
        verbose_name = "aplicativo"
        verbose_name_plural = "aplicativos"
        ordering = ["nome"]

    def __str__(self) -> str:
        return self.nome

    def clean(self) -> None:
        """Guarda os domínios na forma em que a origem é comparada (minúsculas, IDNA)."""
        super().clean()
        try:
            self.dominios = [conferir_padrao(padrao) for padrao in self.dominios or []]
        except PadraoInvalido as erro:
            raise ValidationError({"dominios": str(erro)}) from erro

    def trocar_chave(self) -> None:
        """Gera outra chave; a atual ainda vale por `CARENCIA_DA_CHAVE_ANTERIOR`. Não grava."""
        self.chave_anterior = self.chave
        self.chave_anterior_ate = timezone.now() + CARENCIA_DA_CHAVE_ANTERIOR
        self.chave = gerar_chave()

    def destinatarios(self) -> list[str]:
        """E-mails que recebem avisos deste aplicativo."""
        return [parte.strip() for parte in self.emails_de_aviso.split(",") if parte.strip()]
