"""Os avisos: para quem vão, a partir de quanto, e o que há para avisar agora."""

from django.utils import timezone

from dlr.models import Integracao
from painel.avisos import atos, rodada
from painel.demonstracao.cadastro import Caderno
from painel.demonstracao.transportadoras import TRANSPORTADORAS
from painel.models import Aviso, Canal, DestinoDeAviso, LimiarDeAviso, TipoDeAviso

EMAIL = "plantao@lastro.example"  # domínio reservado: não existe quem receba
EXCECOES_POR_TIPO = 2


def avisar(caderno: Caderno) -> None:
    """Cadastra um destino e um limiar, e faz a rodada que o beat faria no próximo minuto."""
    nome = caderno.semente.nome("Plantão")
    destino, novo = DestinoDeAviso.objects.get_or_create(
        nome=nome, defaults={"canal": Canal.EMAIL, "emails": EMAIL, "repetir_apos_h": 24}
    )
    if novo:
        caderno.criou(destino)
    for transportadora in TRANSPORTADORAS:
        integracao = Integracao.objects.get(slug=caderno.semente.slug(transportadora.apelido))
        LimiarDeAviso.objects.get_or_create(
            tipo=TipoDeAviso.EXCECOES,
            integracao=integracao,
            excecao="",
            defaults={"valor": EXCECOES_POR_TIPO},
        )
    rodada.rodar(timezone.now())
    visto = Aviso.objects.filter(tipo=TipoDeAviso.SILENCIO, resolvido_em=None).first()
    if visto is not None:
        atos.ver(visto, caderno.autor, timezone.now())
        atos.reconhecer(visto.pk, caderno.autor, timezone.now())
