"""Para onde os avisos vão, o que falta mandar, e cada tentativa."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from config.cofre import cifrar
from dlr.models.integracao import conferir_fuso
from ingestao.models.aplicativo import conferir_emails
from painel.avisos.assinatura import gerar_segredo
from painel.avisos.endereco import EnderecoRecusado, ler_url
from painel.models.aviso import Aviso, TipoDeAviso

REPETIR_APOS_H = 6  # quatro lembretes por dia: nem esquecido, nem ignorado por excesso


def listar_tipos() -> list[str]:
    """Todos os tipos: o padrão de um destino novo."""
    return list(TipoDeAviso.values)


def fuso_do_servidor() -> str:
    """O fuso `LASTRO_FUSO`."""
    return settings.TIME_ZONE


class Canal(models.TextChoices):
    EMAIL = "email", "E-mail"
    WEBHOOK = "webhook", "Webhook"


class DestinoDeAviso(models.Model):
    """Quem recebe avisos, de que tipos e a que horas. O segredo do webhook só existe cifrado."""

    id = models.BigAutoField(primary_key=True)
    nome = models.CharField("nome", max_length=120)
    canal = models.CharField("canal", max_length=10, choices=Canal.choices, default=Canal.EMAIL)
    emails = models.CharField(
        "e-mails",
        max_length=500,
        blank=True,
        default="",
        validators=[conferir_emails],
        help_text="Separados por vírgula.",
    )
    url = models.CharField(
        "URL do webhook", max_length=2000, blank=True, default="", help_text="http(s), num endereço público."
    )
    segredo_cifrado = models.TextField("segredo (cifrado)", blank=True, default="", editable=False)
    tipos = ArrayField(
        models.CharField(max_length=20, choices=TipoDeAviso.choices),
        verbose_name="tipos",
        default=listar_tipos,
    )
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        verbose_name="aplicativo",
        help_text="Só os avisos deste aplicativo; vazio = os do servidor inteiro.",
    )
    repetir_apos_h = models.PositiveSmallIntegerField(
        "repetir após (h)",
        default=REPETIR_APOS_H,
        validators=[MinValueValidator(1), MaxValueValidator(168)],
        help_text="Enquanto a condição durar e ninguém a reconhecer, no máximo um lembrete a cada tantas horas.",
    )
    silencio_de = models.TimeField("silêncio das", null=True, blank=True)
    silencio_ate = models.TimeField("às", null=True, blank=True)
    fuso = models.CharField("fuso", max_length=60, default=fuso_do_servidor, validators=[conferir_fuso])
    critico_fura = models.BooleanField(
        "o crítico fura o silêncio", default=True, help_text="Desligado, nada sai nas horas de silêncio."
    )
    ativo = models.BooleanField("ativo", default=True, help_text="Desligado, nada novo é mandado para cá.")
    criado_em = models.DateTimeField("criado em", default=timezone.now, editable=False)

    class Meta:
        verbose_name = "destino de avisos"
        verbose_name_plural = "destinos de avisos"
        ordering = ["nome", "id"]
        default_permissions = ("view", "add", "change")

    def __str__(self) -> str:
        return self.nome

    def clean(self) -> None:
        """Cada canal pede o seu endereço; o silêncio pede as duas horas."""
        super().clean()
        if self.canal == Canal.EMAIL and not self.destinatarios():
            raise ValidationError({"emails": "Escreva ao menos um e-mail."})
        if self.canal == Canal.WEBHOOK:
            try:
                ler_url(self.url, local=settings.WEBHOOK_LOCAL)
            except EnderecoRecusado as erro:
                raise ValidationError({"url": str(erro)}) from erro
        if (self.silencio_de is None) != (self.silencio_ate is None):
            raise ValidationError({"silencio_ate": "Diga quando o silêncio começa e quando acaba."})

    def destinatarios(self) -> list[str]:
        """Os e-mails, um a um."""
        return [parte.strip() for parte in self.emails.split(",") if parte.strip()]

    def trocar_segredo(self) -> str:
        """Sorteia outro segredo e devolve-o, para ser mostrado uma vez. Não grava."""
        segredo = gerar_segredo()
        self.segredo_cifrado = cifrar(segredo)
        return segredo


class EntregaDeAviso(models.Model):
    """Uma mensagem a mandar: nasce no COMMIT da mudança que ela conta. O `id` deduplica no destinatário.

    Vai para um destino, ou (`destino` nulo) para os e-mails do dono de um aplicativo.
    """

    class Motivo(models.TextChoices):
        ABRIU = "abriu", "Abriu"
        NOVIDADE = "novidade", "Novidade"
        REPETIU = "repetiu", "Lembrete"
        RESOLVEU = "resolveu", "Resolvido"
        TESTE = "teste", "Teste"

    class Situacao(models.TextChoices):
        PENDENTE = "pendente", "Pendente"
        ENTREGUE = "entregue", "Entregue"
        DISPENSADA = "dispensada", "Dispensada"
        DESISTIDA = "desistida", "Não entregue"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    aviso = models.ForeignKey(
        Aviso, on_delete=models.CASCADE, null=True, blank=True, related_name="entregas", db_index=False
    )
    destino = models.ForeignKey(DestinoDeAviso, on_delete=models.PROTECT, null=True, blank=True)
    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo", on_delete=models.PROTECT, null=True, blank=True, db_index=False
    )
    canal = models.CharField("canal", max_length=10, choices=Canal.choices)
    emails = models.CharField("e-mails do dono do aplicativo", max_length=500, blank=True, default="")
    motivo = models.CharField("motivo", max_length=10, choices=Motivo.choices)
    conteudo = models.JSONField(
        "conteúdo", help_text="O que se manda, fixado na primeira tentativa: reenviar é igual."
    )
    situacao = models.CharField(
        "situação", max_length=10, choices=Situacao.choices, default=Situacao.PENDENTE
    )
    tentativas = models.PositiveSmallIntegerField("tentativas", default=0)
    criada_em = models.DateTimeField("criada em")
    fixada_em = models.DateTimeField(
        "conteúdo de", help_text="O da primeira tentativa; antes, o do nascimento."
    )
    disponivel_em = models.DateTimeField("não antes de")
    encerrada_em = models.DateTimeField("encerrada em", null=True, blank=True)
    encerramento = models.CharField("como terminou", max_length=300, blank=True, default="")

    tentou = False  # nesta passagem pela fila; não é coluna

    class Meta:
        verbose_name = "entrega de aviso"
        verbose_name_plural = "entregas de avisos"
        ordering = ["-criada_em", "-id"]
        default_permissions = ("view", "change")
        constraints = [
            # Uma por vez na fila: a que espera o silêncio já contará a novidade ao sair.
            models.UniqueConstraint(
                fields=["aviso", "destino", "aplicativo"],
                name="entrega_pendente_unica",
                nulls_distinct=False,
                condition=Q(situacao="pendente", aviso__isnull=False) & ~Q(motivo="resolveu"),
            ),
            models.UniqueConstraint(
                fields=["aviso", "destino"], name="entrega_resolvida_unica", condition=Q(motivo="resolveu")
            ),
        ]
        indexes = [
            models.Index(fields=["-criada_em", "-id"], name="entrega_por_criacao"),
            models.Index(fields=["aviso", "destino"], name="entrega_do_aviso"),
            models.Index(fields=["disponivel_em"], name="entrega_pendente", condition=Q(situacao="pendente")),
        ]

    def __str__(self) -> str:
        return f"{self.get_motivo_display()} para {self.destino or 'o dono do aplicativo'}"


class TentativaDeEntrega(models.Model):
    """Uma vez em que se tentou mandar, e o que o outro lado respondeu. Só se acrescenta."""

    id = models.BigAutoField(primary_key=True)
    entrega = models.ForeignKey(EntregaDeAviso, on_delete=models.CASCADE, related_name="historico")
    feita_em = models.DateTimeField("feita em")
    duracao_ms = models.PositiveIntegerField("duração (ms)")
    sucesso = models.BooleanField("deu certo")
    status = models.PositiveSmallIntegerField("status HTTP", null=True, blank=True)
    resposta = models.CharField("trecho da resposta", max_length=500, blank=True, default="")
    erro = models.CharField("o que houve", max_length=500, blank=True, default="")

    class Meta:
        verbose_name = "tentativa de entrega"
        verbose_name_plural = "tentativas de entrega"
        ordering = ["id"]
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.feita_em:%d/%m/%Y %H:%M:%S}"
