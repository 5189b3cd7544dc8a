"""Entrar: a tranca contra quem adivinha, e o segundo fator."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from painel.acesso.pendente import VALIDADE_S
from painel.acesso.tranca import FOLGA_DO_ENDERECO
from painel.models import Autenticador, CodigosDeRecuperacao
from tests.painel.conftest import entrar_com, mensagens

pytestmark = pytest.mark.django_db

SENHA = "uma senha comprida 42"
LOGIN, CODIGO, FATOR = "/admin/login/", "/admin/login/codigo/", "/admin/segundo-fator/"


@pytest.fixture
def ana(db: None) -> User:
    return User.objects.create_superuser("ana", password=SENHA)


@pytest.fixture
def navegador() -> Client:
    return Client(headers={"accept": "text/html"})


def tentar(cliente: Client, nome: str = "ana", senha: str = "errada", **extras: Any) -> Any:
    return cliente.post(LOGIN, {"username": nome, "password": senha, "next": "/admin/"}, **extras)


def dentro(cliente: Client) -> bool:
    return bool(cliente.get("/admin/").status_code == 200)


# ---- A tranca


def test_quem_acerta_entra_e_a_entrada_fica_registrada(ana: User, navegador: Client) -> None:
    assert tentar(navegador, senha=SENHA).headers["Location"] == "/admin/"
    assert dentro(navegador)
    assert AccessLog.objects.get().username == "ana"


def test_cinco_erros_trancam_a_pessoa_no_endereco_e_a_tela_diz_o_prazo(ana: User, navegador: Client) -> None:
    for _ in range(4):
        assert tentar(navegador).status_code == 200
    quinto = tentar(navegador)
    assert quinto.status_code == 429
    assert 0 < int(quinto.headers["Retry-After"]) <= 900
    assert "15 minutos" in quinto.text
    certa = tentar(navegador, senha=SENHA)
    assert certa.status_code == 429
    assert not dentro(navegador)
    assert tentar(Client(), senha=SENHA, REMOTE_ADDR="10.9.9.9").status_code == 302


def test_quem_nao_existe_recebe_a_mesma_resposta(ana: User) -> None:
    respostas = []
    for nome in ("ana", "ninguem"):
        cliente = Client()
        vezes = [tentar(cliente, nome, REMOTE_ADDR=f"10.0.0.{len(respostas)}") for _ in range(5)]
        respostas.append([(r.status_code, r.text.count("correto") + r.text.count("corretos")) for r in vezes])
        assert nome not in vezes[-1].text
    assert respostas[0] == respostas[1]


def test_insistir_nao_aumenta_a_espera_e_o_prazo_libera(ana: User, navegador: Client) -> None:
    for _ in range(5):
        tentar(navegador)
    ultima = AccessAttempt.objects.get().attempt_time
    for _ in range(5):
        tentar(navegador)
    tentativa = AccessAttempt.objects.get()
    assert (tentativa.attempt_time, tentativa.failures_since_start) == (ultima, 5)
    AccessAttempt.objects.update(attempt_time=timezone.now() - timedelta(minutes=16))
    assert tentar(navegador, senha=SENHA).status_code == 302


def test_o_endereco_tem_folga_mas_nao_infinita(ana: User, navegador: Client, settings: Any) -> None:
    AccessAttempt.objects.bulk_create(
        AccessAttempt(
            username=f"u{n}", ip_address="127.0.0.1", failures_since_start=5, attempt_time=timezone.now()
        )
        for n in range(FOLGA_DO_ENDERECO - 1)
    )
    AccessAttempt.objects.update(attempt_time=timezone.now())
    for n in range(4):
        assert tentar(navegador, f"outra{n}").status_code == 200
    assert tentar(navegador, "mais-uma").status_code == 429
    assert tentar(navegador, senha=SENHA).status_code == 429
    assert tentar(Client(), senha=SENHA, REMOTE_ADDR="10.9.9.9").status_code == 302


def errar_de_muitos_enderecos(nome: str, quantas: int) -> None:
    """Erros de um nome, quatro por endereço: nenhum endereço chega a trancar sozinho."""
    AccessAttempt.objects.bulk_create(
        AccessAttempt(username=nome, ip_address=f"10.1.0.{n}", failures_since_start=4)
        for n in range(quantas // 4)
    )
    AccessAttempt.objects.update(attempt_time=timezone.now())


def test_quem_adivinha_de_muitos_enderecos_tambem_e_trancado(ana: User) -> None:
    errar_de_muitos_enderecos("ana", 96)
    for n in range(3):
        assert tentar(Client(), REMOTE_ADDR=f"10.2.0.{n}").status_code == 200
    assert tentar(Client(), REMOTE_ADDR="10.2.0.9").status_code == 429
    assert tentar(Client(), senha=SENHA, REMOTE_ADDR="10.2.0.10").status_code == 429
    User.objects.create_superuser("rui", password=SENHA)
    assert tentar(Client(), "rui", SENHA, REMOTE_ADDR="10.2.0.10").status_code == 302


def test_quem_adivinha_de_fora_nao_deixa_ninguem_sem_entrar_de_casa(ana: User, navegador: Client) -> None:
    assert tentar(Client(), senha=SENHA).status_code == 302
    errar_de_muitos_enderecos("ana", 400)
    assert tentar(navegador, senha=SENHA, REMOTE_ADDR="10.2.0.10").status_code == 429
    assert tentar(navegador, senha=SENHA).status_code == 302
    for _ in range(5):
        ultima = tentar(navegador)
    assert ultima.status_code == 429  # em casa, valem as outras contas


@pytest.mark.parametrize("escrito", [" ana", "ana ", "ａｎａ", "ana\u00a0", "\tana"])
def test_o_mesmo_nome_escrito_de_outro_jeito_gasta_as_mesmas_tentativas(
    ana: User, navegador: Client, escrito: str
) -> None:
    for _ in range(4):
        assert tentar(navegador, escrito).status_code == 200
    assert tentar(navegador, "ana").status_code == 429
    assert tentar(navegador, escrito, SENHA).status_code == 429


def test_outra_caixa_e_outra_pessoa_e_nao_entra(ana: User, navegador: Client) -> None:
    for nome in ("Ana", "ANA"):
        assert tentar(navegador, nome, SENHA).status_code == 200
    assert not dentro(navegador)


def test_entrar_com_a_propria_conta_nao_devolve_tentativas_contra_as_outras(
    ana: User, navegador: Client
) -> None:
    User.objects.create_superuser("rui", password=SENHA)
    for _ in range(4):
        tentar(navegador, "rui")
    tentar(navegador)
    assert tentar(navegador, senha=SENHA).status_code == 302
    assert list(AccessAttempt.objects.values_list("username", "failures_since_start")) == [("rui", 4)]
    assert tentar(Client(), "rui").status_code == 429


@pytest.mark.parametrize(
    ("atras_de_proxy", "encaminhado", "endereco"),
    [
        (False, "203.0.113.7", "10.0.0.1"),
        (True, "1.2.3.4, 203.0.113.7", "203.0.113.7"),
        (True, "", "10.0.0.1"),
        (True, "forjado", None),
        (True, "2001:db8::1", "2001:db8::1"),
    ],
)
def test_endereco_atras_de_proxy_e_o_que_o_proxy_viu(
    ana: User, navegador: Client, settings: Any, atras_de_proxy: bool, encaminhado: str, endereco: str | None
) -> None:
    settings.ATRAS_DE_PROXY = atras_de_proxy
    tentar(navegador, REMOTE_ADDR="10.0.0.1", headers={"x-forwarded-for": encaminhado})
    assert AccessAttempt.objects.get().ip_address == endereco


def test_a_tranca_nao_depende_do_valkey(ana: User, navegador: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for _ in range(5):
        resposta = tentar(navegador)
    assert resposta.status_code == 429


def test_a_senha_tentada_nao_fica_guardada(ana: User, navegador: Client) -> None:
    tentar(navegador, senha="quase a senha certa")
    guardado = " ".join(map(str, AccessAttempt.objects.values_list("get_data", "post_data").get()))
    assert "quase" not in guardado


def test_administracao_destrava_e_fica_na_trilha(ana: User, navegador: Client) -> None:
    for _ in range(5):
        tentar(navegador)
    cliente = entrar_com("view_accessattempt", "delete_accessattempt")
    endereco = "/admin/axes/accessattempt/"
    assert "travado" in cliente.get(endereco).text
    escolhidos = {"action": "destravar", "_selected_action": [AccessAttempt.objects.get().pk]}
    resposta = cliente.post(endereco, escolhidos, follow=True)
    assert mensagens(resposta) == ["1 login destravado: pode tentar de novo agora."]
    assert LogEntry.objects.get().change_message == "Destravou o login."
    assert tentar(navegador, senha=SENHA).status_code == 302


def test_login_hostil_nao_derruba_nem_executa(ana: User, navegador: Client) -> None:
    tentar(navegador, '<script>alert(1)</script>"')
    assert tentar(navegador, "x" * 5_000).status_code == 200
    assert tentar(navegador, "nulo\0").status_code == 200
    cliente = entrar_com("view_accessattempt")
    assert "<script>alert(1)" not in cliente.get("/admin/axes/accessattempt/").text


# ---- O segundo fator


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
