"""Uma coisa que aconteceu numa sessão."""

from django.db import models


class TipoDeEvento(models.TextChoices):
    """Os tipos do contrato; fora deles o evento é recusado (`tipo_invalido`)."""

    ERRO_JS = "ERRO_JS", "Erro de JavaScript"
    PROMISE_REJEITADA = "PROMISE_REJEITADA", "Promise rejeitada"
    CONSOLE = "CONSOLE", "Console"
    REQUISICAO = "REQUISICAO", "Requisição"
    CLIQUE = "CLIQUE", "Clique"
    PAGINA = "PAGINA", "Página"
    DESEMPENHO = "DESEMPENHO", "Desempenho"
    IDENTIFICACAO = "IDENTIFICACAO", "Identificação"
    PULSO = "PULSO", "Pulso"
    PERSONALIZADO = "PERSONALIZADO", "Personalizado"


class Evento(models.Model):
    """Um evento gravado. `id` é UUIDv5 de `aplicativo_id:evento_id`: reenviar acerta a mesma linha.

    As chaves estrangeiras não têm restrição no banco: o worker grava o evento na mesma transação em
    que segurou a sessão e travou o erro, e a conferência linha a linha custaria tanto quanto a gravação
    (docs/decisoes/0004). A cascata de `sessao` é feita pela retenção.
    """

    id = models.UUIDField(primary_key=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        verbose_name="aplicativo",
    )
    sessao = models.ForeignKey(
        "ingestao.Sessao",
        on_delete=models.CASCADE,
        db_constraint=False,
        db_index=False,
        verbose_name="sessão",
    )
    erro = models.ForeignKey(
        "ingestao.Erro",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        verbose_name="erro",
    )
    evento_id = models.CharField("id do evento", max_length=200, help_text="Como o site mandou.")
    tipo = models.CharField("tipo", max_length=20, choices=TipoDeEvento.choices)
    nome = models.CharField("nome", max_length=120, null=True, blank=True)
    mensagem = models.CharField("mensagem", max_length=2000, null=True, blank=True)
    pilha = models.CharField("pilha", max_length=8000, null=True, blank=True)
    arquivo = models.CharField("arquivo", max_length=2000, null=True, blank=True)
    linha = models.IntegerField("linha", null=True, blank=True)
    coluna = models.IntegerField("coluna", null=True, blank=True)
    url = models.CharField("URL", max_length=2000, null=True, blank=True)
    metodo = models.CharField("método", max_length=120, null=True, blank=True)
    status = models.IntegerField("status", null=True, blank=True)
    duracao_ms = models.FloatField("duração (ms)", null=True, blank=True)
    nivel = models.CharField("nível", max_length=120, null=True, blank=True)
    seletor = models.CharField("seletor", max_length=500, null=True, blank=True)
    texto = models.CharField("texto", max_length=200, null=True, blank=True)
    metrica = models.CharField("métrica", max_length=120, null=True, blank=True)
    valor = models.FloatField("valor", null=True, blank=True)
    usuario_id = models.CharField("usuário", max_length=200, null=True, blank=True)
    payload = models.JSONField("payload", null=True, blank=True)
    campos_descartados = models.CharField(
        "campos descartados",
        max_length=300,
        null=True,
        blank=True,
        help_text="Campos opcionais que vieram com tipo impossível e não puderam ser guardados.",
    )
    ocorrido_em = models.DateTimeField(
        "ocorrido em", help_text="Relógio do remetente, preso à janela aceitável."
    )
    ocorrido_em_original = models.CharField(
        "ocorrido em (original)",
        max_length=64,
        null=True,
        blank=True,
        help_text="O que o remetente mandou, quando não pôde ser usado como veio.",
    )
    criado_em = models.DateTimeField(
        "criado em", help_text="Relógio do servidor: quando o lote chegou à porta."
    )

    class Meta:
        verbose_name = "evento"
        verbose_name_plural = "eventos"
        ordering = ["-criado_em", "-id"]
        indexes = [
            models.Index(fields=["sessao", "ocorrido_em"], name="evento_da_sessao"),
            models.Index(fields=["criado_em", "id"], name="evento_por_chegada"),
            models.Index(fields=["aplicativo", "criado_em"], name="evento_do_aplicativo"),
            models.Index(
                fields=["erro", "criado_em"], name="evento_do_erro", condition=models.Q(erro__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tipo} {self.evento_id}"
