"""O que o tempo faz: o recibo que esperou demais e o final que não veio."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlr import amarracao, ausencias, tasks
from dlr.models import EventoLogico, Excecao, Integracao, Mensagem
from tests.dlr.conftest import Chamar, Ligada, abertas, criar, enviada, estado_de, recibo

DEPOIS = timedelta(hours=73)  # o prazo padrão do final é de 72 h


def cobrar() -> None:
    while ausencias.cobrar(timezone.now() + DEPOIS):
        pass


def test_a_janela_de_espera_e_a_da_integracao(db: None, callback: Chamar, processar: Any) -> None:
    curta = criar("curta", "padrao", "janela_espera_s=10")
    callback(recibo("x1", "DELIVERED"), em=curta)
    processar()
    evento = EventoLogico.objects.get()
    assert evento.esperar_ate == evento.recebido_em + timedelta(seconds=10)
    assert amarracao.envelhecer(timezone.now() + timedelta(seconds=11)) == 1
    assert amarracao.envelhecer(timezone.now() + timedelta(seconds=11)) == 0
    evento.refresh_from_db()
    assert (evento.correlacao, abertas()) == ("nenhuma", ["sem_correlacao"])


def test_envelhecer_confere_uma_ultima_vez_antes_de_abrir(
    callback: Chamar, registrar: Chamar, processar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Como se o servidor caísse entre o COMMIT do registro e a conferência dele."""
    callback(recibo("x1", "DELIVERED"))
    processar()
    with monkeypatch.context() as sem_conferencia:
        sem_conferencia.setattr("dlr.registro.atar_pelo_id", lambda pares, agora: 0)
        registrar(enviada("m1", "x1"))
    assert estado_de("m1")[0] is None
    assert amarracao.envelhecer(timezone.now() + timedelta(hours=1)) == 0
    assert estado_de("m1")[0] == "DELIVERED" and abertas() == []


def test_a_varredura_ata_o_que_uma_queda_deixou_solto(
    callback: Chamar, registrar: Chamar, processar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    callback(recibo("x1", "DELIVERED"))
    processar()
    monkeypatch.setattr("dlr.registro.atar_pelo_id", lambda pares, agora: 0)
    registrar(enviada("m1", "x1"))
    tasks.cuidar_dos_soltos()
    assert estado_de("m1")[0] == "DELIVERED"


def test_as_tarefas_fazem_o_mesmo_que_a_caixa(callback: Chamar, registrar: Chamar, processar: Any) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "ENROUTE"))
    tasks.processar_recepcoes()
    assert estado_de("m1")[0] == "ENROUTE"
    Mensagem.objects.update(criada_em=timezone.now() - DEPOIS)
    tasks.cobrar_finais()
    assert abertas() == ["final_ausente"]


@pytest.mark.parametrize(
    ("campos", "cobra"),
    [
        ({}, True),
        ({"registered_delivery": None}, True),
        ({"registered_delivery": 1}, True),  # sucesso ou falha
        ({"registered_delivery": 17}, True),  # idem, com notificação intermediária
        ({"registered_delivery": 0}, False),
        ({"registered_delivery": 2}, False),  # só na falha: o silêncio é sucesso
        ({"registered_delivery": 3}, False),  # só no sucesso
        ({"registered_delivery": 16}, False),  # só a intermediária
        ({"aceita": False}, False),
        ({"aceita": None}, True),
    ],
)
def test_final_ausente_so_de_quem_o_prometeu_e_de_quem_o_pediu(
    registrar: Chamar, campos: dict[str, Any], cobra: bool
) -> None:
    registrar(enviada("m1", "x1", **campos))
    ausencias.cobrar(timezone.now() + timedelta(hours=71))
    assert abertas() == []
    cobrar()
    cobrar()
    assert abertas() == (["final_ausente"] if cobra else [])


def test_integracao_que_nao_da_recibo_do_aparelho_nao_e_cobrada(db: None, registrar: Chamar) -> None:
    muda = criar("muda", "padrao", "recibo_do_aparelho=nao")
    registrar(enviada("m1", "x1"), em=muda)
    cobrar()
    assert abertas() == []
    assert not Integracao.objects.get(slug="muda").recibo_do_aparelho


def test_intermediario_nao_e_final_e_o_final_fecha_a_cobranca(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    callback([recibo("x1", "ENROUTE"), recibo("x2", "DELIVERED")])
    processar()
    cobrar()
    excecao = Excecao.objects.get()
    assert (excecao.tipo, excecao.mensagem.id_interno) == ("final_ausente", "m1")
    callback(recibo("x1", "EXPIRED"))
    processar()
    excecao.refresh_from_db()
    assert (excecao.situacao, excecao.encerramento) == ("resolvida", "o final chegou")


def test_prazo_do_final_e_o_da_integracao(db: None, registrar: Chamar, integracao: Ligada) -> None:
    curta = criar("curta", "padrao", "prazo_final_s=60")
    registrar(enviada("m1", "x1"), em=curta)
    registrar(enviada("m2", "x2"))
    ausencias.cobrar(timezone.now() + timedelta(seconds=61))
    assert Excecao.objects.get().mensagem.id_interno == "m1"
