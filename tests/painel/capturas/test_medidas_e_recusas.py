"""A página das medidas, os rankings, e as listas do que não virou captura."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ingestao.capturas.medidas import achar_faixa, truncar_na_hora
from ingestao.capturas.reenvios import CONFLITOS
from ingestao.models import Captura, CapturaRecusada, Dispositivo, MedidaDeCaptura
from painel.admin.capturas.codigos import RECUSAS
from painel.graficos.rotulos import mostrar_bytes, mostrar_percentual
from painel.permissoes import OPERACAO, SUPORTE
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, evento
from tests.painel.aparelhos import Campo
from tests.painel.capturas.conftest import entrar_no_papel
from tests.painel.conftest import HOSTIL
from tests.painel.inicio.conferencia import blocos_de, contar_lista, numeros_com_link

pytestmark = pytest.mark.django_db

PANORAMA = "/admin/ingestao/medidadecaptura/panorama/"
RECUSADAS = "/admin/ingestao/capturarecusada/"
DESCARTES = "/admin/ingestao/relatodedescarte/"
CHAMADAS = "/admin/ingestao/recusadecaptura/"


def somar(campo: Campo, medida: str, quantidade: int, faixa: int = 0, horas: int = 0) -> None:
    MedidaDeCaptura.objects.create(
        dispositivo_id=campo.aparelho.id,
        hora=truncar_na_hora(timezone.now()) - timedelta(hours=horas),
        medida=medida,
        faixa=faixa,
        quantidade=quantidade,
    )


def test_panorama_junta_todos_e_diz_quem_destoa(painel: Client, campo: Campo) -> None:
    outro = Campo.criar(campo.autor, "Doca")
    for quem, gravadas, link, fila, ms, descartes in (
        (campo, 90, 10, 0, 300, 0),
        (outro, 50, 0, 50, 9_000, 7),
    ):
        for medida, quantos in (
            ("gravadas", gravadas),
            ("reenvio_link", link),
            ("reenvio_fila", fila),
            ("descartados:teto", descartes),
        ):
            somar(quem, medida, quantos)
        somar(quem, "latencia_ms", 10, achar_faixa(ms))
    resposta = painel.get(PANORAMA)
    numeros = {linha.rotulo: linha.valor for linha in resposta.context["numeros"]}
    assert (numeros["Gravadas"], numeros["Reenvios"], numeros["Descartados"]) == ("140", "30%", "7")
    rankings = {r["titulo"]: [valor for _, _, valor in r["linhas"]] for r in resposta.context["rankings"]}
    assert rankings["Reenviam mais"] == ["50%: 0 link, 50 fila", "10%: 10 link, 0 fila"]
    assert rankings["Descartam mais"] == ["7"]
    assert len(rankings["Demoram mais (p95)"]) == 2
    assert f"/admin/ingestao/dispositivo/{outro.aparelho.id}/change/" in resposta.text


def test_panorama_vazio_diz_que_nada_houve(painel: Client) -> None:
    resposta = painel.get(PANORAMA)
    assert "Nada foi gravado em 24 horas." in resposta.text
    assert "Nenhum aparelho em 24 horas." in resposta.text
    assert "Nada foi gravado em 30 dias." in painel.get(f"{PANORAMA}?por=dias").text


def test_panorama_por_dia_alcanca_trinta_dias(painel: Client, campo: Campo) -> None:
    somar(campo, "gravadas", 5, horas=24 * 10)
    somar(campo, "gravadas", 1_000, horas=24 * 40)
    numeros = {n.rotulo: n.valor for n in painel.get(f"{PANORAMA}?por=dias").context["numeros"]}
    assert numeros["Gravadas"] == "5"
    assert {n.rotulo: n.valor for n in painel.get(PANORAMA).context["numeros"]}["Gravadas"] == "0"


def test_panorama_e_de_quem_ve_medidas_e_os_links_sao_de_quem_abre(campo: Campo) -> None:
    somar(campo, "reenvio_link", 3)
    assert entrar_no_papel(OPERACAO).get(PANORAMA).status_code == 403
    resposta = entrar_no_papel(SUPORTE).get(PANORAMA)
    assert resposta.status_code == 200
    assert "Portaria" in resposta.text
    assert "/admin/ingestao/dispositivo/" not in resposta.text


def test_panorama_tem_custo_fixo(
    painel: Client, campo: Campo, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for numero in range(15):
        somar(Campo.criar(campo.autor, f"Câmera {numero}"), "reenvio_link", numero + 1)
    with django_assert_max_num_queries(9):
        painel.get(PANORAMA)


def test_muitos_motivos_se_juntam_em_outros(painel: Client, campo: Campo) -> None:
    for numero in range(9):
        somar(campo, f"descartados:motivo_{numero}", 10 - numero)
    grafico = next(g for g in painel.get(PANORAMA).context["graficos"] if g.id == "descartes")
    assert [item.nome for item in grafico.legenda] == [*(f"motivo {n}" for n in range(5)), "outros"]
    assert grafico.legenda[-1].valor == "14"


@pytest.mark.parametrize(
    ("valor", "percentual", "tamanho"),
    [
        (None, "—", "—"),
        (0, "0%", "0 B"),
        (0.44, "0,4%", "0 B"),
        (12.6, "13%", "13 B"),
        (950, "950%", "950 B"),
    ],
)
def test_unidades_por_extenso(valor: float | None, percentual: str, tamanho: str) -> None:
    assert (mostrar_percentual(valor), mostrar_bytes(valor)) == (percentual, tamanho)
    assert [mostrar_bytes(n) for n in (1_500, 21_000, 2_000_000, 3.2e9)] == [
        "1,5 kB",
        "21 kB",
        "2 MB",
        "3,2 GB",
    ]


# ---- Conflitos, inválidos, descartes, chamadas


def test_conflitos_e_invalidos_com_motivo_filtro_e_link(painel: Client, campo: Campo) -> None:
    captura = campo.mandar()
    campo.aparelho.postar([evento(id_evento=str(captura.pk), payload={"x": HOSTIL})])
    campo.aparelho.postar([evento(seq=-1), {"id_evento": HOSTIL}])
    mandado = com_caixa()
    campo.aparelho.postar([mandado], {mandado["id_evento"]: b"<script>nao sou jpeg"})
    texto = painel.get(RECUSADAS).text
    for visto in (
        "mesmo id com outro conteúdo",
        "campo inválido",
        "id do evento ilegível",
        "a imagem não é JPEG",
    ):
        assert visto in texto, visto
    assert f"/admin/ingestao/captura/{captura.pk}/change/" in texto
    assert "<script>alert" not in texto
    for filtro, quantas in {
        "": 4,
        "situacao=conflito": 1,
        "situacao=invalido": 3,
        "codigo=imagem_nao_jpeg": 1,
        "codigo=inventado": 0,
        f"dispositivo={campo.aparelho.id}": 4,
        "periodo=hora": 4,
        f"q={captura.pk}": 1,
        "q=torto": 0,
    }.items():
        assert painel.get(f"{RECUSADAS}?{filtro}").context["cl"].result_count == quantas, filtro


def test_todo_codigo_gravado_tem_nome(painel: Client, campo: Campo) -> None:
    """Um código novo no servidor pede uma linha em codigos.py."""
    assert set(CONFLITOS) <= set(RECUSAS)
    campo.aparelho.postar([evento(seq=-1), {"id_evento": 1}, evento(payload="x" * 70_000), com_caixa()], {})
    assert CapturaRecusada.objects.count() == 4
    assert set(CapturaRecusada.objects.values_list("codigo", flat=True)) <= set(RECUSAS)


def test_descartes_relatados_por_motivo(painel: Client, campo: Campo) -> None:
    campo.aparelho.postar([], descartados={"teto_de_tentativas": 12, "disco_cheio": 3}, relato_id="r1")
    campo.aparelho.postar([], descartados={"teto_de_tentativas": 12, "disco_cheio": 3}, relato_id="r1")
    resposta = painel.get(DESCARTES)
    assert resposta.context["cl"].result_count == 1
    assert "teto de tentativas: 12, disco cheio: 3" in resposta.text
    assert "15" in resposta.text


def test_chamadas_recusadas_por_dia(painel: Client, campo: Campo) -> None:
    Aparelho(campo.aparelho.id, "cap_errado").postar([])
    campo.aparelho.postar_cru(b"{", "application/json")
    texto = painel.get(CHAMADAS).text
    assert "token_desconhecido" in texto
    assert "corpo_ilegivel" in texto
    assert "desconhecido" in texto
    filtrada = painel.get(f"{CHAMADAS}?dispositivo={campo.aparelho.id}")
    assert filtrada.context["cl"].result_count == 1


@pytest.mark.parametrize("lista", [RECUSADAS, DESCARTES, CHAMADAS, "/admin/ingestao/medidadecaptura/"])
def test_listas_sao_so_de_leitura(painel: Client, campo: Campo, lista: str) -> None:
    Campo.montar(campo.autor)
    assert painel.get(lista).status_code == 200
    assert painel.get(f"{lista}add/").status_code == 403
    chave = painel.get(lista).context["cl"].result_list[0].pk
    for acao in ("change", "delete"):
        assert painel.get(f"{lista}{chave}/{acao}/").status_code == 403


# ---- A página inicial


def test_numeros_da_pagina_inicial_levam_as_listas_certas(painel: Client, campo: Campo) -> None:
    for _ in range(3):
        captura = campo.mandar()
    campo.mandar_com_quadro()
    Captura.objects.filter(pk=captura.pk).update(deletado=True)  # chegou: conta, ainda que excluída depois
    Campo.criar(campo.autor, "Calado")
    Dispositivo.objects.filter(nome="Calado").update(criado_em=timezone.now() - timedelta(hours=1))
    blocos = blocos_de(painel)
    for bloco, endereco, numero in (
        ("hoje", "/admin/ingestao/captura/?periodo=hoje&situacao=todas", 4),
        ("hora", "/admin/ingestao/captura/?periodo=hora&situacao=todas", 4),
        ("mes", "/admin/ingestao/captura/?periodo=30d&situacao=todas", 4),
        ("capturas", "/admin/ingestao/dispositivo/?contato=silencioso", 1),
    ):
        assert (endereco, numero) in numeros_com_link(blocos[bloco]), bloco
        assert contar_lista(painel, endereco) == numero
