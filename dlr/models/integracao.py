"""Uma transportadora ligada a nós: o formato, as opções, os segredos e as regras, com as versões delas."""

import ipaddress
import zoneinfo

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.utils import timezone

from dlr.dominio.correlacao import OpcoesDeId
from dlr.dominio.estados import Estado
from dlr.dominio.projecao import Regras
from dlr.formatos.contrato import Formato
from dlr.formatos.registro import FORMATOS, POR_SLUG

JANELA_DE_ESPERA_S = 900  # contrato dos recibos: 15 min até `sem_correlacao`
PRAZO_DO_FINAL_S = 259_200  # 72 h: a maior janela de reenvio documentada entre os formatos
ESTADOS = [(estado.value, estado.value) for estado in Estado]


def conferir_fuso(nome: str) -> None:
    """Validador: um fuso da base IANA."""
    if nome not in zoneinfo.available_timezones():
        raise ValidationError(f"“{nome}” não é um fuso; use, por exemplo, America/Sao_Paulo.")


def conferir_rede(texto: str) -> None:
    """Validador: um IP ou uma rede CIDR."""
    try:
        ipaddress.ip_network(texto, strict=False)
    except ValueError as erro:
        raise ValidationError(f"“{texto}” não é um IP nem uma rede (10.0.0.0/8).") from erro


class Integracao(models.Model):
    """Como uma transportadora fala conosco e o que a autorizamos a significar."""

    id = models.BigAutoField(primary_key=True)
    slug = models.SlugField(
        "slug",
        max_length=60,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9-]+\Z", "Minúsculas, números e -.")],
    )
    nome = models.CharField("nome", max_length=120, blank=True, default="")
    formato = models.CharField(
        "formato", max_length=30, choices=[(formato.slug, formato.nome) for formato in FORMATOS]
    )
    token_resumo = models.CharField("resumo do token", max_length=64, db_index=True, editable=False)
    segredo_cifrado = models.TextField(
        "segredo da assinatura (cifrado)", blank=True, default="", editable=False
    )
    usuario = models.CharField("usuário do Basic", max_length=120, blank=True, default="")
    senha_cifrada = models.TextField("senha do Basic (cifrada)", blank=True, default="", editable=False)
    redes = ArrayField(
        models.CharField(max_length=50, validators=[conferir_rede]),
        verbose_name="redes permitidas",
        default=list,
        blank=True,
        help_text="IPs ou redes de onde o callback pode vir; vazio = de qualquer lugar.",
    )
    fuso = models.CharField(
        "fuso",
        max_length=60,
        default="UTC",
        validators=[conferir_fuso],
        help_text="Das datas que vêm sem fuso.",
    )
    id_base = models.CharField(
        "base do id",
        max_length=12,
        default="exata",
        choices=[("exata", "exata"), ("hex_decimal", "hex ↔ decimal")],
    )
    id_zeros = models.CharField(
        "zeros à esquerda",
        max_length=8,
        default="exatos",
        choices=[("exatos", "exatos"), ("ignorar", "ignorar")],
    )
    id_caixa = models.CharField(
        "maiúsculas", max_length=8, default="exata", choices=[("exata", "exata"), ("ignorar", "ignorar")]
    )
    janela_espera_s = models.PositiveIntegerField(
        "janela de espera (s)",
        default=JANELA_DE_ESPERA_S,
        validators=[MaxValueValidator(604_800)],
        help_text="Quanto um recibo espera a mensagem antes de virar exceção.",
    )
    recibo_do_aparelho = models.BooleanField(
        "dá recibo do aparelho", default=True, help_text="Desligado: a falta de um final não é exceção."
    )
    prazo_final_s = models.PositiveIntegerField(
        "prazo do final (s)", default=PRAZO_DO_FINAL_S, help_text="Sem final depois disto: `final_ausente`."
    )
    criada_em = models.DateTimeField("criada em", default=timezone.now, editable=False)
    deletado = models.BooleanField("excluída", default=False)

    class Meta:
        verbose_name = "integração"
        verbose_name_plural = "integrações"
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    @property
    def formato_lido(self) -> Formato:
        """O formato do registro."""
        return POR_SLUG[self.formato]

    def opcoes_de_id(self) -> OpcoesDeId:
        """O que a correlação pode igualar."""
        return OpcoesDeId(
            ignorar_caixa=self.id_caixa == "ignorar",
            ignorar_zeros=self.id_zeros == "ignorar",
            hex_decimal=self.id_base == "hex_decimal",
        )


class RegraDeIntegracao(models.Model):
    """Uma versão das regras de uma integração. Nunca muda: mudar é criar a versão seguinte."""

    id = models.BigAutoField(primary_key=True)
    integracao = models.ForeignKey(
        Integracao, on_delete=models.PROTECT, related_name="regras", db_index=False
    )
    versao = models.PositiveIntegerField("versão")
    finais = ArrayField(models.CharField(max_length=14, choices=ESTADOS), verbose_name="estados finais")
    classes_de_erro = models.JSONField(
        "classes de erro",
        default=dict,
        blank=True,
        help_text="Código bruto → classe, só o que estiver documentado.",
    )
    criada_em = models.DateTimeField("criada em", default=timezone.now)
    autor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True)
    motivo = models.CharField("motivo", max_length=500)

    class Meta:
        verbose_name = "regra de integração"
        verbose_name_plural = "regras de integração"
        ordering = ["integracao", "-versao"]
        constraints = [models.UniqueConstraint(fields=["integracao", "versao"], name="regra_unica_na_versao")]

    def __str__(self) -> str:
        return f"{self.integracao} v{self.versao}"

    def regras(self) -> Regras:
        """As regras na forma que a projeção usa."""
        return Regras(versao=self.versao, finais=frozenset(Estado(nome) for nome in self.finais))
