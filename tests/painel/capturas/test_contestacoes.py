"""Uma contestação do começo ao fim, pela tela: abrir, acompanhar, cancelar, ver o quadro, e quem olhou."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from ingestao.capturas.dispositivos import revogar
from ingestao.capturas.pedidos import vencer_pedidos
from ingestao.models import Ato, AtoDeCaptura, Captura, Dispositivo, Pedido
from painel.admin.capturas.andamento import Andamento, descrever_andamento
from painel.permissoes import OPERACAO, SUPORTE
from tests.painel.aparelhos import QUADRO, Campo
from tests.painel.capturas.conftest import entrar_no_papel
from tests.painel.conftest import HOSTIL, entrar_com, mensagens

pytestmark = pytest.mark.django_db

PEDIDOS = "/admin/ingestao/pedido/"


def pagina(captura: Captura, acao: str = "change") -> str:
    return f"/admin/ingestao/captura/{captura.pk}/{acao}/"


def andamento(pedido: Pedido, agora: Any = None) -> Andamento:
    atual = Pedido.objects.select_related("dispositivo").get(pk=pedido.pk)
    return descrever_andamento(atual, atual.dispositivo, agora or timezone.now())


# ---- Abrir e cancelar


def test_suporte_contesta_com_motivo_e_o_aparelho_fica_sabendo(campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    cliente = entrar_no_papel(SUPORTE)
    assert "vence em 7 dias" in cliente.get(pagina(captura, "contestar")).text
    assert not Pedido.objects.exists()
    resposta = cliente.post(pagina(captura, "contestar"), {"motivo": "Multa 4471."}, follow=True)
    assert mensagens(resposta) == ["Contestação aberta: o aparelho fica sabendo no próximo contato."]
    assert resposta.redirect_chain == [(pagina(captura), 302)]
    assert "Multa 4471." in resposta.text
    pedido = Pedido.objects.get()
    assert [p["id"] for p in campo.aparelho.perguntar().json()["pedidos"]] == [str(pedido.pk)]
    (ato,) = AtoDeCaptura.objects.all()
    assert (ato.ato, ato.motivo, ato.autor) == (Ato.PEDIDO_ABERTO, "Multa 4471.", pedido.aberto_por)
    assert LogEntry.objects.get().change_message == "Contestou a captura."


@pytest.mark.parametrize("motivo", ["", "   ", "a\0b", "x" * 1001])
def test_motivo_que_nao_serve_volta_com_o_erro(painel: Client, campo: Campo, motivo: str) -> None:
    captura = campo.mandar_com_quadro()
    resposta = painel.post(pagina(captura, "contestar"), {"motivo": motivo})
    assert resposta.status_code == 400
    assert list(resposta.context["formulario"].errors) == ["motivo"]
    assert not Pedido.objects.exists()
    assert not LogEntry.objects.exists()


def test_o_que_nao_se_pode_contestar_e_dito(painel: Client, campo: Campo) -> None:
    sem_quadro = campo.mandar(quadro=None)
    excluida = campo.mandar_com_quadro()
    Captura.objects.filter(pk=excluida.pk).update(deletado=True)
    aberta = campo.mandar_com_quadro()
    campo.contestar(aberta)
    for captura, frase in (
        (sem_quadro, "não há o que pedir"),
        (excluida, "restaure-a antes de contestar"),
        (aberta, "Já há um pedido aberto"),
    ):
        assert "/contestar/" not in painel.get(pagina(captura)).text
        resposta = painel.post(pagina(captura, "contestar"), {"motivo": "x"})
        assert (resposta.status_code, frase in resposta.text) == (400, True), frase
    assert Pedido.objects.count() == 1


def test_cancelar_pede_motivo_e_so_cabe_em_aberta(painel: Client, campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    endereco = f"{PEDIDOS}{pedido.pk}/cancelar/"
    assert "descartado" in painel.get(endereco).text
    assert painel.post(endereco, {"motivo": ""}).status_code == 400
    resposta = painel.post(endereco, {"motivo": "Captura errada."}, follow=True)
    assert "cancelada" in resposta.text
    assert [ato["nome"] for ato in resposta.context["trilha"]] == [
        "Contestou e pediu o quadro",
        "Cancelou o pedido",
    ]
    assert campo.aparelho.perguntar().json()["pedidos"] == []
    de_novo = painel.post(endereco, {"motivo": "x"})
    assert (de_novo.status_code, "já está cancelado" in de_novo.text) == (400, True)
    assert AtoDeCaptura.objects.count() == 2


@pytest.mark.parametrize("acao", ["contestar", "cancelar"])
def test_quem_so_ve_nao_contesta_nem_cancela(campo: Campo, acao: str) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    cliente = entrar_com("view_captura", "view_pedido")
    endereco = pagina(captura, acao) if acao == "contestar" else f"{PEDIDOS}{pedido.pk}/cancelar/"
    assert cliente.get(endereco).status_code == 403
    assert cliente.post(endereco, {"motivo": "x"}).status_code == 403
    assert Pedido.objects.get().situacao == "aberto"
    texto = cliente.get(pagina(captura)).text
    assert "/cancelar/" not in texto
    assert "/contestar/" not in texto


# ---- Como vai


def test_andamento_de_uma_contestacao_aberta(campo: Campo) -> None:
    pedido = campo.contestar(campo.mandar_com_quadro())
    assert andamento(pedido).nome == "aberta"
    Dispositivo.objects.update(ultimo_contato_em=timezone.now() - timedelta(hours=3))
    offline = andamento(pedido)
    assert (offline.nome, offline.cor) == ("aberta: offline há 3\xa0horas", "warning")
    revogar(campo.dispositivo)
    assert andamento(pedido).nome == "aberta: aparelho desligado"
    assert andamento(pedido, timezone.now() + timedelta(days=8)).nome == "vencida"


def test_recebendo_diz_quantos_bytes_de_quantos(painel: Client, campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    metade = len(QUADRO) // 2
    campo.aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:metade])
    recebendo = andamento(pedido)
    assert recebendo.nome == "recebendo: 50%"
    assert recebendo.barra is not None
    assert "Recebendo:" in painel.get(pagina(captura)).text
    Dispositivo.objects.update(ultimo_contato_em=timezone.now() - timedelta(hours=3))
    assert "sem contato há 3\xa0horas. Ele continua de onde estava." in andamento(pedido).frase


def test_hash_divergente_conta_as_vezes_e_encerra_na_terceira(painel: Client, campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    errado = b"x" * len(QUADRO)
    campo.atender(pedido, errado)
    assert "1 de 3 envios chegaram com outro SHA-256." in andamento(pedido).frase
    campo.atender(pedido, errado)
    campo.atender(pedido, errado)
    assert andamento(pedido).nome == "hash divergente"
    texto = painel.get(pagina(captura)).text
    assert texto.count("O quadro chegou com outro SHA-256") == 3
    assert "Ver o quadro inteiro" not in texto


@pytest.mark.parametrize(
    ("motivo", "frase"),
    [
        ("expirado", "passou do prazo de guarda"),
        ("nunca_guardado", "nunca foi guardado"),
        ("despejado_por_espaco", "despejado por falta de espaço"),
        ("ilegivel", "guardado, mas ilegível"),
    ],
)
def test_indisponivel_diz_por_que(painel: Client, campo: Campo, motivo: str, frase: str) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    campo.aparelho.declarar_indisponivel(pedido.pk, motivo)
    assert andamento(pedido).nome == "indisponível"
    assert frase in andamento(pedido).frase
    trilha = painel.get(pagina(captura)).context["trilha"]
    assert (trilha[-1]["quem"], trilha[-1]["motivo"].lower()) == ("o aparelho", frase)


def test_vencida_fica_na_trilha_como_ato_do_servidor(painel: Client, campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.contestar(captura)
    vencer_pedidos(timezone.now() + timedelta(days=8))
    assert andamento(pedido).nome == "vencida"
    assert painel.get(pagina(captura)).context["trilha"][-1]["quem"] == "o servidor"


# ---- O quadro


def test_atendida_confere_o_hash_e_ver_o_quadro_fica_na_trilha(campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    pedido = campo.atender(campo.contestar(captura))
    cliente = entrar_no_papel(SUPORTE)
    texto = cliente.get(pagina(captura)).text
    assert "atendida: hash confere" in texto
    assert f"{PEDIDOS}{pedido.pk}/quadro/" in texto
    assert not AtoDeCaptura.objects.filter(ato=Ato.QUADRO_VISTO).exists()

    tela = cliente.get(f"{PEDIDOS}{pedido.pk}/quadro/")
    assert f'href="{PEDIDOS}{pedido.pk}/quadro.jpg"' in tela.text
    assert not AtoDeCaptura.objects.filter(ato=Ato.QUADRO_VISTO).exists()  # os bytes ainda não saíram

    imagem = cliente.get(f"{PEDIDOS}{pedido.pk}/quadro.jpg")
    assert b"".join(imagem.streaming_content) == QUADRO  # type: ignore[attr-defined]
    assert imagem.headers["Content-Type"] == "image/jpeg"
    assert imagem.headers["X-Content-Type-Options"] == "nosniff"
    assert imagem.headers["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert imagem.headers["Cache-Control"] == "no-store, private"
    visto = AtoDeCaptura.objects.get(ato=Ato.QUADRO_VISTO)
    assert (visto.autor, visto.pedido) == (User.objects.latest("id"), pedido)

    nomes = [ato["nome"] for ato in cliente.get(pagina(captura)).context["trilha"]]
    assert nomes == ["Contestou e pediu o quadro", "O quadro chegou e o SHA-256 confere", "Viu o quadro"]


def test_cada_olhada_e_uma_linha(painel: Client, campo: Campo) -> None:
    pedido = campo.atender(campo.contestar(campo.mandar_com_quadro()))
    for _ in range(3):
        painel.get(f"{PEDIDOS}{pedido.pk}/quadro.jpg")
    assert AtoDeCaptura.objects.filter(ato=Ato.QUADRO_VISTO).count() == 3


def test_quadro_nao_sai_para_quem_nao_pode(campo: Campo) -> None:
    pedido = campo.atender(campo.contestar(campo.mandar_com_quadro()))
    for caminho in ("quadro/", "quadro.jpg"):
        endereco = f"{PEDIDOS}{pedido.pk}/{caminho}"
        assert Client().get(endereco).status_code == 302
        assert entrar_no_papel(OPERACAO).get(endereco).status_code == 403
    assert not AtoDeCaptura.objects.filter(ato=Ato.QUADRO_VISTO).exists()


def test_quadro_que_nao_ha_e_404_e_ninguem_o_viu(painel: Client, campo: Campo, deposito: Path) -> None:
    captura = campo.mandar_com_quadro()
    aberto = campo.contestar(captura)
    assert painel.get(f"{PEDIDOS}{aberto.pk}/quadro.jpg").status_code == 404
    assert painel.get(f"{PEDIDOS}{aberto.pk}/quadro/").status_code == 302
    atendido = campo.atender(aberto)
    (deposito / atendido.arquivo).unlink()
    assert painel.get(f"{PEDIDOS}{atendido.pk}/quadro.jpg").status_code == 404
    assert painel.get(f"{PEDIDOS}{uuid4()}/quadro.jpg").status_code == 404
    assert painel.head(f"{PEDIDOS}{atendido.pk}/quadro.jpg").status_code == 405
    assert not AtoDeCaptura.objects.filter(ato=Ato.QUADRO_VISTO).exists()


def test_quadro_que_nao_e_imagem_sai_inerte(painel: Client, campo: Campo) -> None:
    pagina_maligna = b"<!doctype html><script>alert(1)</script>" * 4
    captura = campo.mandar_com_quadro(pagina_maligna)
    pedido = campo.atender(campo.contestar(captura), pagina_maligna)
    resposta = painel.get(f"{PEDIDOS}{pedido.pk}/quadro.jpg")
    assert resposta.headers["Content-Type"] == "image/jpeg"
    assert resposta.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in resposta.headers["Content-Security-Policy"]


# ---- A lista


def test_lista_de_contestacoes_filtra_por_situacao_e_dispositivo(painel: Client, campo: Campo) -> None:
    outro = Campo.criar(campo.autor, "Outro")
    aberto = campo.contestar(campo.mandar_com_quadro(), HOSTIL)
    atendido = outro.atender(outro.contestar(outro.mandar_com_quadro()))
    for filtro, esperados in {
        "": {aberto, atendido},
        "situacao=aberto": {aberto},
        "situacao=atendido": {atendido},
        "situacao=vencido": set(),
        f"dispositivo={outro.aparelho.id}": {atendido},
        "periodo=hora": {aberto, atendido},
    }.items():
        resposta = painel.get(f"{PEDIDOS}?{filtro}")
        assert set(resposta.context["cl"].result_list) == esperados, filtro
    texto = painel.get(PEDIDOS).text
    assert "<script>alert" not in texto
    assert f'href="{pagina(aberto.captura)}"' in texto
    assert "atendida: hash confere" in texto


def test_contestacao_nao_se_cria_nem_se_muda_pelo_formulario_do_django(painel: Client, campo: Campo) -> None:
    pedido = campo.contestar(campo.mandar_com_quadro())
    for caminho in ("add/", f"{pedido.pk}/change/", f"{pedido.pk}/delete/"):
        assert painel.post(f"{PEDIDOS}{caminho}", {}).status_code == 403
