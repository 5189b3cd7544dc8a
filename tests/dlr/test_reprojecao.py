"""Recalcular com a regra e o leitor de hoje: a prévia acerta e não grava; aplicar muda só o que ela disse."""

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from dlr import reprojecao
from dlr.dominio.recibo import Recibo
from dlr.formatos import padrao, registro
from dlr.models import (
    EventoLogico,
    Excecao,
    Mensagem,
    MudancaDeProjecao,
    Ocorrencia,
    Projecao,
    Recepcao,
    RegraDeIntegracao,
)
from dlr.reprojecao import Diferenca, reprojetar
from tests.dlr.conftest import (
    Chamar,
    Ligada,
    abertas,
    aprender,
    criar,
    em_ordem,
    enviada,
    estado_de,
    recibo,
)
from tests.dlr.test_excecoes import retrato

INTERMEDIARIO = ("ACCEPTED", False, "intermediario")
FINAL = ("ACCEPTED", True, "final")


def rodar(*, aplicar: bool, integracao_id: int | None = None) -> list[Diferenca]:
    return reprojetar(integracao_id, timezone.now(), aplicar=aplicar)


def id_de(id_interno: str) -> int:
    return Mensagem.objects.get(id_interno=id_interno).pk


def aceitar_como_final(integracao: Ligada) -> None:
    RegraDeIntegracao.objects.create(
        integracao_id=integracao.id,
        versao=2,
        finais=[*integracao.objeto.formato_lido.finais, "ACCEPTED"],
        motivo="contrato: ACCEPTED encerra",
    )


@pytest.fixture
def cenario(callback: Chamar, registrar: Chamar, processar: Any, integracao: Ligada) -> Ligada:
    outra = criar("outra")
    registrar(*[enviada(nome, nome) for nome in ("aceita", "entregue", "aceita e entregue", "muda")])
    registrar(enviada("alheia", "aceita"), em=outra)
    callback([recibo("aceita", "ACCEPTED"), recibo("entregue", "DELIVERED")])
    callback([recibo("aceita e entregue", "ACCEPTED"), recibo("aceita e entregue", "DELIVERED")])
    callback(recibo("aceita", "ACCEPTED"), em=outra)
    processar()
    return integracao


def test_regra_nova_previa_lista_exatamente_as_que_mudam_e_nao_grava_nada(cenario: Ligada) -> None:
    aceitar_como_final(cenario)
    antes = retrato()
    previstas = {d.mensagem_id: (d.antes, d.depois) for d in rodar(aplicar=False)}
    assert previstas == {
        id_de("aceita"): (INTERMEDIARIO, FINAL),
        id_de("aceita e entregue"): (
            ("DELIVERED", True, "final"),
            ("ACCEPTED", True, "conflito_mantem_o_primeiro"),
        ),
    }
    assert retrato() == antes
    assert not MudancaDeProjecao.objects.exists()


def test_regra_nova_aplicada_muda_so_as_previstas_com_trilha_e_a_segunda_vez_nao_muda_nada(
    cenario: Ligada,
) -> None:
    aceitar_como_final(cenario)
    intocadas = {nome: estado_de(nome) for nome in ("entregue", "muda", "alheia")}
    previstas = rodar(aplicar=False)
    assert rodar(aplicar=True) == previstas
    assert estado_de("aceita") == FINAL
    assert estado_de("aceita e entregue") == ("ACCEPTED", True, "conflito_mantem_o_primeiro")
    assert {nome: estado_de(nome) for nome in intocadas} == intocadas
    assert abertas() == ["conflito_final"]
    mudanca = MudancaDeProjecao.objects.get(mensagem=id_de("aceita"))
    assert (mudanca.de_estado, mudanca.de_final, mudanca.de_motivo, mudanca.de_regras) == (*INTERMEDIARIO, 1)
    assert (mudanca.para_estado, mudanca.para_final, mudanca.para_motivo, mudanca.para_regras) == (*FINAL, 2)
    assert list(RegraDeIntegracao.objects.filter(integracao=cenario.id).values_list("versao", flat=True)) == [
        2,
        1,
    ]
    depois = retrato()
    assert rodar(aplicar=True) == []
    assert retrato() == depois
    assert MudancaDeProjecao.objects.count() == 2


def test_so_a_integracao_pedida_e_recalculada(cenario: Ligada) -> None:
    aceitar_como_final(cenario)
    alheia = Mensagem.objects.get(id_interno="alheia").integracao_id
    assert rodar(aplicar=True, integracao_id=alheia) == []
    assert estado_de("aceita") == INTERMEDIARIO
    assert len(rodar(aplicar=True, integracao_id=cenario.id)) == 2


@pytest.fixture
def ilegiveis(callback: Chamar, registrar: Chamar, processar: Any) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"), enviada("m3", "x3"))
    callback(b'"x1=DELIVERED"')
    callback(recibo("x2", "FOO"))
    callback(recibo("x2", "FOO"))
    callback(recibo("x3", "ENROUTE"))
    callback(b"{")
    processar()
    assert abertas() == ["estado_nao_mapeado", *["formato_nao_reconhecido"] * 2]


