"""Horas de silêncio, aviso silenciado e aviso reconhecido: quem não quer ouvir não ouve, e nada se perde."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from ingestao.models import Aplicativo, Erro, Lote
from painel.avisos import atos, rodada
from painel.models import Aviso, DestinoDeAviso, EntregaDeAviso
from tests.painel.avisos.conftest import AGORA, Avisar
from tests.painel.avisos.mundo import assuntos, atrasar, regredir

pytestmark = pytest.mark.django_db


def test_horas_de_silencio_seguram_e_contam_o_aviso_como_esta_ao_sair(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00", fuso="America/Sao_Paulo")
    regredir(com_dono, 1)
    assert avisar() == 0
    regredir(com_dono, 2, minutos=30)
    assert [avisar(31), avisar(59), avisar(60), avisar(61), avisar(80)] == [0, 0, 1, 0, 0]
    assert assuntos(mailoutbox) == ["[Lastro] Loja: voltaram 2 erros resolvidos"]


def test_critico_fura_o_silencio_so_quando_o_destino_deixa(avisar: Avisar, correio: DestinoDeAviso) -> None:
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00")
    calado = DestinoDeAviso.objects.create(
        nome="Gerência",
        emails="g@exemplo.com.br",
        silencio_de="11:00",
        silencio_ate="13:00",
        critico_fura=False,
    )
    atrasar(10)
    assert [avisar(), avisar(60)] == [1, 1]
    assert EntregaDeAviso.objects.get(destino=calado).encerrada_em == AGORA + timedelta(minutes=60)


def test_o_que_acaba_durante_o_silencio_nao_acorda_ninguem(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00")
    regredir(com_dono, 1)
    avisar()
    Erro.objects.update(estado="resolvido")
    assert [avisar(1), avisar(61)] == [0, 0]
    assert mailoutbox == []
    entrega = EntregaDeAviso.objects.get()
    assert (entrega.situacao, entrega.encerramento) == ("dispensada", rodada.ACABOU_ANTES)


def test_silenciado_cala_e_ao_fim_conta_a_novidade(
    avisar: Avisar, correio: DestinoDeAviso, django_user_model: Any
) -> None:
    ana = django_user_model.objects.create_user("ana")
    Lote.objects.create(estacionado_em=AGORA)
    assert avisar() == 1
    aviso = Aviso.objects.get()
    assert atos.silenciar(aviso.pk, ana, AGORA + timedelta(minutes=1), por=timedelta(hours=12))
    Lote.objects.create(estacionado_em=AGORA)
    assert [avisar(60), avisar(60 * 8), avisar(60 * 12 + 1)] == [0, 0, 1]
    assert list(aviso.atos.values_list("autor__username", "ato")) == [("ana", "silenciou")]


def test_reconhecido_nao_repete_mas_avisa_novidade_e_fim(avisar: Avisar, correio: DestinoDeAviso) -> None:
    ana = User.objects.create_user("ana")
    Lote.objects.create(estacionado_em=AGORA)
    avisar()
    assert atos.reconhecer(Aviso.objects.get().pk, ana, AGORA)
    assert avisar(60 * 7) == 0
    Lote.objects.create(estacionado_em=AGORA)
    assert avisar(60 * 7 + 1) == 1
    Lote.objects.all().delete()
    assert avisar(60 * 7 + 2) == 1
    assert not atos.reconhecer(Aviso.objects.get().pk, ana, AGORA)
