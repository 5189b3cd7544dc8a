"""O que toda caixa guarda por item, qualquer que seja o conteúdo."""

from django.db import models
from django.utils import timezone


class ItemDaCaixa(models.Model):
    """Uma coisa recebida e ainda não aplicada. Nasce com o COMMIT que autoriza o 2xx; some ao ser aplicada.

    Estados: pendente (`estacionado_em` nulo) e estacionado (falhou até o teto; espera uma pessoa).
    """

    id = models.BigAutoField(primary_key=True)
    recebido_em = models.DateTimeField("recebido em", default=timezone.now, help_text="Relógio do servidor.")
    peso = models.PositiveIntegerField(
        "peso", default=1, help_text="Quantas unidades de trabalho o item traz (eventos, recibos)."
    )
    tentativas = models.PositiveSmallIntegerField(
        "tentativas", default=0, db_default=0, help_text="Aplicações que falharam por causa deste item."
    )
    disponivel_em = models.DateTimeField(
        "disponível em", null=True, blank=True, help_text="Não aplicar antes disto (recuo depois de falha)."
    )
    estacionado_em = models.DateTimeField(
        "estacionado em",
        null=True,
        blank=True,
        help_text="Desistiu-se de aplicar sozinho; espera uma pessoa.",
    )
    falha = models.TextField(
        "falha", blank=True, default="", db_default="", help_text="O último erro, por extenso."
    )

    class Meta:
        abstract = True
        ordering = ["id"]
        indexes = [
            # Reivindicar e medir só olham os pendentes: os estacionados podem ser muitos.
            models.Index(
                fields=["id"], name="%(class)s_pendente", condition=models.Q(estacionado_em__isnull=True)
            ),
            # Contar os estacionados não pode custar os pendentes. Só quem estaciona paga por ele.
            models.Index(
                fields=["id"], name="%(class)s_estacionado", condition=models.Q(estacionado_em__isnull=False)
            ),
        ]
