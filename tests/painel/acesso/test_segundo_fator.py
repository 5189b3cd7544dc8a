"""O segundo fator: ativar, entrar com ele, perder o aparelho e ter de removê-lo."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from painel.acesso.pendente import VALIDADE_S
from painel.models import Autenticador, CodigosDeRecuperacao
from tests.painel.acesso.conftest import CODIGO, FATOR, LOGIN, SENHA, dentro, tentar
from tests.painel.conftest import entrar_com, mensagens

pytestmark = pytest.mark.django_db


def codigo_de(autenticador: Autenticador, passos: int = 0) -> str:
    """O que o aplicativo da pessoa mostraria agora (ou `passos` meios minutos adiante)."""
    totp = TOTP(autenticador.bin_key, drift=passos)
    totp.time = timezone.now().timestamp()
    return f"{totp.token():06d}"


@pytest.fixture
def ativada(ana: User, navegador: Client) -> list[str]:
    """Ana ativa o segundo fator pela tela e sai; devolve os códigos de recuperação que ela viu."""
    navegador.force_login(ana)
    navegador.get(FATOR)
    resposta = navegador.post(FATOR, {"codigo": codigo_de(Autenticador.objects.get())})
    assert resposta.status_code == 200
    codigos: list[str] = resposta.context["codigos"]
    Autenticador.objects.update(last_t=-1)  # o mesmo meio minuto serve de novo: o teste não espera outro
    navegador.logout()
    AccessLog.objects.all().delete()
    return codigos


def entrar(cliente: Client, codigo: str | None = None) -> Any:
    assert tentar(cliente, senha=SENHA).headers["Location"] == CODIGO
    return cliente.post(CODIGO, {"codigo": codigo or codigo_de(Autenticador.objects.get())})


def test_ativar_mostra_qr_e_segredo_e_so_vale_depois_do_codigo(ana: User, navegador: Client) -> None:
    navegador.force_login(ana)
    tela = navegador.get(FATOR)
    assert "<svg" in tela.text
    por_confirmar = Autenticador.objects.get()
    assert not por_confirmar.confirmed
    errado = navegador.post(FATOR, {"codigo": "000000"})
    assert "não confere" in errado.text
    assert not Autenticador.objects.get().confirmed
    outro = Client()
    assert tentar(outro, senha=SENHA).headers["Location"] == "/admin/"


def test_depois_de_ativar_a_senha_sozinha_nao_entra(ativada: list[str], navegador: Client) -> None:
    assert tentar(navegador, senha=SENHA).headers["Location"] == CODIGO
    assert not dentro(navegador)
    assert not AccessLog.objects.exists()
    assert "ana" in navegador.get(CODIGO).text
    assert navegador.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())}).status_code == 302
    assert dentro(navegador)
    assert AccessLog.objects.get().username == "ana"
    assert "Ativou o segundo fator." in LogEntry.objects.get().change_message


def test_o_codigo_leva_aonde_a_pessoa_ia(ativada: list[str], navegador: Client) -> None:
    navegador.post(LOGIN, {"username": "ana", "password": SENHA, "next": "/admin/auth/user/"})
    resposta = navegador.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())})
    assert resposta.headers["Location"] == "/admin/auth/user/"


def test_destino_de_fora_nao_e_seguido(ativada: list[str], navegador: Client) -> None:
    navegador.post(LOGIN, {"username": "ana", "password": SENHA, "next": "https://mau.example/"})
    resposta = navegador.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())})
    assert resposta.headers["Location"] == "/admin/"


@pytest.mark.parametrize(
    "destino",
    [
        "//mau.example/", "///mau.example", "/\\mau.example", "\\\\mau.example", "http:mau.example",
        "javascript:alert(1)",
        "https://testserver@mau.example/", "https://testserver.mau.example/", "/\t/mau.example", "ftp://testserver/",
    ],
)  # fmt: skip
@pytest.mark.parametrize("com_codigo", [False, True], ids=["só senha", "com código"])
def test_next_nunca_leva_para_fora(ana: User, request: Any, destino: str, com_codigo: bool) -> None:
    if com_codigo:
        request.getfixturevalue("ativada")
    navegador = Client(headers={"accept": "text/html"})
    resposta = navegador.post(LOGIN, {"username": "ana", "password": SENHA, "next": destino})
    if com_codigo:
        resposta = navegador.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())})
    assert (resposta.status_code, resposta.headers["Location"]) == (302, "/admin/")


def test_o_codigo_se_gasta_por_pessoa_e_nao_por_endereco(ativada: list[str]) -> None:
    """Trocar de endereço e de sessão a cada tentativa não devolve nenhuma: a espera é da conta."""
    recusas = []
    for n in range(3):
        cliente = Client(REMOTE_ADDR=f"10.3.0.{n}")
        tentar(cliente, senha=SENHA)
        recusas.append(cliente.post(CODIGO, {"codigo": "000000"}).text)
    assert "não confere" in recusas[0]
    assert "Muitos erros seguidos" in recusas[1] and "Muitos erros seguidos" in recusas[2]
    certo = Client(REMOTE_ADDR="10.3.0.9")
    tentar(certo, senha=SENHA)
    assert "Muitos erros" in certo.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())}).text
    assert not dentro(certo)


def test_o_mesmo_codigo_nao_entra_duas_vezes(ativada: list[str], navegador: Client) -> None:
    codigo = codigo_de(Autenticador.objects.get())
    assert entrar(navegador, codigo).status_code == 302
    outro = Client()
    assert entrar(outro, codigo).status_code == 200
    assert not dentro(outro)


def test_erro_de_codigo_impoe_espera_que_dobra(ativada: list[str], navegador: Client) -> None:
    assert "não confere" in entrar(navegador, "000000").text
    Autenticador.objects.update(
        throttling_failure_count=6, throttling_failure_timestamp=timezone.now()
    )  # o próximo só daqui a 32 s
    resposta = navegador.post(CODIGO, {"codigo": codigo_de(Autenticador.objects.get())})
    assert "Muitos erros seguidos: espere 3" in resposta.text
    assert not dentro(navegador)
    assert Autenticador.objects.get().throttling_failure_count == 6


def test_codigo_de_recuperacao_entra_uma_vez_e_o_banco_so_tem_o_resumo(
    ativada: list[str], navegador: Client
) -> None:
    assert len(set(ativada)) == 10
    guardados = set(StaticToken.objects.values_list("token", flat=True))
    assert not guardados & {codigo.replace("-", "") for codigo in ativada} | guardados & set(ativada)
    assert entrar(navegador, f" {ativada[0].upper().replace('-', '')} ").status_code == 302
    tela = navegador.get("/admin/")
    assert mensagens(tela) == ["Você entrou com um código de recuperação, que não vale mais; restam 9."]
    assert entrar(Client(), ativada[0]).status_code == 200


def test_codigo_de_recuperacao_de_outra_pessoa_nao_serve(ativada: list[str], navegador: Client) -> None:
    rui = User.objects.create_superuser("rui", password=SENHA)
    Autenticador.objects.create(user=rui, name="aplicativo")
    CodigosDeRecuperacao.objects.create(user=rui, name="recuperação").trocar()
    tentar(navegador, "rui", SENHA)
    assert navegador.post(CODIGO, {"codigo": ativada[0]}).status_code == 200
    assert not dentro(navegador)


def test_o_banco_sozinho_nao_gera_codigos(ativada: list[str], navegador: Client) -> None:
    do_banco = TOTPDevice.objects.get()
    totp = TOTP(do_banco.bin_key)  # o que quem roubou a tabela calcularia
    totp.time = timezone.now().timestamp()
    assert entrar(navegador, f"{totp.token():06d}").status_code == 200
    assert not dentro(navegador)


def test_a_espera_pelo_codigo_vence_e_trocar_a_senha_a_desfaz(
    ativada: list[str], navegador: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from painel.acesso import pendente

    tentar(navegador, senha=SENHA)
    agora = pendente.time.time()
    monkeypatch.setattr(pendente.time, "time", lambda: agora + VALIDADE_S + 1)
    assert navegador.get(CODIGO).headers["Location"] == LOGIN
    monkeypatch.undo()
    tentar(navegador, senha=SENHA)
    ana = User.objects.get()
    ana.set_password("outra senha comprida")
    ana.save()
    assert navegador.get(CODIGO).headers["Location"] == LOGIN


def test_codigo_sem_ter_passado_pela_senha_volta_ao_login(ativada: list[str], navegador: Client) -> None:
    codigo = {"codigo": codigo_de(Autenticador.objects.get())}
    assert navegador.post(CODIGO, codigo).headers["Location"] == LOGIN
    assert not dentro(navegador)


def test_sessao_aberta_antes_de_ativar_tambem_passa_a_dever_o_codigo(ana: User, navegador: Client) -> None:
    antiga = Client()
    antiga.force_login(ana)
    assert dentro(antiga)
    navegador.force_login(ana)
    navegador.get(FATOR)
    navegador.post(FATOR, {"codigo": codigo_de(Autenticador.objects.get())})
    assert dentro(navegador)
    assert antiga.get("/admin/auth/user/", follow=True).redirect_chain[-1][0] == CODIGO
    assert antiga.get(FATOR).headers["Location"] == CODIGO
    assert antiga.post(f"{FATOR}desativar/", {"senha": SENHA}).headers["Location"] == CODIGO
    assert Autenticador.objects.filter(confirmed=True).exists()


def test_desativar_e_renovar_pedem_a_senha(ativada: list[str], navegador: Client) -> None:
    entrar(navegador)
    for acao in ("desativar", "codigos"):
        assert "A senha não confere." in navegador.post(f"{FATOR}{acao}/", {"senha": "errada"}).text
    assert CodigosDeRecuperacao.objects.get().token_set.count() == 10
    novos = navegador.post(f"{FATOR}codigos/", {"senha": SENHA}).context["codigos"]
    assert not set(novos) & set(ativada)
    navegador.post(f"{FATOR}desativar/", {"senha": SENHA})
    assert not TOTPDevice.objects.exists()
    assert not StaticToken.objects.exists()
    assert tentar(Client(), senha=SENHA).headers["Location"] == "/admin/"
    assert [linha.change_message for linha in LogEntry.objects.order_by("id")] == [
        "Ativou o segundo fator.",
        "Gerou códigos de recuperação novos.",
        "Desativou o próprio segundo fator.",
    ]


def test_senha_errada_no_segundo_fator_conta_para_a_tranca(ativada: list[str], navegador: Client) -> None:
    entrar(navegador)
    for _ in range(5):
        resposta = navegador.post(f"{FATOR}desativar/", {"senha": "errada"})
    assert resposta.status_code == 429
    assert Autenticador.objects.exists()


def test_administracao_remove_o_segundo_fator_de_outro_com_trilha(ativada: list[str]) -> None:
    ana = User.objects.get()
    chefe = User.objects.create_superuser("chefe")
    cliente = Client()
    cliente.force_login(chefe)
    endereco = f"/admin/auth/user/{ana.pk}/remover-segundo-fator/"
    assert "Remover o segundo fator de “ana”?" in cliente.get(endereco).text
    assert Autenticador.objects.exists()
    resposta = cliente.post(endereco, follow=True)
    assert mensagens(resposta) == ["Segundo fator de ana removido: ela entra só com a senha."]
    assert not Autenticador.objects.exists()
    linha = LogEntry.objects.order_by("id").last()
    assert linha is not None
    assert (linha.user, linha.object_id) == (chefe, str(ana.pk))
    assert linha.change_message == "Removeu o segundo fator desta pessoa."


def test_remover_o_de_outro_pede_permissao(ativada: list[str]) -> None:
    rui = User.objects.create_user("rui", is_staff=True)
    Autenticador.objects.create(user=rui, name="aplicativo")
    cliente = entrar_com("view_user", "change_user")
    assert cliente.post(f"/admin/auth/user/{rui.pk}/remover-segundo-fator/").status_code == 403
    assert Autenticador.objects.filter(user=rui).exists()


def test_comando_de_emergencia_remove_e_deixa_na_trilha(ativada: list[str], navegador: Client) -> None:
    saida = StringIO()
    call_command("remover_segundo_fator", "ana", stdout=saida)
    assert "removido" in saida.getvalue()
    assert tentar(navegador, senha=SENHA).headers["Location"] == "/admin/"
    assert LogEntry.objects.filter(change_message__contains="por comando").count() == 1
    for nome, frase in (("ana", "não tem segundo fator"), ("ninguem", "Não há usuário")):
        with pytest.raises(CommandError, match=frase):
            call_command("remover_segundo_fator", nome)


def test_exigido_por_configuracao_quem_nao_tem_so_consegue_ativar(
    ana: User, navegador: Client, settings: Any
) -> None:
    settings.EXIGIR_SEGUNDO_FATOR = True
    resposta = navegador.post(LOGIN, {"username": "ana", "password": SENHA, "next": "/admin/"}, follow=True)
    assert resposta.redirect_chain[-1][0] == FATOR
    assert "Este servidor exige o segundo fator" in resposta.text
    assert navegador.get("/admin/auth/user/").status_code == 302
    codigos = navegador.post(FATOR, {"codigo": codigo_de(Autenticador.objects.get())})
    assert len(codigos.context["codigos"]) == 10
    assert dentro(navegador)


def test_sem_papel_nem_equipe_ninguem_ve_o_segundo_fator(db: None, navegador: Client) -> None:
    assert navegador.get(FATOR).headers["Location"].startswith(LOGIN)
    navegador.force_login(User.objects.create_user("cliente"))
    assert navegador.get(FATOR).headers["Location"].startswith(LOGIN)


def test_telas_do_django_otp_nao_existem(ativada: list[str], painel_do_chefe: Callable[[], Client]) -> None:
    cliente = painel_do_chefe()
    for endereco in ("otp_totp/totpdevice/", "otp_static/staticdevice/"):
        assert cliente.get(f"/admin/{endereco}").status_code == 404


@pytest.fixture
def painel_do_chefe(db: None) -> Callable[[], Client]:
    def entrar() -> Client:
        cliente = Client(headers={"accept": "text/html"})
        cliente.force_login(User.objects.create_superuser("chefe"))
        return cliente

    return entrar
