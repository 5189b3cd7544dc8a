"""Tentar de novo o que não se leu ou não se atou, com o leitor e as opções de hoje; com prévia."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlr import amarracao, excecoes
from dlr.excecoes import Ato
from dlr.models import AcaoDeExcecao, EventoLogico, Excecao, Projecao
from tests.dlr.conftest import Chamar, Ligada, abertas, aprender, em_ordem, enviada, estado_de, recibo
from tests.dlr.test_excecoes import retrato, trilha


@pytest.fixture
def ato(db: None) -> Ato:
    return Ato(autor=User.objects.create_user("operadora"), motivo="leitor novo", agora=timezone.now())


@pytest.fixture
def por_aprender(callback: Chamar, registrar: Chamar, processar: Any) -> list[int]:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    callback(b'"x1=DELIVERED"')
    callback(recibo("x2", "FOO"))
    processar()
    assert abertas() == ["estado_nao_mapeado", "formato_nao_reconhecido"]
    return list(Excecao.objects.order_by("pk").values_list("pk", flat=True))


def test_previa_do_reprocesso_diz_o_que_faria_e_nao_muda_nada(
    por_aprender: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    aprender(monkeypatch)
    antes = retrato()
    previsto = excecoes.prever_reprocesso(por_aprender)
    assert [(r["excecao"], r["situacao"]) for r in previsto] == [(id_, "resolvida") for id_ in por_aprender]
    assert retrato() == antes


def test_reprocessar_aplica_o_leitor_de_hoje_e_fecha_o_que_ele_le(
    por_aprender: list[int], ato: Ato, monkeypatch: pytest.MonkeyPatch
) -> None:
    aprender(monkeypatch)
    feito = excecoes.reprocessar(por_aprender, ato)
    assert [(r["situacao"], r["encerramento"]) for r in feito] == [
        ("resolvida", "o leitor de hoje lê este recibo")
    ] * 2
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", "REJECTED")
    assert [(e.versao_do_leitor, e.qtd_recepcoes) for e in em_ordem()] == [(2, 1), (2, 1)]
    for excecao in Excecao.objects.all():
        assert [acao for acao, *_ in trilha(excecao)] == ["abrir", "reprocessar", "fechar"]


def test_reprocessar_sem_nada_novo_nao_fecha_nada(por_aprender: list[int], ato: Ato) -> None:
    antes = (list(EventoLogico.objects.values()), list(Projecao.objects.values()))
    assert {r["situacao"] for r in excecoes.reprocessar(por_aprender, ato)} == {"aberta"}
    assert (list(EventoLogico.objects.values()), list(Projecao.objects.values())) == antes
    assert AcaoDeExcecao.objects.filter(acao="reprocessar", autor=ato.autor).count() == 2


def test_reprocessar_com_outra_opcao_de_id_ata_o_que_era_so_dica(
    registrar: Chamar, callback: Chamar, processar: Any, ato: Ato, integracao: Ligada
) -> None:
    callback(recibo("X1", "DELIVERED"))
    processar()
    amarracao.envelhecer(timezone.now() + timedelta(hours=1))
    sem_correlacao = Excecao.objects.get()
    registrar(enviada("m1", "x1"))
    objeto = integracao.objeto
    objeto.id_caixa = "ignorar"
    objeto.save()
    assert excecoes.prever_reprocesso([sem_correlacao.pk])[0]["situacao"] == "resolvida"
    assert estado_de("m1")[0] is None
    excecoes.reprocessar([sem_correlacao.pk], ato)
    assert estado_de("m1")[0] == "DELIVERED" and abertas() == []
