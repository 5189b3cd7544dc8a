"""O cadastro de integrações: segredos que só entram, token, finais com prévia, e o payload experimentado."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from config.cofre import decifrar
from dlr.autenticacao import memoria
from dlr.cofre import resumir_token
from dlr.models import (
    EventoLogico,
    Integracao,
    MudancaDeProjecao,
    Projecao,
    Recepcao,
    RecepcaoPendente,
    RegraDeIntegracao,
)
from painel.admin.dlr import finais
from tests.painel.conftest import entrar_com, mensagens
from tests.painel.recibos import Ligada, criar, recibo

pytestmark = pytest.mark.django_db

INTEGRACOES = "/admin/dlr/integracao/"
MOTIVO = "apurado por telefone"
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
