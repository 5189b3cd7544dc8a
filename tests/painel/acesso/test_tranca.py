"""A tranca contra quem adivinha senhas."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from painel.acesso.tranca import FOLGA_DO_ENDERECO
from tests.painel.acesso.conftest import SENHA, dentro, tentar
from tests.painel.conftest import entrar_com, mensagens

pytestmark = pytest.mark.django_db


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
