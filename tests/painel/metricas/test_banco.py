"""O que o banco diz na página de métricas, e que a coleta não custa nem prende ninguém."""

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from config import contagem
from dlr.models import RecusaDeCallback
from ingestao.capturas.medidas import achar_faixa, truncar_na_hora
from ingestao.models import Aplicativo, Dispositivo, Lote, MedidaDeCaptura, Recusa, Uso
from painel.metricas import consultas, familias, views
from painel.models import Aviso, EntregaDeAviso
from tests.painel.metricas.conftest import Contadas, ler, um


def test_sites_filas_e_franquia(client: Client, db: None) -> None:
    hoje, agora = timezone.localdate(), timezone.now()
    loja = Aplicativo.objects.create(nome='Loja "1"\n', dominios=["l.com.br"], franquia=200)
    Uso.objects.create(aplicativo=loja, dia=hoje, quantidade_eventos=150, quantidade_recusados=4)
    Uso.objects.create(aplicativo=loja, dia=hoje - timedelta(days=40), quantidade_eventos=999)
    Recusa.objects.create(aplicativo=loja, dia=hoje, motivo="json_invalido", quantidade_requisicoes=3)
    RecusaDeCallback.objects.create(dia=hoje, motivo="token_invalido", quantidade=7)
    Lote.objects.create(recebido_em=agora - timedelta(seconds=50))
    Lote.objects.create(estacionado_em=agora)
    pagina = ler(client)
    assert um(pagina, "eventos_gravados_hoje") == 150
    assert um(pagina, "eventos_recusados_hoje") == 4
    assert um(pagina, "chamadas_recusadas_hoje", fluxo="evento", motivo="json_invalido") == 3
    assert um(pagina, "chamadas_recusadas_hoje", fluxo="dlr", motivo="token_invalido") == 7
    assert um(pagina, "franquia_uso", aplicativo=str(loja.pk), nome='Loja "1"\n') == 0.75
    assert um(pagina, "fila_itens", fila="lotes") == 1
    assert um(pagina, "fila_estacionados", fila="lotes") == 1
    assert 50 <= (um(pagina, "fila_idade_segundos", fila="lotes") or 0) < 110
    assert um(pagina, "fila_idade_segundos", fila="recepcoes") == 0
    assert um(pagina, "banco_acessivel") == 1
    assert um(pagina, "versao", versao="0.1.0") == 1


ESPERADAS = {
    ("aceite", "sim"): 3,
    ("aceite", "nao"): 2,
    ("relatado", "DELIVERED"): 2,
    ("relatado", "sem_recibo"): 3,
    ("verificado", "provas"): 1,
}


def test_mensagens_por_dimensao_nunca_se_misturam(client: Client, mensagens: None) -> None:
    pagina = ler(client)
    vistas = {tuple(dict(r).values()): v for (nome, r), v in pagina.items() if nome == "lastro_mensagens"}
    assert vistas == ESPERADAS
    assert um(pagina, "excecoes_abertas", tipo="conflito_final") == 1


def test_tabela_grande_e_estimada_sem_ser_contada(
    client: Client, mensagens: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consultas, "LINHAS_CONTADAS", 0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dlr_mensagem, dlr_projecao, dlr_verificacao")
    assert consultas.contar_mensagens() == ESPERADAS


def test_capturas_da_hora(client: Client, db: None) -> None:
    agora = timezone.now()
    hora = truncar_na_hora(agora)
    camera = Dispositivo.objects.create(nome="c", token_resumo="c", ultimo_contato_em=agora)
    Dispositivo.objects.create(nome="d", token_resumo="d", ultimo_contato_em=agora - timedelta(hours=1))
    for quando, medida, faixa, quantidade in [
        (hora, "gravadas", 0, 9),
        (hora, "reenvio_link", 0, 2),
        (hora, "reenvio_fila", 0, 1),
        (hora, "descartados:cheia", 0, 4),
        (hora - timedelta(hours=1), "gravadas", 0, 100),
        (hora - timedelta(hours=1), "latencia_ms", achar_faixa(2_000), 90),
        (hora, "latencia_ms", achar_faixa(10_000), 10),
    ]:
        MedidaDeCaptura.objects.create(
            dispositivo=camera, hora=quando, medida=medida, faixa=faixa, quantidade=quantidade
        )
    pagina = ler(client)
    assert um(pagina, "capturas_gravadas_na_hora") == 9
    assert um(pagina, "capturas_reenvios_na_hora", causa="link") == 2
    assert um(pagina, "capturas_reenvios_na_hora", causa="fila") == 1
    assert um(pagina, "capturas_descartadas_na_hora", motivo="cheia") == 4
    assert um(pagina, "capturas_latencia_segundos", quantil="0.5") == pytest.approx(2, rel=0.05)
    assert um(pagina, "capturas_latencia_segundos", quantil="0.95") == pytest.approx(10, rel=0.05)
    assert (um(pagina, "dispositivos"), um(pagina, "dispositivos_silenciosos")) == (2, 1)


def test_avisos_e_entregas(client: Client, db: None) -> None:
    agora = timezone.now()
    tempos = {"aberto_em": agora, "visto_em": agora, "novidade_em": agora}
    aviso = Aviso.objects.create(tipo="fila", alvo="lotes", titulo="t", **tempos)
    Aviso.objects.create(tipo="fila", alvo="lotes", titulo="t", resolvido_em=agora, **tempos)
    comuns = {"aviso": aviso, "canal": "email", "conteudo": {}, "criada_em": agora, "fixada_em": agora}
    EntregaDeAviso.objects.create(motivo="abriu", disponivel_em=agora - timedelta(seconds=40), **comuns)
    EntregaDeAviso.objects.create(motivo="abriu", situacao="desistida", disponivel_em=agora, **comuns)
    pagina = ler(client)
    assert um(pagina, "avisos_abertos", tipo="fila") == 1
    assert um(pagina, "avisos_entregas_pendentes") == 1
    assert um(pagina, "avisos_entregas_desistidas") == 1
    assert 40 <= (um(pagina, "avisos_entregas_atraso_segundos") or 0) < 100


def test_coleta_presa_no_banco_nao_prende_as_outras(
    client: Client, contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    presa, soltar = threading.Event(), threading.Event()

    def congelar() -> Iterator[Any]:
        presa.set()
        soltar.wait(30)
        return iter(())

    monkeypatch.setattr(familias, "MEDIDORES", (congelar,))
    thread = threading.Thread(target=views.coleta.ler)
    thread.start()
    assert presa.wait(20)
    contagem.contar("evento", 503, b"")
    durante, pagina = contadas(), ler(client)
    soltar.set()
    thread.join()
    assert (um(pagina, "banco_acessivel"), durante) == (0, {("evento", "503", ""): 1})


def test_muitos_perguntando_juntos_fazem_uma_coleta_so(monkeypatch: pytest.MonkeyPatch) -> None:
    feitas: list[float] = []

    def demorar() -> Iterator[Any]:
        feitas.append(time.monotonic())
        time.sleep(0.1)
        return iter(())

    monkeypatch.setattr(familias, "MEDIDORES", (demorar,))
    monkeypatch.setattr(views, "VALIDADE_S", 60.0)
    coleta = views.Coleta()
    threads = [threading.Thread(target=coleta.ler) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(feitas) == 1


def test_coleta_custa_um_numero_fixo_de_consultas(
    client: Client, mensagens: None, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(40):
        ler(client)
