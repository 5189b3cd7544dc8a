"""Cada ato sobre exceções faz o seu efeito pela tela, pede motivo e permissão, e diz o número verdadeiro."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dlr.models import (
    AcaoDeExcecao,
    DecisaoDeFinal,
    EventoLogico,
    Excecao,
    Integracao,
    Mensagem,
    Projecao,
)
from painel.admin.dlr import atuacao
from tests.painel.conftest import entrar_com, mensagens
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

EXCECOES = "/admin/dlr/excecao/"
MOTIVO = "apurado por telefone"


@pytest.fixture
def conflito(ligada: Ligada) -> Excecao:
    ligada.registrar("pedido-1", "abc1")
    ligada.receber([recibo("abc1", "ENROUTE"), recibo("abc1"), recibo("abc1", "EXPIRED")])
    return Excecao.objects.get(tipo="conflito_final")


@pytest.fixture
def solta(ligada: Ligada) -> Excecao:
    ligada.registrar("pedido-1", "abc1")
    ligada.receber(recibo("ABC1"))
    passar_a_janela()
    return Excecao.objects.get(tipo="sem_correlacao")


@pytest.fixture
def tres(ligada: Ligada) -> list[Excecao]:
    ligada.receber([recibo(letra) for letra in "xyz"])
    passar_a_janela()
    return list(Excecao.objects.order_by("pk"))


def agir(cliente: Client, verbo: str, *excecoes: Excecao, **campos: Any) -> Any:
    pedido = {"excecao": [e.pk for e in excecoes], "motivo": MOTIVO, **campos}
    return cliente.post(f"{EXCECOES}atos/{verbo}/", pedido, follow=True)


def situacoes() -> list[str]:
    return list(Excecao.objects.order_by("pk").values_list("situacao", flat=True))


# ---- Um por um


def test_ligar_a_mao_ata_o_recibo_e_diz_o_estado_novo(painel: Client, solta: Excecao) -> None:
    mensagem = Mensagem.objects.get()
    previa = painel.get(f"{EXCECOES}atos/ligar/?excecao={solta.pk}&mensagem={mensagem.pk}")
    assert previa.context["escolhida"]["difere"] == "maiúsculas e minúsculas"
    assert EventoLogico.objects.get().mensagem_id is None

    resposta = agir(painel, "ligar", solta, mensagem=str(mensagem.pk))
    assert mensagens(resposta) == [f"1 recibo ligado à mensagem {mensagem.pk}, que agora está DELIVERED."]
    assert EventoLogico.objects.get().mensagem_id == mensagem.pk
    assert (Projecao.objects.get().estado, situacoes()) == ("DELIVERED", ["resolvida"])
    ato = AcaoDeExcecao.objects.get(acao="ligar")
    assert (ato.autor, ato.motivo) == (User.objects.get(), MOTIVO)
    assert MOTIVO in resposta.text


@pytest.mark.parametrize("numero", ["", "abc", "999999999", "de outra"])
def test_ligar_a_mensagem_que_nao_serve_volta_com_o_erro(painel: Client, solta: Excecao, numero: str) -> None:
    if numero == "de outra":
        numero = str(criar("outra").registrar("m", "z"))
    resposta = agir(painel, "ligar", solta, mensagem=numero)
    assert list(resposta.context["formulario"].errors) == ["mensagem"]
    assert EventoLogico.objects.get().mensagem_id is None
    assert situacoes() == ["aberta"]


def test_escolher_final_so_oferece_os_finais_recebidos(painel: Client, conflito: Excecao) -> None:
    pagina = painel.get(f"{EXCECOES}atos/escolher-final/?excecao={conflito.pk}")
    assert [v for v, _ in pagina.context["formulario"].fields["final"].choices] == [
        "DELIVERED@inteira",
        "EXPIRED@inteira",
    ]
    for final in ("ENROUTE@inteira", "REJECTED@inteira", "EXPIRED@7", ""):
        resposta = agir(painel, "escolher-final", conflito, final=final)
        assert list(resposta.context["formulario"].errors) == ["final"]
    assert not DecisaoDeFinal.objects.exists()

    resposta = agir(painel, "escolher-final", conflito, final="EXPIRED@inteira")
    assert mensagens(resposta) == ["EXPIRED escolhido; a exceção se resolveu."]
    projecao = Projecao.objects.get()
    assert (projecao.estado, projecao.motivo, situacoes()) == ("EXPIRED", "decisao_de_pessoa", ["resolvida"])


def test_escolher_final_de_uma_parte(painel: Client, ligada: Ligada) -> None:
    partes = [{"valor": "p1", "parte": 1}, {"valor": "p2", "parte": 2}]
    ligada.registrar("longa", ids_externos=partes)
    ligada.receber([recibo("p1"), recibo("p2", "EXPIRED"), recibo("p2", "DELIVERED")])
    conflito = Excecao.objects.get(tipo="conflito_final")
    opcoes = dict(
        painel.get(f"{EXCECOES}atos/escolher-final/?excecao={conflito.pk}")
        .context["formulario"]
        .fields["final"]
        .choices
    )
    assert opcoes["DELIVERED@2"] == "DELIVERED — só a parte 2"
    assert "EXPIRED@1" not in opcoes
    agir(painel, "escolher-final", conflito, final="DELIVERED@2")
    assert (Projecao.objects.get().estado, set(situacoes())) == ("DELIVERED", {"resolvida"})
    assert DecisaoDeFinal.objects.get().parte == 2


def test_reprocessar_mostra_a_previa_sem_gravar_e_depois_faz(
    painel: Client, solta: Excecao, ligada: Ligada
) -> None:
    Integracao.objects.update(id_caixa="ignorar")
    previa = painel.get(f"{EXCECOES}atos/reprocessar/?excecao={solta.pk}").context["previa"]
    assert (previa["abertas"], previa["resolveriam"]) == (1, 1)
    assert (situacoes(), AcaoDeExcecao.objects.filter(acao="reprocessar").count()) == (["aberta"], 0)
    assert EventoLogico.objects.get().mensagem_id is None

    resposta = agir(painel, "reprocessar", solta)
    assert mensagens(resposta) == ["1 exceção reprocessada: 1 resolvida, 0 ainda abertas."]
    assert situacoes() == ["resolvida"]
    assert EventoLogico.objects.get().mensagem_id is not None


def test_descartar_e_reabrir(painel: Client, solta: Excecao) -> None:
    assert mensagens(agir(painel, "descartar", solta)) == ["1 exceção descartada."]
    assert situacoes() == ["descartada"]
    assert mensagens(agir(painel, "descartar", solta)) == ["0 exceções descartadas; 1 já não cabia no ato."]
    assert mensagens(agir(painel, "reabrir", solta)) == ["1 exceção reaberta."]
    assert situacoes() == ["aberta"]


def test_ato_em_excecao_encerrada_diz_que_ja_foi(painel: Client, conflito: Excecao) -> None:
    agir(painel, "descartar", conflito)
    resposta = agir(painel, "escolher-final", conflito, final="EXPIRED@inteira")
    assert "já foi encerrada; reabra-a antes" in resposta.text
    assert not DecisaoDeFinal.objects.exists()


def test_atribuir_e_anotar(painel: Client, solta: Excecao) -> None:
    bia = User.objects.create_user("bia", is_staff=True)
    User.objects.create_user("cliente")
    resposta = painel.get(f"{EXCECOES}atos/atribuir/?excecao={solta.pk}")
    assert [str(u) for u in resposta.context["formulario"].fields["responsavel"].queryset] == ["ana", "bia"]
    assert mensagens(agir(painel, "atribuir", solta, responsavel=bia.pk)) == [
        "1 exceção atribuída; cuida: bia."
    ]
    assert Excecao.objects.get().atribuida_a == bia
    assert mensagens(agir(painel, "anotar", solta)) == ["1 exceção anotada."]
    assert situacoes() == ["aberta"]
    assert list(AcaoDeExcecao.objects.order_by("id").values_list("acao", flat=True)) == [
        "abrir",
        "atribuir",
        "anotar",
    ]


@pytest.mark.parametrize("motivo", ["", "  ", "ab", "x" * 1001, "nulo\x00"])
@pytest.mark.parametrize("verbo", ["ligar", "reprocessar", "descartar", "anotar", "atribuir"])
def test_sem_motivo_que_sirva_nada_muda(painel: Client, solta: Excecao, verbo: str, motivo: str) -> None:
    campos = {"mensagem": str(Mensagem.objects.get().pk), "responsavel": User.objects.get().pk}
    resposta = agir(painel, verbo, solta, **campos, motivo=motivo)
    assert list(resposta.context["formulario"].errors) == ["motivo"]
    assert situacoes() == ["aberta"]
    assert list(AcaoDeExcecao.objects.values_list("acao", flat=True)) == ["abrir"]


@pytest.mark.parametrize(
    "verbo", ["ligar", "escolher-final", "reprocessar", "descartar", "anotar", "atribuir", "reabrir"]
)
def test_sem_permissao_o_ato_e_recusado_e_nem_aparece(solta: Excecao, verbo: str) -> None:
    cliente = entrar_com("view_excecao", "view_mensagem")
    assert f"atos/{verbo}/" not in cliente.get(f"{EXCECOES}{solta.pk}/change/").text
    assert cliente.get(f"{EXCECOES}atos/{verbo}/?excecao={solta.pk}").status_code == 403
    assert agir(cliente, verbo, solta).status_code == 403
    assert situacoes() == ["aberta"]


@pytest.mark.parametrize("endereco", ["atos/apagar/?excecao={}", "atos/ligar/", "atos/ligar/?excecao=x"])
def test_ato_que_nao_existe_ou_sem_excecao_e_404(painel: Client, solta: Excecao, endereco: str) -> None:
    assert painel.get(EXCECOES + endereco.format(solta.pk)).status_code == 404


def test_ligar_nao_serve_para_muitas(painel: Client, tres: list[Excecao]) -> None:
    assert agir(painel, "ligar", *tres, mensagem="1").status_code == 404


# ---- Em massa


def escolher(cliente: Client, acao: str, excecoes: list[Excecao]) -> Any:
    return cliente.post(EXCECOES, {"action": acao, "_selected_action": [e.pk for e in excecoes]}, follow=True)


def test_descartar_em_massa_confirma_e_muda_so_as_escolhidas(painel: Client, tres: list[Excecao]) -> None:
    resposta = escolher(painel, "descartar", tres[:2])
    assert "Descartar: 2 exceções" in resposta.text
    assert situacoes() == ["aberta"] * 3
    resposta = agir(painel, "descartar", *tres[:2], de_muitas="1")
    assert mensagens(resposta) == ["2 exceções descartadas."]
    assert situacoes() == ["descartada", "descartada", "aberta"]
    assert resposta.redirect_chain == [(EXCECOES, 302)]


def test_reprocessar_em_massa_mostra_antes_quantas_se_resolveriam(
    painel: Client, tres: list[Excecao], ligada: Ligada
) -> None:
    Excecao.objects.update(situacao="descartada")
    ligada.registrar("m", "x")
    Excecao.objects.filter(pk__in=[e.pk for e in tres]).update(situacao="aberta")
    EventoLogico.objects.filter(id_externo="x").update(mensagem=None, correlacao="nenhuma")
    resposta = escolher(painel, "reprocessar", tres)
    assert (resposta.context["previa"]["abertas"], resposta.context["previa"]["resolveriam"]) == (3, 1)
    assert "1 se resolveria" in resposta.text
    assert situacoes() == ["aberta"] * 3
    resposta = agir(painel, "reprocessar", *tres, de_muitas="1")
    assert mensagens(resposta) == ["3 exceções reprocessadas: 1 resolvida, 2 ainda abertas."]


def test_atribuir_em_massa(painel: Client, tres: list[Excecao]) -> None:
    ana = User.objects.get(username="ana")
    assert "Quem cuida" in escolher(painel, "atribuir", tres).text
    resposta = agir(painel, "atribuir", *tres, responsavel=ana.pk, de_muitas="1")
    assert mensagens(resposta) == ["3 exceções atribuídas; cuida: ana."]
    assert Excecao.objects.filter(atribuida_a=ana).count() == 3


def test_selecao_maior_que_o_teto_nao_muda_nada(
    painel: Client, tres: list[Excecao], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atuacao, "POR_VEZ", 2)
    assert mensagens(escolher(painel, "descartar", tres)) == ["Nada mudou: escolha até 2 exceções por vez."]
    assert agir(painel, "descartar", *tres, de_muitas="1").status_code == 404
    assert situacoes() == ["aberta"] * 3


def test_massa_sem_permissao_nao_muda_nada(tres: list[Excecao]) -> None:
    cliente = entrar_com("view_excecao")
    escolher(cliente, "descartar", tres)
    assert agir(cliente, "descartar", *tres, de_muitas="1").status_code == 403
    assert situacoes() == ["aberta"] * 3
