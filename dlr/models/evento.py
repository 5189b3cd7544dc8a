"""O que as recepções significam: o evento lógico, e qual recepção o trouxe (ou o repetiu)."""

from django.db import models

from dlr.dominio.correlacao import Resultado
from dlr.models.integracao import ESTADOS

ESPERANDO = "esperando"


class EventoLogico(models.Model):
    """Um acontecimento contado por uma transportadora, uma vez só, venha em quantas recepções vier.

    A recepção não tem restrição no banco: ela nunca é apagada (um gatilho o recusa), e por ela a integração
    também não (docs/decisoes/0016).
    """

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey(
        "dlr.Integracao", on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    mensagem = models.ForeignKey(
        "dlr.Mensagem", on_delete=models.PROTECT, null=True, blank=True, related_name="eventos"
    )
    chave = models.CharField("chave", max_length=600)
    conteudo = models.CharField("impressão do conteúdo", max_length=64)
    componentes = models.JSONField("componentes da chave")
    versao_da_chave = models.PositiveSmallIntegerField("versão da chave")
    recepcao = models.ForeignKey(
        "dlr.Recepcao", on_delete=models.PROTECT, db_index=False, db_constraint=False, help_text="A primeira."
    )
    indice = models.PositiveIntegerField("posição na recepção", default=0)
    recebido_em = models.DateTimeField("recebido em")
    id_externo = models.CharField("id externo", max_length=500, null=True)
    estado_bruto = models.CharField("estado bruto", max_length=500, null=True)
    estado = models.CharField("estado normalizado", max_length=14, choices=ESTADOS, null=True)
    final = models.BooleanField("final (dito pela transportadora)", null=True)
    codigo_erro = models.CharField("código de erro", max_length=500, null=True)
    origem = models.CharField("origem", max_length=200, null=True)
    destino = models.CharField("destino", max_length=200, null=True)
    parte = models.PositiveSmallIntegerField("parte", null=True)
    apresentada_bruto = models.CharField("apresentada (bruto)", max_length=100, null=True)
    apresentada_em = models.DateTimeField("apresentada em", null=True)
    concluida_bruto = models.CharField("concluída (bruto)", max_length=100, null=True)
    concluida_em = models.DateTimeField("concluída em", null=True)
    notas = models.JSONField("notas", default=list)
    extras = models.JSONField("extras", default=dict)
    correlacao = models.CharField(
        "correlação",
        max_length=10,
        choices=[(ESPERANDO, "esperando a mensagem"), *((r.value, r.value) for r in Resultado)],
    )
    esperar_ate = models.DateTimeField("esperar até", null=True, blank=True)
    papel = models.CharField("papel na projeção", max_length=12, null=True, blank=True)
    versao_do_leitor = models.PositiveSmallIntegerField("versão do leitor")
    versao_das_regras = models.PositiveIntegerField("versão das regras")
    qtd_recepcoes = models.PositiveIntegerField("recepções", default=0, db_default=0)

    class Meta:
        verbose_name = "evento lógico"
        verbose_name_plural = "eventos lógicos"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["integracao", "chave"], name="evento_logico_unico")]
        indexes = [
            models.Index(
                fields=["integracao", "id_externo"],
                name="evento_logico_esperando",
                condition=models.Q(mensagem__isnull=True),
            ),
            models.Index(
                fields=["esperar_ate"],
                name="evento_logico_por_prazo",
                condition=models.Q(correlacao=ESPERANDO),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.estado_bruto} {self.id_externo}"


class Ocorrencia(models.Model):
    """Um item de uma recepção: de que evento lógico ele fala, e se era repetição."""

    id = models.BigAutoField(primary_key=True)
    recepcao = models.ForeignKey(
        "dlr.Recepcao",
        on_delete=models.PROTECT,
        db_index=False,
        db_constraint=False,
        related_name="ocorrencias",
    )
    indice = models.PositiveIntegerField("posição na recepção")
    evento = models.ForeignKey(
        EventoLogico,
        on_delete=models.PROTECT,
        db_constraint=False,
        null=True,
        blank=True,
        related_name="ocorrencias",
    )
    repeticao = models.BooleanField("repetição", default=False)
    versao_do_leitor = models.PositiveSmallIntegerField("versão do leitor")
    ilegivel = models.CharField("por que não se leu", max_length=500, blank=True, default="")

    class Meta:
        verbose_name = "ocorrência"
        verbose_name_plural = "ocorrências"
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["recepcao", "indice"], name="ocorrencia_unica")]

    def __str__(self) -> str:
        return f"{self.recepcao_id}#{self.indice}"
