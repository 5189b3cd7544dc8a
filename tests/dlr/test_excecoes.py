"""O que uma pessoa faz com as exceções: com trilha, em lote, e recusado sem efeito quando não cabe."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlr import amarracao, excecoes
from dlr.excecoes import AcaoImpossivel, Ato
from dlr.models import AcaoDeExcecao, DecisaoDeFinal, EventoLogico, Excecao, Mensagem, Projecao
from tests.dlr.conftest import Chamar, abertas, criar, enviada, estado_de, recibo

AGORA = timezone.now()


@pytest.fixture
def ato(db: None) -> Ato:
    return Ato(autor=User.objects.create_user("operadora"), motivo="conferi com a operadora", agora=AGORA)


def trilha(excecao: Excecao) -> list[tuple[str, str | None, str]]:
    return list(excecao.acoes.values_list("acao", "autor__username", "motivo"))


def retrato() -> dict[str, list[Any]]:
    """Tudo o que um ato poderia mudar."""
    return {
        modelo.__name__: list(modelo.objects.order_by("pk").values())
        for modelo in (Excecao, AcaoDeExcecao, EventoLogico, Projecao, DecisaoDeFinal)
    }


@pytest.fixture
def sem_correlacao(callback: Chamar, processar: Any) -> Excecao:
    callback(recibo("X1", "DELIVERED"))
    processar()
    amarracao.envelhecer(timezone.now() + timedelta(hours=1))
    return Excecao.objects.get()


@pytest.fixture
def conflito(callback: Chamar, registrar: Chamar, processar: Any) -> Excecao:
    registrar(enviada("m1", "x1"))
    callback([recibo("x1", e) for e in ("ENROUTE", "DELIVERED", "UNDELIVERABLE")])
    processar()
    return Excecao.objects.get()


@pytest.mark.parametrize("motivo", ["", "  ", "ok", " a "])
def test_sem_motivo_nao_ha_ato(ato: Ato, motivo: str) -> None:
    with pytest.raises(AcaoImpossivel, match="motivo"):
        replace(ato, motivo=motivo)


# ---- ligar


def test_ligar_ata_o_recibo_recalcula_e_deixa_trilha(
    registrar: Chamar, sem_correlacao: Excecao, ato: Ato
) -> None:
    registrar(enviada("m1", "x1"))
    assert estado_de("m1")[0] is None
    excecoes.ligar(sem_correlacao.pk, Mensagem.objects.get().pk, ato)
    sem_correlacao.refresh_from_db()
    assert (sem_correlacao.situacao, sem_correlacao.encerrada_em) == ("resolvida", AGORA)
    assert sem_correlacao.encerramento == ato.motivo
    assert estado_de("m1") == ("DELIVERED", True, "final")
    acao = sem_correlacao.acoes.last()
    assert acao is not None and (acao.acao, acao.autor, acao.motivo) == ("ligar", ato.autor, ato.motivo)
    assert (acao.feita_em, acao.detalhes) == (AGORA, {"mensagem": Mensagem.objects.get().pk})


def test_ligar_um_ambiguo_a_uma_das_candidatas_nao_toca_na_outra(
    callback: Chamar, registrar: Chamar, processar: Any, ato: Ato
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    excecoes.ligar(Excecao.objects.get().pk, Mensagem.objects.get(id_interno="m2").pk, ato)
    assert (estado_de("m1")[0], estado_de("m2")[0], abertas()) == (None, "DELIVERED", [])


def test_ligar_o_que_nao_se_pode_e_recusado_sem_efeito(
    registrar: Chamar, callback: Chamar, processar: Any, sem_correlacao: Excecao, ato: Ato
) -> None:
    outra = criar("outra")
    registrar(enviada("alheia", "z"), em=outra)
    callback(b"{")
    processar()
    ilegivel = Excecao.objects.get(tipo="formato_nao_reconhecido")
    alheia = Mensagem.objects.get()
    antes = retrato()
    for excecao_id, mensagem_id, frase in (
        (sem_correlacao.pk, alheia.pk, "não existe nesta integração"),
        (sem_correlacao.pk, 10**9, "não existe nesta integração"),
        (ilegivel.pk, alheia.pk, "recibo sem mensagem"),
        (10**9, alheia.pk, "não existe"),
    ):
        with pytest.raises(AcaoImpossivel, match=frase):
            excecoes.ligar(excecao_id, mensagem_id, ato)
    assert retrato() == antes


def test_encerrada_so_se_mexe_depois_de_reaberta(
    registrar: Chamar, sem_correlacao: Excecao, ato: Ato
) -> None:
    registrar(enviada("m1", "x1"))
    mensagem = Mensagem.objects.get()
    assert excecoes.descartar([sem_correlacao.pk], ato) == 1
    with pytest.raises(AcaoImpossivel, match="reabra"):
        excecoes.ligar(sem_correlacao.pk, mensagem.pk, ato)
    assert excecoes.reabrir([sem_correlacao.pk], ato) == 1
    excecoes.ligar(sem_correlacao.pk, mensagem.pk, ato)
    assert [acao for acao, *_ in trilha(sem_correlacao)] == ["abrir", "descartar", "reabrir", "ligar"]


# ---- escolher o final


@pytest.mark.parametrize("estado", ["DELIVERED", "UNDELIVERABLE"])
def test_escolher_o_final_fecha_o_conflito_e_o_estado_e_o_escolhido(
    conflito: Excecao, ato: Ato, estado: str
) -> None:
    excecoes.escolher_final(conflito.pk, estado, ato)
    assert estado_de("m1") == (estado, True, "decisao_de_pessoa")
    conflito.refresh_from_db()
    assert (conflito.situacao, conflito.encerramento) == ("resolvida", "uma pessoa escolheu o final que vale")
    assert [(acao, autor) for acao, autor, _ in trilha(conflito)] == [
        ("abrir", None), ("escolher_final", "operadora"), ("fechar", None),
    ]  # fmt: skip
    decisao = DecisaoDeFinal.objects.get()
    assert (decisao.estado, decisao.autor, decisao.motivo, decisao.decidida_em) == (
        estado, ato.autor, ato.motivo, AGORA,
    )  # fmt: skip


def test_repeticao_depois_da_decisao_nao_a_desfaz(
    conflito: Excecao, ato: Ato, callback: Chamar, processar: Any
) -> None:
    excecoes.escolher_final(conflito.pk, "UNDELIVERABLE", ato)
    callback(recibo("x1", "DELIVERED"))
    callback(recibo("x1", "ENROUTE", erro="9"))
    processar()
    assert estado_de("m1") == ("UNDELIVERABLE", True, "decisao_de_pessoa")
    assert abertas() == []


@pytest.mark.parametrize("estado", ["EXPIRED", "ENROUTE", "qualquer", ""])
def test_escolher_o_que_nenhum_recibo_comunicou_como_final_e_recusado_sem_efeito(
    conflito: Excecao, ato: Ato, estado: str
) -> None:
    antes = retrato()
    with pytest.raises(AcaoImpossivel, match="recebidos: DELIVERED, UNDELIVERABLE"):
        excecoes.escolher_final(conflito.pk, estado, ato)
    assert retrato() == antes


def test_escolher_final_de_quem_nao_tem_conflito_e_recusado(sem_correlacao: Excecao, ato: Ato) -> None:
    antes = retrato()
    with pytest.raises(AcaoImpossivel, match="finais em conflito"):
        excecoes.escolher_final(sem_correlacao.pk, "DELIVERED", ato)
    assert retrato() == antes


@pytest.fixture
def divergente(callback: Chamar, registrar: Chamar, processar: Any) -> Excecao:
    registrar({"id_interno": "m1", "ids_externos": [{"valor": "a", "parte": 1}, {"valor": "b", "parte": 2}]})
    callback([recibo("a", "DELIVERED"), recibo("b", "EXPIRED")])
    processar()
    return Excecao.objects.get()


def test_escolher_para_a_mensagem_inteira_resolve_partes_divergentes(divergente: Excecao, ato: Ato) -> None:
    excecoes.escolher_final(divergente.pk, "EXPIRED", ato)
    assert estado_de("m1") == ("EXPIRED", True, "decisao_de_pessoa")
    assert abertas() == []


def test_escolher_para_uma_parte_o_final_da_outra_e_recusado(divergente: Excecao, ato: Ato) -> None:
    antes = retrato()
    for parte in (2, 3):
        with pytest.raises(AcaoImpossivel, match=f"da parte {parte}"):
            excecoes.escolher_final(divergente.pk, "DELIVERED", ato, parte=parte)
    assert retrato() == antes


# ---- em lote


@pytest.fixture
def varias(callback: Chamar, processar: Any) -> list[int]:
    callback([1, 2, 3])
    processar()
    return list(Excecao.objects.order_by("pk").values_list("pk", flat=True))


def test_descartar_e_reabrir_em_lote_contam_so_as_que_cabem(varias: list[int], ato: Ato) -> None:
    assert excecoes.descartar(varias[:2], ato) == 2
    assert excecoes.descartar(varias, ato) == 1
    assert set(Excecao.objects.values_list("situacao", "encerramento")) == {("descartada", ato.motivo)}
    assert excecoes.reabrir([*varias, 10**9], ato) == 3
    assert set(Excecao.objects.values_list("situacao", "encerrada_em", "encerramento")) == {
        ("aberta", None, "")
    }
    assert [len(trilha(excecao)) for excecao in Excecao.objects.order_by("pk")] == [3, 3, 3]


def test_atribuir_e_anotar_em_lote(varias: list[int], ato: Ato) -> None:
    excecoes.descartar(varias[:1], ato)
    responsavel = User.objects.create_user("ana")
    assert excecoes.atribuir(varias, responsavel, ato) == 2
    assert list(Excecao.objects.order_by("pk").values_list("atribuida_a", flat=True)) == [
        None, responsavel.pk, responsavel.pk,
    ]  # fmt: skip
    assert excecoes.anotar(varias, ato) == 3
    assert abertas() == ["formato_nao_reconhecido"] * 2
    assert AcaoDeExcecao.objects.filter(acao="anotar", autor=ato.autor).count() == 3


def test_descartada_nao_reabre_pela_mesma_causa(
    conflito: Excecao, ato: Ato, callback: Chamar, processar: Any
) -> None:
    excecoes.descartar([conflito.pk], ato)
    callback(recibo("x1", "UNDELIVERABLE", erro="outro"))
    processar()
    assert abertas() == []
    assert estado_de("m1") == ("DELIVERED", True, "conflito_mantem_o_primeiro")
