"""A franquia e os erros que voltaram, de que o dono do aplicativo também é avisado."""

from datetime import timedelta
from typing import Any

import pytest

from ingestao.models import Aplicativo, AvisoFranquia, Erro
from painel.models import Aviso, DestinoDeAviso
from tests.painel.avisos.conftest import AGORA, Avisar
from tests.painel.avisos.mundo import assuntos, atrasar, gastar, regredir

pytestmark = pytest.mark.django_db


def test_franquia_avisa_o_dono_uma_vez_por_percentual(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    gastar(com_dono, 8, 80)
    assert [avisar(), avisar(1), avisar(60 * 24)] == [1, 0, 0]
    gastar(com_dono, 10, 100)
    assert [avisar(60 * 8), avisar(60 * 8 + 1)] == [1, 0]
    assert [(m.to, "80%" in m.subject, "100%" in m.subject) for m in mailoutbox] == [
        (["dona@exemplo.com.br", "ti@exemplo.com.br"], True, False),
        (["dona@exemplo.com.br", "ti@exemplo.com.br"], False, True),
    ]
    assert "Gravou 8 eventos de uma franquia de 10." in mailoutbox[0].body
    assert AvisoFranquia.objects.filter(enviado_em=None).count() == 0


def test_franquia_sem_destinatario_fica_no_painel(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    gastar(com_dono, 10, 80, 100)
    assert (avisar(), mailoutbox) == (0, [])
    assert AvisoFranquia.objects.filter(enviado_em=None).count() == 2
    assert Aviso.objects.filter(resolvido_em=None, aplicativo=com_dono).count() == 2


def test_franquia_avisada_antes_de_haver_painel_nao_repete_para_o_dono(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    gastar(com_dono, 8, 80)
    AvisoFranquia.objects.update(enviado_em=AGORA)
    assert avisar() == 1
    assert mailoutbox[0].to == ["plantao@exemplo.com.br"]


def test_quem_e_dono_e_destino_recebe_uma_vez_so(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    DestinoDeAviso.objects.update(emails="TI@exemplo.com.br")
    gastar(com_dono, 8, 80)
    assert avisar() == 2
    assert sorted(m.to for m in mailoutbox) == [["TI@exemplo.com.br"], ["dona@exemplo.com.br"]]


def test_franquia_maior_resolve_e_fim_do_mes_tambem(avisar: Avisar, com_dono: Aplicativo) -> None:
    com_dono.politica = "PARAR_INGESTAO"
    com_dono.save()
    gastar(com_dono, 10, 80, 100)
    avisar()
    assert sorted(Aviso.objects.values_list("valor", "critico")) == [(80.0, False), (100.0, True)]
    Aplicativo.objects.update(franquia=12)
    avisar(1)
    assert Aviso.objects.get(resolvido_em=None).valor == 80.0
    avisar(60 * 25)  # dezembro, e o cruzamento já tem mais de um dia
    assert not Aviso.objects.filter(resolvido_em=None).exists()


def test_regressoes_de_um_aplicativo_sao_um_aviso_e_a_seguinte_e_novidade(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    for n in range(3):
        regredir(com_dono, n)
    assert [avisar(), avisar(1)] == [1, 0]
    regredir(com_dono, 9, minutos=2)
    assert [avisar(2), avisar(15), avisar(16)] == [0, 1, 0]
    assert assuntos(mailoutbox) == [
        "[Lastro] Loja: voltaram 3 erros resolvidos",
        "[Lastro] Novidade: Loja: voltaram 4 erros resolvidos",
    ]
    assert not Erro.objects.filter(regressao_avisada_em=None).exists()


def test_erro_triado_fecha_o_aviso_e_voltar_a_regredir_abre_outro(
    avisar: Avisar, com_dono: Aplicativo
) -> None:
    erro = regredir(com_dono, 1)
    avisar()
    Erro.objects.update(estado="ignorado")
    avisar(1)
    assert Aviso.objects.get().resolvido_em is not None
    Erro.objects.update(estado="aberto", regressoes=2, regrediu_em=AGORA + timedelta(minutes=2))
    assert avisar(2) == 1
    erro.refresh_from_db()
    assert (Aviso.objects.count(), erro.regressao_avisada_em) == (2, AGORA + timedelta(minutes=2))


def test_destino_de_um_aplicativo_so_ouve_o_dele(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    outro = Aplicativo.objects.create(nome="Blog", dominios=["blog.com.br"])
    DestinoDeAviso.objects.update(aplicativo=outro)
    regredir(com_dono, 1)
    regredir(outro, 2)
    atrasar(10)
    avisar()
    assert [m.subject for m in mailoutbox if m.to == ["plantao@exemplo.com.br"]] == [
        "[Lastro] Blog: voltou um erro resolvido"
    ]
