"""O que não se decidiu sozinho, e tudo o que se fez a respeito."""

from django.conf import settings
from django.db import models


class TipoDeExcecao(models.TextChoices):
    """O que houve; docs/dlr.md diz o que cada uma significa e o que fazer."""

    FORMATO_NAO_RECONHECIDO = "formato_nao_reconhecido", "Formato não reconhecido"
    RECIBO_PARCIAL = "recibo_parcial", "Recibo parcial"
    ESTADO_NAO_MAPEADO = "estado_nao_mapeado", "Estado não mapeado"
    SEM_CORRELACAO = "sem_correlacao", "Sem correlação"
    CORRELACAO_AMBIGUA = "correlacao_ambigua", "Correlação ambígua"
    CONFLITO_FINAL = "conflito_final", "Finais em conflito"
    PARTES_DIVERGENTES = "partes_divergentes", "Partes divergentes"
    ID_DE_EVENTO_REUTILIZADO = "id_de_evento_reutilizado", "Id de evento reutilizado"
    MENSAGEM_NAO_ACEITA = "mensagem_nao_aceita", "Recibo de mensagem não aceita"
    FINAL_AUSENTE = "final_ausente", "Final ausente"


class SituacaoDaExcecao(models.TextChoices):
    ABERTA = "aberta", "Aberta"
    RESOLVIDA = "resolvida", "Resolvida"
    DESCARTADA = "descartada", "Descartada"


class Excecao(models.Model):
    """Uma pendência de reconciliação. `alvo` identifica o assunto: há no máximo uma por tipo e alvo."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey("dlr.Integracao", on_delete=models.PROTECT, db_index=False)
    tipo = models.CharField("tipo", max_length=30, choices=TipoDeExcecao.choices)
    alvo = models.CharField("alvo", max_length=80)
    situacao = models.CharField(
        "situação", max_length=10, choices=SituacaoDaExcecao.choices, default=SituacaoDaExcecao.ABERTA
    )
    mensagem = models.ForeignKey("dlr.Mensagem", on_delete=models.PROTECT, null=True, blank=True)
    evento = models.ForeignKey("dlr.EventoLogico", on_delete=models.PROTECT, null=True, blank=True)
    recepcao = models.ForeignKey(
        "dlr.Recepcao", on_delete=models.PROTECT, null=True, blank=True, db_index=False
    )
    detalhe = models.CharField("detalhe", max_length=1000, blank=True, default="")
    dicas = models.JSONField("dicas", default=list)
    aberta_em = models.DateTimeField("aberta em")
    encerrada_em = models.DateTimeField("encerrada em", null=True, blank=True)
    encerramento = models.CharField("como se encerrou", max_length=1000, blank=True, default="")
    atribuida_a = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True
    )

    class Meta:
        verbose_name = "exceção"
        verbose_name_plural = "exceções"
        ordering = ["-aberta_em", "-id"]
        constraints = [models.UniqueConstraint(fields=["tipo", "alvo"], name="excecao_unica_por_alvo")]
        indexes = [
            models.Index(fields=["situacao", "-aberta_em"], name="excecao_por_situacao"),
            # Contar as abertas por tipo e idade sem ler as linhas.
            models.Index(
                fields=["tipo", "aberta_em"],
                name="excecao_aberta_por_tipo",
                condition=models.Q(situacao=SituacaoDaExcecao.ABERTA),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_tipo_display()} #{self.pk}"


class AcaoDeExcecao(models.Model):
    """Um ato sobre uma exceção: quem (nulo = o próprio servidor), quando, o quê e por quê. Só se acrescenta."""

    id = models.BigAutoField(primary_key=True)
    excecao = models.ForeignKey(Excecao, on_delete=models.PROTECT, related_name="acoes")
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    acao = models.CharField("ação", max_length=30)
    motivo = models.CharField("motivo", max_length=1000)
    detalhes = models.JSONField("detalhes", default=dict)
    feita_em = models.DateTimeField("feita em")

    class Meta:
        verbose_name = "ação de exceção"
        verbose_name_plural = "ações de exceção"
        ordering = ["id"]

    def __str__(self) -> str:
        return self.acao