def test_leitor_novo_conserta_excecoes_e_projecoes_e_so_o_que_ele_le(
    ilegiveis: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    aprender(monkeypatch)
    antes = retrato()
    previstas = {d.mensagem_id: d.depois for d in rodar(aplicar=False)}
    assert previstas == {
        id_de("m1"): ("DELIVERED", True, "final"),
        id_de("m2"): ("REJECTED", True, "final"),
    }
    assert retrato() == antes
    assert {d.mensagem_id: d.depois for d in rodar(aplicar=True)} == previstas
    assert [estado_de(m)[0] for m in ("m1", "m2", "m3")] == ["DELIVERED", "REJECTED", "ENROUTE"]
    assert abertas() == ["formato_nao_reconhecido"]
    assert list(em_ordem().values_list("id_externo", "versao_do_leitor", "qtd_recepcoes")) == [
        ("x1", 2, 1), ("x2", 2, 2), ("x3", 2, 1),
    ]  # fmt: skip
    depois = retrato()
    assert rodar(aplicar=True) == []
    assert retrato() == depois


@pytest.mark.parametrize("por_vez", [1, 2, 500])
def test_a_previa_acerta_com_as_recepcoes_de_uma_mensagem_em_pedacos_diferentes(
    callback: Chamar, registrar: Chamar, processar: Any, integracao: Ligada,
    monkeypatch: pytest.MonkeyPatch, por_vez: int,
) -> None:  # fmt: skip
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    for id_externo, estado in (("x1", "FOO"), ("x2", "ENROUTE"), ("x1", "DELIVERED"), ("x1", "ACCEPTED")):
        callback(recibo(id_externo, estado))
    processar()
    aprender(monkeypatch)
    aceitar_como_final(integracao)
    monkeypatch.setattr(reprojecao, "RECEPCOES_POR_VEZ", por_vez)
    monkeypatch.setattr(reprojecao, "MENSAGENS_POR_VEZ", por_vez)
    (prevista,) = rodar(aplicar=False)
    assert prevista.depois == ("REJECTED", True, "conflito_mantem_o_primeiro")
    assert rodar(aplicar=True) == [prevista]
    assert estado_de("m1") == prevista.depois


def test_reler_com_o_mesmo_leitor_nao_muda_nada_nem_com_id_reutilizado(
    callback: Chamar, registrar: Chamar, processar: Any
) -> None:
    registrar(enviada("m1", "x1"), enviada("m2", "x2"))
    callback(recibo("x1", "DELIVERED", evento_id="e1"))
    callback(recibo("x2", "REJECTED", evento_id="e1"))
    callback([recibo("x1", "ENROUTE"), 3, recibo("x9", "FOO"), {}])
    processar()
    antes = retrato()
    ocorrencias = list(Ocorrencia.objects.order_by("pk").values())
    assert rodar(aplicar=True) == []
    assert retrato() == antes
    assert list(Ocorrencia.objects.order_by("pk").values()) == ocorrencias
    assert (estado_de("m1")[0], estado_de("m2")[0]) == ("DELIVERED", None)


def test_leitor_que_passa_a_ler_outro_estado_solta_o_evento_de_ontem_e_as_excecoes_dele(
    callback: Chamar, registrar: Chamar, processar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O evento de ontem, sem recepção nenhuma, não pode ser atado depois nem continuar aberto."""

    def ler(chamada: Any, contexto: Any) -> Any:
        return [
            replace(item, estado_bruto="DELIVERED", estado=padrao.ESTADOS["DELIVERED"])
            if isinstance(item, Recibo) and item.estado_bruto == "ENTREGUE"
            else item
            for item in padrao.ler(chamada, contexto)
        ]

    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "ENTREGUE"))
    callback(recibo("x2", "ENTREGUE"))
    processar()
    monkeypatch.setitem(registro.POR_SLUG, "padrao", replace(padrao.FORMATO, versao=2, ler=ler))
    rodar(aplicar=True)
    assert (estado_de("m1"), abertas()) == (("DELIVERED", True, "final"), [])
    registrar(enviada("m2", "x2"))
    assert estado_de("m2") == ("DELIVERED", True, "final")
    assert set(
        EventoLogico.objects.filter(estado_bruto="ENTREGUE").values_list("mensagem", "qtd_recepcoes")
    ) == {(None, 0)}
    assert set(Excecao.objects.values_list("tipo", "encerramento")) == {
        ("estado_nao_mapeado", "o leitor de hoje lê outra coisa neste recibo")
    }


def test_leitor_que_deixa_de_ler_nao_apaga_a_evidencia_ja_aceita(
    callback: Chamar, registrar: Chamar, processar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED"))
    processar()
    esquecido = replace(padrao.FORMATO, versao=3, ler=lambda chamada, contexto: [])
    monkeypatch.setitem(registro.POR_SLUG, "padrao", esquecido)
    assert rodar(aplicar=True) == []
    assert estado_de("m1")[0] == "DELIVERED" and abertas() == []


def test_o_que_ainda_esta_na_caixa_e_do_worker(callback: Chamar, registrar: Chamar, processar: Any) -> None:
    registrar(enviada("m1", "x1"))
    callback(recibo("x1", "DELIVERED"))
    assert rodar(aplicar=True) == []
    assert not EventoLogico.objects.exists()
    processar()
    assert EventoLogico.objects.get().qtd_recepcoes == Recepcao.objects.count() == 1
    assert Projecao.objects.get().estado == "DELIVERED"


def test_o_progresso_conta_ate_o_fim(cenario: Ligada) -> None:
    passos: list[tuple[str, int, int]] = []
    reprojetar(None, timezone.now(), aplicar=False, progresso=lambda *passo: passos.append(passo))
    assert passos == [("recepções", 3, 3), ("mensagens", 5, 5)]
