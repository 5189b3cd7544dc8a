"""A lista e a página das capturas, e a rota que entrega o recorte."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestao.models import Captura, HoraSuspeita
from painel.admin.capturas.desenho import Retangulo, calcular_razao, desenhar
from painel.admin.capturas.tempos import estimar
from painel.models import Revelacao
from painel.permissoes import OPERACAO, SUPORTE
from tests.ingestao.capturas.aparelho import com_caixa, evento, jpeg
from tests.painel.aparelhos import Campo
from tests.painel.capturas.conftest import entrar_no_papel
from tests.painel.conftest import HOSTIL, entrar_com, mensagens

pytestmark = pytest.mark.django_db

LISTA = "/admin/ingestao/captura/"


def pagina(captura: Captura, acao: str = "change") -> str:
    return f"{LISTA}{captura.pk}/{acao}/"


def ids(resposta: Any) -> set[str]:
    return {str(captura.pk) for captura in resposta.context["cl"].result_list}


# ---- O recorte


def test_recorte_sai_do_banco_inerte_e_so_se_confere(painel: Client, campo: Campo) -> None:
    captura = campo.mandar(jpeg(80, 60, 3))
    resposta = painel.get(pagina(captura, "recorte"))
    assert resposta.status_code == 200
    assert resposta.content == jpeg(80, 60, 3)
    cabecalhos = resposta.headers
    assert cabecalhos["Content-Type"] == "image/jpeg"
    assert cabecalhos["X-Content-Type-Options"] == "nosniff"
    assert cabecalhos["Content-Security-Policy"] == "default-src 'none'; sandbox; frame-ancestors 'none'"
    assert cabecalhos["Cache-Control"] == "private, no-cache"
    assert cabecalhos["ETag"] == f'"{captura.recorte_sha256}"'
    assert cabecalhos["Content-Disposition"].startswith("inline")


def test_recorte_que_o_navegador_ja_tem_nao_viaja_de_novo(painel: Client, campo: Campo) -> None:
    captura = campo.mandar()
    etag = painel.get(pagina(captura, "recorte")).headers["ETag"]
    with CaptureQueriesContext(
        connection,
    ) as consultas:
        resposta = painel.get(pagina(captura, "recorte"), headers={"if-none-match": etag})
    assert (resposta.status_code, resposta.content) == (304, b"")
    assert resposta.headers["Cache-Control"] == "private, no-cache"
    assert not [c for c in consultas.captured_queries if '"recorte"' in c["sql"]]


def test_miniatura_nao_vaza_para_quem_nao_pode(campo: Campo) -> None:
    captura = campo.mandar()
    endereco = pagina(captura, "recorte")
    etag = f'"{captura.recorte_sha256}"'
    for cliente in (entrar_no_papel(OPERACAO), entrar_com("view_evento")):
        assert cliente.get(endereco).status_code == 403
        # Nem a confirmação de que o navegador tem a imagem certa.
        assert cliente.get(endereco, headers={"if-none-match": etag}).status_code == 403
    anonimo = Client().get(endereco, headers={"if-none-match": etag})
    assert (anonimo.status_code, anonimo.headers["Location"][:13]) == (302, "/admin/login/")
    assert entrar_no_papel(SUPORTE).get(endereco).status_code == 200


def test_imagem_que_nao_existe_e_404(painel: Client, campo: Campo) -> None:
    sem = campo.mandar(quadro=None, caixa=None)
    for endereco in (pagina(sem, "recorte"), f"{LISTA}{uuid4()}/recorte/"):
        resposta = painel.get(endereco)
        assert resposta.status_code == 404
        assert resposta.headers["Cache-Control"] == "no-store, private"
    assert painel.post(pagina(sem, "recorte")).status_code == 405


# ---- A lista


def test_lista_mostra_miniaturas_sem_ler_os_bytes(painel: Client, campo: Campo) -> None:
    captura = campo.mandar()
    campo.mandar(quadro=None, caixa=None, sem_recorte="caixa_invalida")
    with CaptureQueriesContext(connection) as consultas:
        resposta = painel.get(LISTA)
    assert f'src="{pagina(captura, "recorte")}"' in resposta.text
    assert 'title="a caixa era inválida"' in resposta.text
    assert "placa: ABC1D23" in resposta.text
    assert not [c for c in consultas.captured_queries if '"ingestao_captura"."recorte",' in c["sql"]]


def test_lista_nunca_conta_a_tabela_inteira(painel: Client, campo: Campo) -> None:
    campo.mandar()
    with CaptureQueriesContext(connection) as consultas:
        painel.get(LISTA)
    contagens = [
        c["sql"] for c in consultas.captured_queries if "COUNT(" in c["sql"] and "captura" in c["sql"]
    ]
    assert contagens
    assert all("LIMIT 10001" in sql for sql in contagens)


def test_orcamento_de_consultas(
    painel: Client, campo: Campo, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(12):
        captura = campo.mandar_com_quadro()
    campo.atender(campo.contestar(captura))
    for endereco, teto in ((LISTA, 10), (pagina(captura), 10), (pagina(captura, "recorte"), 6)):
        with django_assert_max_num_queries(teto):
            assert painel.get(endereco).status_code == 200


def test_filtros_da_lista(painel: Client, campo: Campo) -> None:
    outro = Campo.criar(campo.autor, "Outro")
    comum = campo.mandar()
    sem = campo.mandar(quadro=None, caixa=None)
    contestada = campo.mandar_com_quadro()
    campo.contestar(contestada)
    suspeita = outro.mandar(capturado_em="1999-01-01T00:00:00Z")
    antiga = campo.mandar()
    excluida = campo.mandar()
    Captura.objects.filter(pk=antiga.pk).update(gravado_em=timezone.now() - timedelta(days=9))
    Captura.objects.filter(pk=excluida.pk).update(deletado=True)
    Captura.objects.filter(pk=comum.pk).update(reenvios_fila=2)
    Captura.objects.filter(pk=sem.pk).update(reenvios_link=1)
    for filtro, esperadas in {
        "": {comum, sem, contestada, suspeita, antiga},
        f"dispositivo={outro.aparelho.id}": {suspeita},
        "dispositivo=torto": set(),
        "periodo=hora": {comum, sem, contestada, suspeita},
        "periodo=30d": {comum, sem, contestada, suspeita, antiga},
        "recorte=sem": {sem},
        "recorte=com&periodo=7d": {comum, contestada, suspeita},
        "contestada=sim": {contestada},
        "contestada=aberto": {contestada},
        "contestada=atendido": set(),
        "hora_suspeita=anterior_a_2020": {suspeita},
        "reenvio=fila": {comum},
        "reenvio=link": {sem},
        "reenvio=nenhum": {contestada, suspeita, antiga},
        "situacao=excluidas": {excluida},
        "situacao=todas": {comum, sem, contestada, suspeita, antiga, excluida},
    }.items():
        assert ids(painel.get(f"{LISTA}?{filtro}")) == {str(c.pk) for c in esperadas}, filtro


@pytest.mark.parametrize("hora", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize("fuso", ["America/Sao_Paulo", "Asia/Tokyo"])
def test_hora_na_beira_do_calendario_nao_derruba_a_tela(
    painel: Client, campo: Campo, hora: str, fuso: str
) -> None:
    captura = campo.mandar(capturado_em=hora)
    with timezone.override(fuso):
        assert ids(painel.get(LISTA)) == {str(captura.pk)}
        assert painel.get(pagina(captura)).status_code == 200


def test_busca_por_id_e_por_texto_do_payload(painel: Client, campo: Campo) -> None:
    uma, outra = campo.mandar(payload={"placa": "XYZ9K88"}), campo.mandar()
    assert ids(painel.get(f"{LISTA}?q={uma.pk}")) == {str(uma.pk)}
    assert ids(painel.get(f"{LISTA}?q=xyz9k88")) == {str(uma.pk)}
    assert ids(painel.get(f"{LISTA}?q=ABC1D23")) == {str(outra.pk)}
    assert ids(painel.get(f"{LISTA}?q=nada")) == set()
    assert painel.get(f"{LISTA}?q=nada%00").status_code == 200


def test_filtro_escrito_no_endereco_nao_varre_a_tabela(painel: Client, campo: Campo) -> None:
    campo.mandar()
    assert painel.get(f"{LISTA}?payload__contains=x").status_code == 400


# ---- A página


def test_pagina_tem_tempos_imagem_payload_e_identidade(painel: Client, campo: Campo) -> None:
    captura = campo.mandar_com_quadro(capturado_em="1999-01-01T12:00:00Z", idade_ms=90_000)
    campo.aparelho.postar([], latencias=[{"id_evento": str(captura.pk), "ms": 1_234}])
    texto = painel.get(pagina(captura)).text
    for visto in (
        str(captura.pk),
        "01/01/1999",
        "O aparelho ligou sem hora certa",
        "Pela idade, foi em",
        "1,2 s",
        "320 × 180 px",
        "64 × 48 px em (100, 60), margem pedida de 8 px",
        "ABC1D23",
        captura.conteudo_resumo,
        'viewBox="0 0 320 180"',
        f'href="{pagina(captura, "recorte")}"',
    ):
        assert visto in texto, visto


def test_payload_hostil_e_inerte_e_mascarado(painel: Client, campo: Campo) -> None:
    captura = campo.mandar(payload={HOSTIL: HOSTIL, "telefone": "+5511999990000", "token": "segredo-123456"})
    for endereco in (LISTA, pagina(captura)):
        texto = painel.get(endereco).text
        for proibido in ("<script>alert", "<img src=x", "\x1b", "\u202e", "5511999990000", "segredo-123456"):
            assert proibido not in texto, (endereco, proibido)
        assert "+55•••••••0000" in texto


def test_revelar_mostra_o_payload_inteiro_e_fica_na_trilha(painel: Client, campo: Campo) -> None:
    captura = campo.mandar(payload={"telefone": "+5511999990000"})
    assert "+5511999990000" in painel.post(pagina(captura, "revelacao"), {"motivo": "perícia"}).text
    revelacao = Revelacao.objects.get()
    assert (revelacao.registro_id, revelacao.motivo) == (str(captura.pk), "perícia")


def test_payload_que_nao_e_objeto_tambem_se_mostra(painel: Client, campo: Campo) -> None:
    for payload in (None, [], "só texto", 3.5, [{"a": 1}]):
        captura = campo.mandar(payload=payload)
        assert painel.get(pagina(captura)).status_code == 200
    assert "só texto" in painel.get(LISTA).text


def test_reenvios_e_conflitos_do_mesmo_id(painel: Client, campo: Campo) -> None:
    mandado = com_caixa()
    recortes = {mandado["id_evento"]: jpeg()}
    campo.aparelho.postar([mandado], recortes)
    campo.aparelho.postar([{**mandado, "tentativa": 2}], recortes)
    campo.aparelho.postar([{**mandado, "tentativa": 2}], recortes)
    intruso = Campo.criar(campo.autor, "Intruso")
    intruso.aparelho.postar([evento(id_evento=mandado["id_evento"])])
    captura = Captura.objects.get()
    texto = painel.get(pagina(captura)).text
    assert "2 (1 por link, 1 por fila)" in texto
    assert "Outros eventos com este id" in texto
    assert "id_de_outro_dispositivo" in texto
    assert "Intruso" in texto
    assert "chegou 3 vezes" in painel.get(LISTA).text


def test_captura_inexistente_volta_a_lista(painel: Client) -> None:
    for id_ in (uuid4(), "torto"):
        assert painel.get(f"{LISTA}{id_}/change/").status_code == 302
    assert painel.get(f"{LISTA}{uuid4()}/contestar/").status_code == 404


def test_suporte_ve_a_captura_e_nao_os_links_que_nao_pode_abrir(campo: Campo) -> None:
    captura = campo.mandar_com_quadro()
    texto = entrar_no_papel(SUPORTE).get(pagina(captura)).text
    assert "Contestar" in texto
    assert "/admin/ingestao/dispositivo/" not in texto
    assert not re.search(r">Excluir<|Revelar os", texto)


# ---- O desenho e os tempos, sem tela


def captura_com(**campos: Any) -> Captura:
    padrao = {"quadro_largura": 100, "quadro_altura": 50, "caixa_x": 10, "caixa_y": 10}
    return Captura(**{**padrao, "caixa_largura": 40, "caixa_altura": 20, "caixa_margem": 5, **campos})


def test_deteccao_e_a_caixa_sem_a_margem() -> None:
    desenho = desenhar(captura_com())
    assert desenho is not None
    assert desenho.caixa == Retangulo(x=10, y=10, largura=40, altura=20)
    assert desenho.dentro == Retangulo(x=15, y=15, largura=30, altura=10)


def test_lado_encostado_na_borda_pode_ter_perdido_a_margem_e_fica() -> None:
    desenho = desenhar(captura_com(caixa_x=0, caixa_y=30))
    assert desenho is not None
    assert desenho.dentro == Retangulo(x=0, y=35, largura=35, altura=15)


@pytest.mark.parametrize("campos", [{"caixa_margem": 0}, {"caixa_margem": 30}, {"caixa_largura": None}])
def test_sem_deteccao_que_se_possa_mostrar(campos: dict[str, Any]) -> None:
    desenho = desenhar(captura_com(**campos))
    assert desenho is not None
    assert desenho.dentro is None


def test_sem_quadro_nao_ha_desenho_nem_razao() -> None:
    assert desenhar(captura_com(quadro_largura=None)) is None
    assert calcular_razao(captura_com(quadro_largura=None)) is None
    assert calcular_razao(captura_com()) == 16.0


def test_hora_estimada_so_quando_nao_se_confia_na_do_aparelho() -> None:
    agora = timezone.now()
    suspeita = Captura(gravado_em=agora, idade_ms=60_000, hora_suspeita=HoraSuspeita.NO_FUTURO)
    assert estimar(suspeita) == agora - timedelta(minutes=1)
    assert estimar(Captura(gravado_em=agora, idade_ms=60_000)) is None
    assert estimar(Captura(gravado_em=agora, idade_ms=None, hora_suspeita="no_futuro")) is None
    assert estimar(Captura(gravado_em=agora, idade_ms=10**17, hora_suspeita="no_futuro")) is None


# ---- Excluir


def test_excluir_pede_motivo_sai_da_lista_e_o_reenvio_recebe_o_mesmo_ack(
    painel: Client, campo: Campo
) -> None:
    mandado = com_caixa()
    recortes = {mandado["id_evento"]: jpeg()}
    primeiro = campo.aparelho.postar([mandado], recortes).json()["resultados"]
    captura = Captura.objects.get()
    recusada = painel.post(pagina(captura, "excluir"), {"motivo": "  "})
    assert recusada.status_code == 400
    assert "Escreva o motivo" in recusada.text
    resposta = painel.post(pagina(captura, "excluir"), {"motivo": "Rosto de criança."}, follow=True)
    assert "saiu das listas" in mensagens(resposta)[0]
    assert "Rosto de criança." in resposta.text
    assert ids(painel.get(LISTA)) == set()
    assert campo.aparelho.postar([mandado], recortes).json()["resultados"] == primeiro

    resposta = painel.post(pagina(captura, "restaurar"), {"motivo": "Engano."}, follow=True)
    assert [ato["nome"] for ato in resposta.context["trilha"]] == ["Excluiu a captura", "Restaurou a captura"]
    assert ids(painel.get(LISTA)) == {str(captura.pk)}


@pytest.mark.parametrize("acao", ["excluir", "restaurar"])
def test_suporte_nao_exclui(campo: Campo, acao: str) -> None:
    captura = campo.mandar()
    cliente = entrar_no_papel(SUPORTE)
    assert cliente.get(pagina(captura, acao)).status_code == 403
    assert cliente.post(pagina(captura, acao), {"motivo": "x"}).status_code == 403
    assert not Captura.objects.get().deletado
