"""Erros iguais juntos: o grupo que o suporte tria."""

from django.conf import settings
from django.db import models


class EstadoDoErro(models.TextChoices):
    """A triagem. Um `resolvido` que volta a chegar é reaberto (regressão); um `ignorado`, não."""

    ABERTO = "aberto", "Aberto"
    RESOLVIDO = "resolvido", "Resolvido"
    IGNORADO = "ignorado", "Ignorado"


class Erro(models.Model):
    """Um grupo de eventos de erro com a mesma impressão digital (docs/ingestao.md, "Agrupamento").

    `id` é UUIDv5 de `aplicativo_id:v<versao>:<impressao>`, calculado sem consultar o banco.
    """

    id = models.UUIDField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, verbose_name="aplicativo", db_index=False
    )
    impressao = models.CharField("impressão digital", max_length=64)
    versao = models.PositiveSmallIntegerField("versão do agrupamento")
    tipo = models.CharField("tipo", max_length=20)
    titulo = models.CharField("título", max_length=300)
    local = models.CharField("local", max_length=300, blank=True, default="", db_default="")
    quantidade = models.PositiveBigIntegerField("ocorrências", default=0, db_default=0)
    primeira_ocorrencia_em = models.DateTimeField("primeira ocorrência em")
    ultima_ocorrencia_em = models.DateTimeField("última ocorrência em")
    estado = models.CharField(
        "estado",
        max_length=10,
        choices=EstadoDoErro.choices,
        default=EstadoDoErro.ABERTO,
        db_default="aberto",
    )
    resolvido_em = models.DateTimeField("resolvido em", null=True, blank=True)
    resolvido_por = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        verbose_name="resolvido por",
    )
    atribuido_a = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="erros_atribuidos",
        db_index=False,
        verbose_name="atribuído a",
    )
    regressoes = models.PositiveIntegerField("regressões", default=0, db_default=0)
    regrediu_em = models.DateTimeField("regrediu em", null=True, blank=True)
    regressao_avisada_em = models.DateTimeField("regressão avisada em", null=True, blank=True)

    class Meta:
        verbose_name = "erro"
        verbose_name_plural = "erros"
        ordering = ["-ultima_ocorrencia_em", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["aplicativo", "versao", "impressao"], name="erro_unico_no_aplicativo"
            )
        ]
        indexes = [
            models.Index(fields=["ultima_ocorrencia_em", "id"], name="erro_por_ocorrencia"),
            models.Index(fields=["quantidade", "id"], name="erro_por_quantidade"),
            models.Index(
                fields=["regrediu_em"],
                name="erro_que_regrediu",
                condition=models.Q(regrediu_em__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.titulo


class AcaoDeErro(models.Model):
    """Um ato de triagem: quem, quando, o quê e, se a pessoa escreveu, por quê. Só se acrescenta.

    Sem restrição no banco: a retenção apaga o erro e a trilha dele no mesmo comando.
    """

    id = models.BigAutoField(primary_key=True)
    erro = models.ForeignKey(Erro, on_delete=models.CASCADE, db_constraint=False, related_name="acoes")
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, verbose_name="autor")
    acao = models.CharField("ação", max_length=10)
    nota = models.CharField("nota", max_length=1000, blank=True, default="")
    feita_em = models.DateTimeField("feita em")

    class Meta:
        verbose_name = "ação de erro"
        verbose_name_plural = "ações de erro"
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.acao
