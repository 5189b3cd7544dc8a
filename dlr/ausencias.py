"""O final que não veio: só se cobra de quem o prometeu e de quem o pediu."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import ExpressionWrapper, F, OuterRef, Q, Subquery
from django.db.models.fields import DateTimeField, DurationField

from dlr.models import Mensagem, Projecao, TipoDeExcecao
from dlr.pendencias import abrir, alvo_da_mensagem, pendencia

MENSAGENS_POR_VEZ = 1_000
# registered_delivery, bits 1–0: 01 sucesso ou falha. 10 (só falha) e 11 (só sucesso) podem calar de direito.
MODO_DO_RECIBO = 0b11
SEMPRE_AVISA = 0b01


def cobrar(agora: datetime) -> int:
    """Cobra uma leva de mensagens vencidas, na ordem de criação; devolve quantas olhou."""
    prazo = ExpressionWrapper(
        F("integracao__prazo_final_s") * timedelta(seconds=1), output_field=DurationField()
    )
    final = Projecao.objects.filter(mensagem=OuterRef("pk")).values("final")[:1]
    with transaction.atomic():
        vencidas = list(
            Mensagem.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
            .annotate(ja_final=Subquery(final))
            .annotate(
                vence_em=ExpressionWrapper(F("criada_em") + prazo, output_field=DateTimeField()),
            )
            .filter(final_cobrado_em__isnull=True, integracao__recibo_do_aparelho=True, vence_em__lt=agora)
            .exclude(aceita=False)
            .filter(Q(registered_delivery__isnull=True) | Q(registered_delivery__gt=0))
            .order_by("pk")[:MENSAGENS_POR_VEZ]
        )
        abrir(
            pendencia(
                TipoDeExcecao.FINAL_AUSENTE,
                alvo_da_mensagem(mensagem.pk),
                mensagem.integracao_id,
                agora,
                mensagem_id=mensagem.pk,
                detalhe="nenhum recibo final no prazo da integração",
            )
            for mensagem in vencidas
            if not mensagem.ja_final and _pediu_sempre(mensagem.registered_delivery)
        )
        Mensagem.objects.filter(pk__in=[mensagem.pk for mensagem in vencidas]).update(final_cobrado_em=agora)
    return len(vencidas)


def _pediu_sempre(registered_delivery: int | None) -> bool:
    """Sem saber o que foi pedido, cobra-se: a integração diz que dá recibo."""
    return registered_delivery is None or registered_delivery & MODO_DO_RECIBO == SEMPRE_AVISA
