"""Aparelhos pela tela: o token que aparece uma vez, a vida deles, e os sinais que a lista mostra."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from ingestao.capturas.medidas import achar_faixa, truncar_na_hora
from ingestao.models import Dispositivo, MedidaDeCaptura
from painel.admin.capturas.situacao import Situacao, decidir_situacao
from painel.admin.inerte import neutralizar
from painel.permissoes import ADMINISTRACAO, SUPORTE
from tests.ingestao.capturas.aparelho import Aparelho, evento
from tests.painel.aparelhos import Campo
from tests.painel.capturas.conftest import entrar_no_papel
from tests.painel.conftest import HOSTIL, mensagens

pytestmark = pytest.mark.django_db

LISTA = "/admin/ingestao/dispositivo/"
FORMULARIO = {"nome": "Portaria 2", "silencioso_apos_s": "600"}
TOKEN = re.compile(r"cap_[0-9a-f]{48}")


def pagina(campo: Campo, acao: str = "change") -> str:
    return f"{LISTA}{campo.aparelho.id}/{acao}/"


def status_com(campo: Campo, token: str) -> int:
    return int(Aparelho(campo.aparelho.id, token).postar([evento()]).status_code)


def somar(campo: Campo, medida: str, quantidade: int, faixa: int = 0, horas: int = 0) -> None:
    hora = truncar_na_hora(timezone.now()) - timedelta(hours=horas)
    MedidaDeCaptura.objects.create(
        dispositivo_id=campo.aparelho.id, hora=hora, medida=medida, faixa=faixa, quantidade=quantidade
    )


# ---- Criar e editar


def test_criar_mostra_o_token_uma_vez_com_a_configuracao_pronta(painel: Client) -> None:
    resposta = painel.post(f"{LISTA}add/", FORMULARIO)
    assert resposta.status_code == 200
    assert resposta.headers["Cache-Control"] == "no-store, private"
    (token,) = set(TOKEN.findall(resposta.text))
    dispositivo = Dispositivo.objects.get()
    assert (dispositivo.nome, dispositivo.silencioso_apos_s) == ("Portaria 2", 600)
    assert Aparelho(dispositivo.pk, token).postar([evento()]).status_code == 200
    for trecho in ("[captura]", "url = http://testserver", "lastro-captura servir", "/captura/pulso"):
        assert trecho in resposta.text
    for endereco in (LISTA, f"{LISTA}{dispositivo.pk}/change/", f"{LISTA}{dispositivo.pk}/history/"):
        assert not TOKEN.search(painel.get(endereco).text)
    assert token not in str(vars(Dispositivo.objects.get()))
    assert LogEntry.objects.get().object_id == str(dispositivo.pk)


@pytest.mark.parametrize("nome", ["", "   ", "porta\u202eria", "a\x1bb", "x" * 121])
def test_nome_que_nao_serve_e_dito_no_campo(painel: Client, nome: str) -> None:
    resposta = painel.post(f"{LISTA}add/", {**FORMULARIO, "nome": nome})
    assert list(resposta.context["adminform"].form.errors) == ["nome"]
    assert not Dispositivo.objects.exists()


def test_editar_muda_nome_e_silencio_e_nao_desfaz_um_token_trocado_no_meio(
    painel: Client, campo: Campo
) -> None:
    painel.post(pagina(campo, "trocar-token"), {"quando": "agora"})
    resumo = campo.dispositivo.token_resumo
    resposta = painel.post(pagina(campo), {"nome": "Pátio", "silencioso_apos_s": "60"}, follow=True)
    assert resposta.status_code == 200
    depois = campo.dispositivo
    assert (depois.nome, depois.silencioso_apos_s, depois.token_resumo) == ("Pátio", 60, resumo)


# ---- Token


def test_trocar_com_carencia_mostra_o_novo_e_os_dois_valem(painel: Client, campo: Campo) -> None:
    pergunta = painel.get(pagina(campo, "trocar-token"))
    assert "Trocar com carência" in pergunta.text
    assert status_com(campo, campo.aparelho.token) == 200
    resposta = painel.post(pagina(campo, "trocar-token"), {"quando": "carencia"})
    (novo,) = set(TOKEN.findall(resposta.text))
    assert "O anterior ainda vale até" in resposta.text
    assert (status_com(campo, novo), status_com(campo, campo.aparelho.token)) == (200, 200)
    assert "O token anterior ainda vale até" in painel.get(pagina(campo)).text
    assert LogEntry.objects.get().change_message == "Trocou o token, com carência."


def test_trocar_agora_mata_o_anterior_na_chamada_seguinte(painel: Client, campo: Campo) -> None:
    resposta = painel.post(pagina(campo, "trocar-token"), {"quando": "agora"})
    (novo,) = set(TOKEN.findall(resposta.text))
    assert (status_com(campo, novo), status_com(campo, campo.aparelho.token)) == (200, 401)
    assert LogEntry.objects.get().change_message == "Trocou o token; o anterior deixou de valer."


def test_segunda_troca_avisa_que_o_anterior_cai(painel: Client, campo: Campo) -> None:
    painel.post(pagina(campo, "trocar-token"), {"quando": "carencia"})
    assert "deixa de valer agora nos dois casos" in painel.get(pagina(campo, "trocar-token")).text


# ---- Desligar, religar, excluir


def test_desligar_responde_403_e_religar_da_um_token_novo(painel: Client, campo: Campo) -> None:
    assert "a fila" in painel.get(pagina(campo, "desligar")).text
    assert campo.dispositivo.ativo
    resposta = painel.post(pagina(campo, "desligar"), follow=True)
    assert "403" in mensagens(resposta)[0]
    assert status_com(campo, campo.aparelho.token) == 403
    assert "Religar" in resposta.text
    assert "Trocar o token" not in resposta.text

    resposta = painel.post(pagina(campo, "religar"))
    (novo,) = set(TOKEN.findall(resposta.text))
    assert status_com(campo, novo) == 200
    assert status_com(campo, campo.aparelho.token) == 401
    feitos = list(LogEntry.objects.order_by("id").values_list("change_message", flat=True))
    assert feitos == ["Desligou.", "Religou, com um token novo."]


def test_excluir_e_logico_e_restaurar_desfaz(painel: Client, campo: Campo) -> None:
    captura = campo.mandar()
    assert painel.get(pagina(campo, "excluir")).status_code == 200
    resposta = painel.post(pagina(campo, "excluir"), follow=True)
    assert "a história fica" in mensagens(resposta)[0]
    assert status_com(campo, campo.aparelho.token) == 403
    assert painel.get(LISTA).context["cl"].result_count == 0
    assert painel.get(f"{LISTA}?contato=excluidos").context["cl"].result_count == 1
    assert painel.get(f"/admin/ingestao/captura/{captura.pk}/change/").status_code == 200

    painel.post(pagina(campo, "restaurar"))
    assert status_com(campo, campo.aparelho.token) == 200
    feitos = list(LogEntry.objects.order_by("id").values_list("change_message", flat=True))
    assert feitos == ["Excluiu.", "Restaurou."]


def test_ato_que_nao_cabe_no_estado_nao_muda_nada(painel: Client, campo: Campo) -> None:
    """Duas abas abertas: a segunda não troca o token que a primeira acabou de dar."""
    antes = campo.dispositivo.token_resumo
    for acao in ("religar", "restaurar"):
        resposta = painel.post(pagina(campo, acao), follow=True)
        assert mensagens(resposta) == ["Nada mudou: isto não cabe no estado em que o aparelho está agora."]
    painel.post(pagina(campo, "excluir"))
    for acao in ("trocar-token", "desligar", "religar", "excluir"):
        painel.post(pagina(campo, acao))
    depois = campo.dispositivo
    assert (depois.token_resumo, depois.revogado_em, depois.deletado) == (antes, None, True)
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize("acao", ["change", "trocar-token", "desligar", "religar", "excluir", "restaurar"])
def test_suporte_nao_mexe_em_aparelho(campo: Campo, acao: str) -> None:
    cliente = entrar_no_papel(SUPORTE)
    antes = vars(campo.dispositivo)
    assert cliente.get(pagina(campo, acao)).status_code == 403
    assert cliente.post(pagina(campo, acao), {**FORMULARIO, "quando": "agora"}).status_code == 403
    assert {k: v for k, v in vars(campo.dispositivo).items() if k != "_state"} == {
        k: v for k, v in antes.items() if k != "_state"
    }


def test_administracao_cuida_de_aparelhos(campo: Campo) -> None:
    cliente = entrar_no_papel(ADMINISTRACAO)
    assert TOKEN.search(cliente.post(f"{LISTA}add/", FORMULARIO).text)
    assert TOKEN.search(cliente.post(pagina(campo, "trocar-token"), {"quando": "carencia"}).text)


def test_aparelho_inexistente_volta_a_lista(painel: Client) -> None:
    for id_ in ("00000000-0000-0000-0000-000000000000", "nao-e-uuid"):
        for acao in ("change", "desligar"):
            assert painel.get(f"{LISTA}{id_}/{acao}/").status_code == 302


# ---- O que se vê


def test_lista_diz_situacao_fila_latencia_e_sinais(painel: Client, campo: Campo) -> None:
    fila = {"qtd": 12, "mais_antigo_s": 95}
    campo.aparelho.pulsar(fila=fila, quarentena=3, relogio_suspeito=True, versao="1.2.3")
    somar(campo, "latencia_ms", 20, achar_faixa(800))
    somar(campo, "razao_ppm", 25, achar_faixa(970_000))
    somar(campo, "reenvio_fila", 4, horas=3)
    somar(campo, "descartados:teto", 9, horas=20)
    somar(campo, "descartados:teto", 1_000, horas=30)  # fora das 24 horas
    texto = painel.get(LISTA).text
    for visto in (
        "em contato",
        "12",
        "mais antigo: 2 min",
        "quarentena: 3",
        "corte parou de funcionar",
        "bug de fila: 4",
        "relógio suspeito",
        "descartes: 9",
    ):
        assert visto in texto, visto
    assert re.search(r"8\d\d ms · 8\d\d ms", texto)


def test_sem_sinais_nao_inventa_nenhum(painel: Client, campo: Campo) -> None:
    campo.aparelho.pulsar(fila={"qtd": 0})
    somar(campo, "razao_ppm", 19, achar_faixa(970_000))  # menos de vinte amostras não se afirma
    texto = painel.get(LISTA).text
    for ausente in ("corte parou", "bug de fila", "relógio suspeito", "descartes:"):
        assert ausente not in texto


@pytest.mark.parametrize(
    ("campos", "esperada", "filtro"),
    [
        ({"ultimo_contato_em": timedelta(0)}, Situacao.EM_CONTATO, "em_contato"),
        ({"ultimo_contato_em": timedelta(hours=2)}, Situacao.SILENCIOSO, "silencioso"),
        ({"criado_em": timedelta(hours=2)}, Situacao.SILENCIOSO, "silencioso"),
        ({}, Situacao.NUNCA_FALOU, "em_contato"),
        ({"ultimo_contato_em": timedelta(0), "revogado_em": timedelta(0)}, Situacao.DESLIGADO, "desligado"),
    ],
)
def test_situacao_e_o_filtro_dela_concordam(
    painel: Client, campo: Campo, campos: dict[str, timedelta], esperada: Situacao, filtro: str
) -> None:
    agora = timezone.now()
    Dispositivo.objects.update(**{nome: agora - ha for nome, ha in campos.items()})
    assert decidir_situacao(campo.dispositivo, agora) is esperada
    for valor in ("em_contato", "silencioso", "desligado", "excluidos"):
        esperados = int(valor == filtro)
        assert painel.get(f"{LISTA}?contato={valor}").context["cl"].result_count == esperados, valor


def test_pagina_tem_os_sete_graficos_por_hora_e_por_dia(painel: Client, campo: Campo) -> None:
    campo.mandar()
    somar(campo, "latencia_ms", 3, achar_faixa(200), horas=2)
    somar(campo, "reenvio_link", 1, horas=2)
    somar(campo, "invalidos:imagem_cortada", 2, horas=2)
    somar(campo, "descartados:teto_de_tentativas", 5, horas=26)
    resposta = painel.get(pagina(campo))
    titulos = [grafico.titulo for grafico in resposta.context["graficos"]]
    assert titulos == [
        "Da captura ao ACK",
        "Taxa de reenvio",
        "Capturas gravadas",
        "Bytes por evento",
        "Área do recorte ÷ área do quadro",
        "Descartados pelo aparelho, por motivo",
        "Inválidos e conflitos, por código",
    ]
    por_nome = {grafico.id: grafico for grafico in resposta.context["graficos"]}
    assert por_nome["recusados"].legenda[0].nome == "JPEG cortado"
    assert por_nome["descartes"].vazio == "Nenhum descarte em 24 horas."
    por_dia = {g.id: g for g in painel.get(f"{pagina(campo)}?por=dias").context["graficos"]}
    assert len(por_dia["descartes"].colunas) == 30
    assert (por_dia["descartes"].legenda[0].nome, por_dia["descartes"].legenda[0].valor) == (
        "teto de tentativas",
        "5",
    )


def test_taxa_de_reenvio_separa_link_de_fila(painel: Client, campo: Campo) -> None:
    for medida, quantos in (("gravadas", 90), ("reenvio_link", 6), ("reenvio_fila", 4)):
        somar(campo, medida, quantos)
    grafico = next(g for g in painel.get(pagina(campo)).context["graficos"] if g.id == "reenvios")
    assert [(item.nome, item.valor) for item in grafico.legenda] == [
        ("link (o ACK se perdeu)", "6%"),
        ("fila (defeito no aparelho)", "4%"),
    ]


def test_medidas_de_um_aparelho_nao_entram_na_pagina_de_outro(painel: Client, campo: Campo) -> None:
    outro = Campo.criar(campo.autor, "Outro")
    somar(outro, "gravadas", 77)
    assert "77" not in [str(linha.valor) for linha in painel.get(pagina(campo)).context["numeros"]]
    assert "77" in [str(linha.valor) for linha in painel.get(pagina(outro)).context["numeros"]]


def test_nome_e_motivo_hostis_aparecem_inertes(painel: Client, campo: Campo) -> None:
    Dispositivo.objects.update(nome=HOSTIL)
    campo.mandar()
    somar(campo, f"descartados:{HOSTIL}"[:80], 1)
    enderecos = [LISTA, pagina(campo), pagina(campo, "excluir"), "/admin/ingestao/captura/"]
    enderecos += ["/admin/ingestao/medidadecaptura/panorama/", "/admin/ingestao/medidadecaptura/"]
    for endereco in enderecos:
        # No campo do formulário, o nome como é: escapado, mas para ser corrigido.
        texto = re.sub(r'<input[^>]* name="nome"[^>]*>', "", painel.get(endereco).text)
        for proibido in ("<script>alert", "<img src=x", "\x1b", "\u202e"):
            assert proibido not in texto, (endereco, proibido)
    assert neutralizar(HOSTIL)[:8] == "<script>"


def test_lista_e_pagina_tem_custo_fixo(
    painel: Client, campo: Campo, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for numero in range(20):
        somar(Campo.criar(campo.autor, f"Câmera {numero}"), "gravadas", numero + 1)
    with django_assert_max_num_queries(10):
        painel.get(LISTA)
    with django_assert_max_num_queries(10):
        painel.get(pagina(campo))


def test_busca_por_nome_e_por_id(painel: Client, campo: Campo) -> None:
    Campo.criar(campo.autor, "Doca")
    for termo, quantos in (("port", 1), (str(campo.aparelho.id), 1), ("nada", 0), ("%00", 2), ("", 2)):
        assert painel.get(f"{LISTA}?q={termo}").context["cl"].result_count == quantos, termo
