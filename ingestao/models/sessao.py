"""Uma visita a um site, do primeiro ao último sinal."""

from django.db import models

PAIS_DESCONHECIDO = "DESCONHECIDO"


class Sessao(models.Model):
    """Quem, onde e o quanto. Os dados descritivos são os do primeiro lote e não mudam mais.

    Os tempos vêm dos eventos (presos à hora de recepção) e só se alargam, em qualquer ordem de
    chegada. `identificado_em` e `carregamento_em` guardam o instante do evento que escreveu
    `usuario_id` e `tempo_carregamento_ms`: vale o mais recente, não o último a chegar.
    """

    id = models.BigAutoField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, verbose_name="aplicativo", db_index=False
    )
    sessao_externa = models.CharField("sessão externa", max_length=200)
    anonimo_id = models.CharField("anônimo", max_length=200, null=True, blank=True)
    usuario_id = models.CharField("usuário", max_length=200, null=True, blank=True)
    identificado_em = models.DateTimeField("identificado em", null=True, blank=True)
    navegador = models.CharField("navegador", max_length=200, null=True, blank=True)
    sistema_operacional = models.CharField("sistema operacional", max_length=200, null=True, blank=True)
    dispositivo = models.CharField("dispositivo", max_length=200, null=True, blank=True)
    resolucao = models.CharField("resolução", max_length=200, null=True, blank=True)
    pagina_inicial = models.CharField("página inicial", max_length=2000, null=True, blank=True)
    pais = models.CharField("país", max_length=12, default=PAIS_DESCONHECIDO)
    tempo_carregamento_ms = models.FloatField("tempo de carregamento (ms)", null=True, blank=True)
    carregamento_em = models.DateTimeField("carregamento em", null=True, blank=True)
    quantidade_eventos = models.PositiveBigIntegerField("eventos", default=0, db_default=0)
    quantidade_erros = models.PositiveBigIntegerField("erros", default=0, db_default=0)
    primeira_atividade_em = models.DateTimeField("primeira atividade em")
    ultima_atividade_em = models.DateTimeField("última atividade em")
    criado_em = models.DateTimeField("criado em")

    class Meta:
        verbose_name = "sessão"
        verbose_name_plural = "sessões"
        ordering = ["-ultima_atividade_em", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["aplicativo", "sessao_externa"], name="sessao_unica_no_aplicativo"
            )
        ]
        indexes = [
            models.Index(fields=["ultima_atividade_em", "id"], name="sessao_por_atividade"),
            models.Index(fields=["aplicativo", "ultima_atividade_em", "id"], name="sessao_do_aplicativo"),
            models.Index(
                fields=["aplicativo", "usuario_id"],
                name="sessao_por_usuario",
                condition=models.Q(usuario_id__isnull=False),
            ),
            models.Index(
                fields=["aplicativo", "anonimo_id"],
                name="sessao_por_anonimo",
                condition=models.Q(anonimo_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.sessao_externa
