"""Cada ato sobre recibos faz o seu efeito pela tela, pede motivo e permissão, e diz o número verdadeiro."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.cofre import decifrar
from dlr import tasks
from dlr.autenticacao import memoria
from dlr.cofre import resumir_token
from dlr.models import (
    AcaoDeExcecao,
    DecisaoDeFinal,
    EventoLogico,
    Excecao,
    Integracao,
    Mensagem,
    MudancaDeProjecao,
    Projecao,
    Recepcao,
    RecepcaoPendente,
    RegraDeIntegracao,
)
from dlr.processamento import CAIXA_DE_RECEPCOES
from painel.admin.dlr import atuacao, finais
from tests.painel.conftest import entrar_com, mensagens
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

EXCECOES, INTEGRACOES, PENDENTES = (
    f"/admin/dlr/{modelo}/" for modelo in ("excecao", "integracao", "recepcaopendente")
)
MOTIVO = "apurado por telefone"


@pytest.fixture
def ligada(db: None) -> Ligada:
    return criar()


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


# ---- Integração

FORMULARIO = {
    "slug": "nova",
    "nome": "Nova",
    "formato": "twilio",
    "fuso": "America/Sao_Paulo",
    "id_base": "exata",
    "id_zeros": "exatos",
    "id_caixa": "exata",
    "janela_espera_s": "900",
    "recibo_do_aparelho": "on",
    "prazo_final_s": "259200",
    "usuario": "",
    "redes": "",
}


def acao(ligada: Ligada, nome: str) -> str:
    return f"{INTEGRACOES}{ligada.id}/{nome}/"


def test_criar_mostra_o_token_uma_vez_e_guarda_so_o_resumo(painel: Client) -> None:
    campos = {**FORMULARIO, "segredo": "s3gr3do", "redes": "10.0.0.0/8\n 192.0.2.1 \n10.0.0.0/8"}
    resposta = painel.post(f"{INTEGRACOES}add/", campos)
    nova = Integracao.objects.get()
    token = resposta.context["token"]
    assert resposta.status_code == 200
    assert "no-store" in resposta["Cache-Control"]
    assert token in resposta.text
    assert nova.token_resumo == resumir_token(token)
    assert (nova.redes, decifrar(nova.segredo_cifrado)) == (["10.0.0.0/8", "192.0.2.1"], "s3gr3do")
    assert "s3gr3do" not in nova.segredo_cifrado
    regra = RegraDeIntegracao.objects.get()
    assert (regra.versao, regra.finais) == (1, sorted(nova.formato_lido.finais))
    pagina = painel.get(f"{INTEGRACOES}{nova.pk}/change/").text
    for secreto in (token, nova.token_resumo, "s3gr3do", nova.segredo_cifrado):
        assert secreto not in pagina


@pytest.mark.parametrize(
    ("campo", "valor"),
    [
        ("slug", "Com Espaço"),
        ("fuso", "Marte/Base"),
        ("redes", "10.0.0.0/8\nnão é rede"),
        ("formato", "inventado"),
        ("janela_espera_s", "999999999"),
    ],
)
def test_campo_invalido_volta_com_o_erro_no_campo(painel: Client, campo: str, valor: str) -> None:
    resposta = painel.post(f"{INTEGRACOES}add/", {**FORMULARIO, campo: valor})
    assert list(resposta.context["adminform"].form.errors) == [campo]
    assert not Integracao.objects.exists()


def test_segredo_vazio_mantem_o_que_ha_e_apagar_o_apaga(painel: Client, ligada: Ligada) -> None:
    pagina = f"{INTEGRACOES}{ligada.id}/change/"
    campos = {**FORMULARIO, "formato": "padrao"}
    painel.post(pagina, {**campos, "segredo": "um", "senha": "dois", "usuario": "eu"})
    guardada = ligada.registro
    assert (decifrar(guardada.segredo_cifrado), decifrar(guardada.senha_cifrada)) == ("um", "dois")
    assert "Já cadastrado; vazio o mantém." in painel.get(pagina).text

    painel.post(pagina, {**campos, "nome": "Outro nome"})
    assert ligada.registro.segredo_cifrado == guardada.segredo_cifrado
    assert (ligada.registro.nome, ligada.registro.slug) == ("Outro nome", "operadora-a")

    resposta = painel.post(pagina, {**campos, "segredo": "x", "apagar_segredo": "on"})
    assert list(resposta.context["adminform"].form.errors) == ["segredo"]
    painel.post(pagina, {**campos, "apagar_segredo": "on"})
    assert (ligada.registro.segredo_cifrado, decifrar(ligada.registro.senha_cifrada)) == ("", "dois")


def test_salvar_o_formulario_nao_desfaz_uma_troca_de_token(painel: Client, ligada: Ligada) -> None:
    Integracao.objects.update(token_resumo="outro")
    painel.post(f"{INTEGRACOES}{ligada.id}/change/", {**FORMULARIO, "formato": "padrao"})
    assert (ligada.registro.nome, ligada.registro.token_resumo) == ("Nova", "outro")


def test_trocar_o_token_pede_confirmacao_mostra_o_novo_e_recusa_o_antigo(
    painel: Client, ligada: Ligada
) -> None:
    assert "deixa de valer" in painel.get(acao(ligada, "trocar-token")).text
    assert ligada.receber(recibo("a")) == 202
    resposta = painel.post(acao(ligada, "trocar-token"))
    novo = resposta.context["token"]
    assert resposta.text.count(novo) == 2  # sozinho e no endereço
    assert ligada.receber(recibo("b")) == 403
    outra = Ligada(id=ligada.id, token=novo, url_callback=f"/dlr/callback/operadora-a/{novo}")
    assert outra.receber(recibo("c")) == 202
    assert LogEntry.objects.get().change_message == "Trocou o token."
    assert novo not in painel.get(f"{INTEGRACOES}{ligada.id}/history/").text


def test_excluir_e_logico_e_restaurar_desfaz(painel: Client, ligada: Ligada) -> None:
    painel.post(acao(ligada, "excluir"))
    assert ligada.receber(recibo("a")) == 404
    assert painel.get(INTEGRACOES).context["cl"].result_count == 0
    assert "está excluída" in painel.get(f"{INTEGRACOES}{ligada.id}/change/").text
    painel.post(acao(ligada, "restaurar"))
    assert ligada.receber(recibo("a")) == 202
    memoria.esquecer()


def test_mudar_os_finais_grava_a_versao_mostra_a_previa_e_so_aplica_quando_se_pede(
    painel: Client, ligada: Ligada
) -> None:
    ligada.registrar("m", "a")
    ligada.receber(recibo("a", "UNKNOWN"))
    assert not Projecao.objects.get().final
    campos = {"finais": ["DELIVERED", "UNKNOWN"], "motivo": MOTIVO}
    resposta = painel.post(acao(ligada, "mudar-finais"), campos, follow=True)
    assert resposta.redirect_chain == [(acao(ligada, "reprojecao"), 302)]
    assert resposta.context["previa"].quantas == 1
    assert (Projecao.objects.get().final, MudancaDeProjecao.objects.count()) == (False, 0)
    regra = RegraDeIntegracao.objects.get(versao=2)
    assert (regra.finais, regra.motivo, str(regra.autor)) == (["DELIVERED", "UNKNOWN"], MOTIVO, "ana")

    resposta = painel.post(acao(ligada, "reprojecao"), follow=True)
    assert mensagens(resposta) == ["1 mensagem mudou; como eram ficou guardado."]
    assert (Projecao.objects.get().final, MudancaDeProjecao.objects.count()) == (True, 1)
    assert "v2 em vigor" in resposta.text
    assert "v1" in resposta.text
    assert painel.get(acao(ligada, "reprojecao")).context["previa"].quantas == 0


@pytest.mark.parametrize(
    ("campos", "campo"),
    [
        ({"finais": ["DELIVERED"], "motivo": ""}, "motivo"),
        ({"finais": [], "motivo": MOTIVO}, "finais"),
        ({"finais": ["INVENTADO"], "motivo": MOTIVO}, "finais"),
    ],
)
def test_finais_sem_motivo_ou_sem_estado_nao_gravam(
    painel: Client, ligada: Ligada, campos: dict[str, Any], campo: str
) -> None:
    resposta = painel.post(acao(ligada, "mudar-finais"), campos)
    assert list(resposta.context["formulario"].errors) == [campo]
    assert RegraDeIntegracao.objects.count() == 1


def test_finais_iguais_aos_de_hoje_nao_criam_versao(painel: Client, ligada: Ligada) -> None:
    iguais = finais.finais_em_vigor(ligada.registro)
    resposta = painel.post(acao(ligada, "mudar-finais"), {"finais": iguais, "motivo": MOTIVO})
    assert "nada mudou" in resposta.text
    assert RegraDeIntegracao.objects.count() == 1


def test_integracao_grande_demais_para_a_tela_manda_ao_comando(
    painel: Client, ligada: Ligada, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finais, "RECEPCOES_NA_TELA", 1)
    ligada.receber(recibo("a"))
    ligada.receber(recibo("b"))
    assert (
        "manage.py reprojetar --integracao operadora-a --aplicar"
        in painel.get(acao(ligada, "reprojecao")).text
    )
    monkeypatch.setattr(finais, "aplicar", lambda *args: pytest.fail("não era para aplicar"))
    assert painel.post(acao(ligada, "reprojecao")).status_code == 200


def test_experimentar_mostra_o_que_se_leria_e_nao_guarda_nada(painel: Client, ligada: Ligada) -> None:
    corpo = '[{"id_externo": "a1", "estado": "DELIVERED", "concluido_em": "2026-11-30T12:00:00Z"}, 7, {}]'
    resposta = painel.post(acao(ligada, "experimentar"), {"corpo": corpo})
    assert [item.titulo for item in resposta.context["itens"]] == [
        "Recibo: DELIVERED",
        "Abriria a exceção “Formato não reconhecido”",
        "Abriria a exceção “Recibo parcial”",
    ]
    assert "a1" in resposta.text
    assert Recepcao.objects.count() == RecepcaoPendente.objects.count() == EventoLogico.objects.count() == 0


def test_experimentar_um_get_pela_consulta(painel: Client, db: None) -> None:
    ligada = criar("zap", "kannel")
    consulta = "?type=1&id=k1&answer=stat:DELIVRD"
    (item,) = painel.post(acao(ligada, "experimentar"), {"consulta": consulta}).context["itens"]
    assert item.titulo == "Recibo: DELIVERED"


@pytest.mark.parametrize("nome", ["trocar-token", "mudar-finais", "excluir", "restaurar", "reprojecao"])
def test_acao_de_integracao_sem_permissao_e_recusada(ligada: Ligada, nome: str) -> None:
    cliente = entrar_com("view_integracao")
    antes = ligada.registro
    assert cliente.post(acao(ligada, nome), {"finais": ["DELIVERED"], "motivo": MOTIVO}).status_code == 403
    assert (ligada.registro.token_resumo, ligada.registro.deletado) == (antes.token_resumo, False)
    assert RegraDeIntegracao.objects.count() == 1


def test_quem_so_ve_a_integracao_nao_ve_campo_de_segredo(ligada: Ligada) -> None:
    pagina = entrar_com("view_integracao").get(f"{INTEGRACOES}{ligada.id}/change/")
    assert pagina.status_code == 200
    assert 'type="password"' not in pagina.text


# ---- Caixa de recepções


@pytest.fixture
def acordadas(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    vezes: list[bool] = []
    monkeypatch.setattr(tasks.despertador_de_recepcoes, "acordar", lambda: vezes.append(True))
    return vezes


@pytest.fixture
def estacionadas(ligada: Ligada) -> list[RecepcaoPendente]:
    for n in range(3):
        ligada.receber(recibo(f"r{n}"), aplicar=False)
    ids = list(RecepcaoPendente.objects.order_by("pk").values_list("pk", flat=True))
    RecepcaoPendente.objects.filter(pk__in=ids[:2]).update(
        estacionado_em=timezone.now(), tentativas=5, falha="DataError: x"
    )
    return list(RecepcaoPendente.objects.order_by("pk"))


def test_reexecutar_devolve_so_as_estacionadas_e_acorda_o_worker(
    painel: Client, estacionadas: list[RecepcaoPendente], acordadas: list[bool]
) -> None:
    acordadas.clear()
    escolhidas = {"action": "reexecutar", "_selected_action": [p.pk for p in estacionadas]}
    assert mensagens(painel.post(PENDENTES, escolhidas, follow=True)) == ["2 recepções voltaram à fila."]
    assert acordadas == [True]
    assert CAIXA_DE_RECEPCOES.esvaziar().aplicados == 3
    assert EventoLogico.objects.count() == 3


def test_reexecutar_na_pagina_e_o_que_nao_esta_estacionado(
    painel: Client, estacionadas: list[RecepcaoPendente], acordadas: list[bool]
) -> None:
    acordadas.clear()
    resposta = painel.post(f"{PENDENTES}{estacionadas[0].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["1 recepção voltou à fila."]
    resposta = painel.post(f"{PENDENTES}{estacionadas[2].pk}/reexecucao/", follow=True)
    assert mensagens(resposta) == ["Nada a reexecutar: só recepções estacionadas voltam à fila."]
    assert acordadas == [True]


def test_reexecutar_sem_permissao_e_recusado(estacionadas: list[RecepcaoPendente]) -> None:
    cliente = entrar_com("view_recepcaopendente")
    assert cliente.post(f"{PENDENTES}{estacionadas[0].pk}/reexecucao/").status_code == 403
    assert RecepcaoPendente.objects.filter(estacionado_em__isnull=False).count() == 2
