"""Uma detecção de um aparelho, com o recorte da imagem."""

from django.db import models


class HoraSuspeita(models.TextChoices):
    """Por que não se confia em `capturado_em` (docs/captura.md, "Relógio")."""

    NAO = "", "Confere"
    ANTERIOR_A_2020 = "anterior_a_2020", "Antes de 2020: o relógio não estava acertado"
    NO_FUTURO = "no_futuro", "No futuro"
    DIVERGE_DA_IDADE = "diverge_da_idade", "Diverge da idade medida pelo aparelho"


class Captura(models.Model):
    """A linha que o ACK confirma. `id_evento` é feito no aparelho, na captura: reenviar acerta a mesma linha.

    `conteudo_resumo` é o SHA-256 canônico do que identifica o conteúdo (docs/captura.md, "Identidade"): o
    mesmo id com outro resumo é conflito, e nada é sobrescrito. `recorte` é o JPEG como veio: listas devem
    usar `defer("recorte")`.
    """

    id_evento = models.UUIDField("id do evento", primary_key=True)
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo", on_delete=models.PROTECT, db_index=False, verbose_name="dispositivo"
    )
    capturado_em = models.DateTimeField("capturado em", help_text="Relógio do aparelho, como veio.")
    idade_ms = models.PositiveBigIntegerField(
        "idade no envio (ms)",
        null=True,
        blank=True,
        help_text="Relógio monotônico do aparelho; vazia se ele reiniciou entre a captura e o envio.",
    )
    hora_suspeita = models.CharField(
        "hora suspeita",
        max_length=20,
        choices=HoraSuspeita.choices,
        blank=True,
        default=HoraSuspeita.NAO,
        db_default="",
    )
    seq = models.BigIntegerField("sequência", help_text="Conta as capturas do aparelho.")
    payload = models.JSONField("payload")
    quadro_largura = models.PositiveIntegerField("largura do quadro (px)", null=True, blank=True)
    quadro_altura = models.PositiveIntegerField("altura do quadro (px)", null=True, blank=True)
    quadro_bytes = models.PositiveBigIntegerField("tamanho do quadro (bytes)", null=True, blank=True)
    quadro_sha256 = models.CharField("SHA-256 do quadro", max_length=64, null=True, blank=True)
    quadro_expira_em = models.DateTimeField("quadro guardado no aparelho até", null=True, blank=True)
    caixa_x = models.PositiveIntegerField("caixa: x (px)", null=True, blank=True)
    caixa_y = models.PositiveIntegerField("caixa: y (px)", null=True, blank=True)
    caixa_largura = models.PositiveIntegerField("caixa: largura (px)", null=True, blank=True)
    caixa_altura = models.PositiveIntegerField("caixa: altura (px)", null=True, blank=True)
    caixa_margem = models.PositiveIntegerField("caixa: margem pedida (px)", null=True, blank=True)
    sem_recorte = models.CharField(
        "por que não há recorte", max_length=60, blank=True, default="", db_default=""
    )
    recorte = models.BinaryField("recorte (JPEG)", null=True, blank=True)
    recorte_bytes = models.PositiveIntegerField("tamanho do recorte (bytes)", null=True, blank=True)
    recorte_largura = models.PositiveIntegerField("largura do recorte (px)", null=True, blank=True)
    recorte_altura = models.PositiveIntegerField("altura do recorte (px)", null=True, blank=True)
    recorte_sha256 = models.CharField("SHA-256 do recorte", max_length=64, null=True, blank=True)
    conteudo_resumo = models.CharField("resumo do conteúdo", max_length=64)
    gravado_em = models.DateTimeField("gravado em", help_text="Relógio do servidor; é o que o ACK devolve.")
    maior_tentativa = models.PositiveIntegerField("maior tentativa vista", default=1, db_default=1)
    reenvios_link = models.PositiveIntegerField(
        "reenvios por link",
        default=0,
        db_default=0,
        help_text="A tentativa cresceu: o ACK se perdeu no caminho.",
    )
    reenvios_fila = models.PositiveIntegerField(
        "reenvios por fila",
        default=0,
        db_default=0,
        help_text="Tentativa repetida, ou reenvio depois de o aparelho ter visto o ACK: defeito na fila dele.",
    )
    latencia_ms = models.PositiveBigIntegerField(
        "latência até o ACK (ms)",
        null=True,
        blank=True,
        help_text="Da captura ao ACK durável, medida no aparelho com relógio monotônico.",
    )
    deletado = models.BooleanField("excluída", default=False, db_default=False)

    class Meta:
        verbose_name = "captura"
        verbose_name_plural = "capturas"
        ordering = ["-gravado_em", "-id_evento"]
        indexes = [
            models.Index(fields=["gravado_em", "id_evento"], name="captura_por_gravacao"),
            models.Index(fields=["dispositivo", "gravado_em", "id_evento"], name="captura_do_dispositivo"),
        ]

    def __str__(self) -> str:
        return str(self.id_evento)


class SituacaoDaRecusa(models.TextChoices):
    """Por que um evento não virou captura; os mesmos nomes da resposta ao aparelho."""

    CONFLITO = "conflito", "Conflito"
    INVALIDO = "invalido", "Inválido"


class CapturaRecusada(models.Model):
    """Um evento que chegou e não foi gravado, com o motivo que o aparelho recebeu.

    Uma linha por (dispositivo, id, código), quantas vezes venha. `id_evento` é vazio quando não se pôde lê-lo;
    nesse caso a linha junta todos os ilegíveis daquele código. O conteúdo recusado não é guardado.
    """

    id = models.BigAutoField(primary_key=True)
    dispositivo = models.ForeignKey(
        "ingestao.Dispositivo", on_delete=models.PROTECT, db_index=False, verbose_name="dispositivo"
    )
    id_evento = models.UUIDField("id do evento", null=True, blank=True)
    situacao = models.CharField("situação", max_length=10, choices=SituacaoDaRecusa.choices)
    codigo = models.CharField("código", max_length=40)
    detalhe = models.CharField("detalhe", max_length=300, help_text="O da última vez.")
    quantidade = models.PositiveBigIntegerField("quantas vezes", default=1)
    primeira_em = models.DateTimeField("primeira vez em")
    ultima_em = models.DateTimeField("última vez em")

    class Meta:
        verbose_name = "captura recusada"
        verbose_name_plural = "capturas recusadas"
        ordering = ["-ultima_em", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["dispositivo", "id_evento", "codigo"],
                name="captura_recusada_unica",
                nulls_distinct=False,
            )
        ]
        indexes = [
            models.Index(fields=["ultima_em", "id"], name="captura_recusada_recente"),
            models.Index(fields=["id_evento"], name="captura_recusada_do_evento"),
        ]

    def __str__(self) -> str:
        return f"{self.situacao} {self.codigo}"
