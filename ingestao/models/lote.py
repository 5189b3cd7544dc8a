"""Um lote recebido e ainda não aplicado: o item da caixa de entrada dos sites."""

from django.db import models

from ingestao.caixa import ItemDaCaixa


class Lote(ItemDaCaixa):
    """O que a porta gravou antes de responder: eventos aceitos, recusas, ou os dois.

    `conteudo` é JSON em UTF-8: `{"sessao": {…}, "eventos": [{…}]}`, já lido e cortado pela borda; vazio
    quando a requisição inteira foi recusada. `recusas` é `{motivo: [requisições, eventos]}`.
    """

    aplicativo = models.ForeignKey(
        "ingestao.Aplicativo",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        verbose_name="aplicativo",
    )
    conteudo = models.BinaryField("conteúdo", null=True)
    recusas = models.JSONField("recusas", null=True)

    class Meta(ItemDaCaixa.Meta):
        verbose_name = "lote na caixa"
        verbose_name_plural = "lotes na caixa"

    def __str__(self) -> str:
        return f"lote {self.pk}"
