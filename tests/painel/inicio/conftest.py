"""Um servidor com movimento: sites e recibos pela porta, como em produção; aparelhos, pelas tabelas deles."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from dlr.models import Mensagem, Verificacao
from ingestao.models import (
    Aplicativo,
    Captura,
    Dispositivo,
    Erro,
    EstadoDoErro,
    Lote,
    MedidaDeCaptura,
    RecusaDeCaptura,
)
from tests.painel.conftest import erro_js
from tests.painel.recibos import criar, recibo


@pytest.fixture
def movimento(aplicativo: Aplicativo, mandar: Callable[..., int]) -> SimpleNamespace:
    """Números pequenos e todos diferentes, para que nenhum passe por outro."""
    aplicativo.franquia = 10
    aplicativo.save()
    _sites(aplicativo, mandar)
    _recibos()
    _capturas()
    return SimpleNamespace(eventos=11, regredidos=1, novos=3, reexecutaveis=2)


def _sites(aplicativo: Aplicativo, mandar: Callable[..., int]) -> None:
    assert mandar(*(erro_js(f"e{i}", f"falha {'abcd'[i % 4]}") for i in range(8))) == 202
    Erro.objects.filter(titulo__contains="falha a").update(
        estado=EstadoDoErro.RESOLVIDO, resolvido_em=timezone.now() - timedelta(minutes=1)
    )
    assert (
        mandar(erro_js("volta", "falha a"), erro_js("pagina", tipo="PAGINA"), erro_js("x", tipo="CLIQUE"))
        == 202
    )
    assert mandar(erro_js("r1", tipo="INVENTADO"), erro_js("r2", tipo="INVENTADO"), aplicar=True) == 202
    assert mandar(*(erro_js(f"c{i}") for i in range(5)), chave="pk_live_nenhuma") == 401
    Erro.objects.filter(titulo__contains="falha a").update(
        primeira_ocorrencia_em=timezone.now() - timedelta(days=3)
    )
    for numero in range(2):
        Lote.objects.create(
            aplicativo=aplicativo,
            conteudo=b"{",
            estacionado_em=timezone.now(),
            tentativas=5,
            falha=str(numero),
        )
    Lote.objects.create(
        aplicativo=aplicativo, conteudo=b"{", disponivel_em=timezone.now() + timedelta(hours=1)
    )


def _recibos() -> None:
    op = criar()
    for numero in range(6):
        op.registrar(f"m{numero}", f"id-{numero}", aceita=numero != 0)
    for numero in range(1, 4):
        assert op.receber(recibo(f"id-{numero}")) == 202
    assert op.receber(recibo("id-4", "UNDELIVERABLE")) == 202
    for numero in range(3):
        assert op.receber(b"ilegivel %d" % numero) == 202
    assert op.receber(recibo("id-5", "INVENTADO")) == 202
    for mensagem in Mensagem.objects.order_by("id")[1:3]:
        Verificacao.objects.create(mensagem=mensagem, origem="codigo", ocorrida_em=timezone.now())
    for _ in range(4):
        assert Client().post("/dlr/callback/operadora-a/errado").status_code in (401, 403)


def _capturas() -> None:
    agora = timezone.now()
    hora = agora.replace(minute=0, second=0, microsecond=0)
    vivo = Dispositivo.objects.create(nome="Portaria", token_resumo="a", ultimo_contato_em=agora)
    Dispositivo.objects.create(nome="Calado", token_resumo="b", ultimo_contato_em=agora - timedelta(days=2))
    for numero in range(3):
        Captura.objects.create(
            id_evento=f"00000000-0000-0000-0000-{numero:012}",
            dispositivo=vivo,
            capturado_em=agora,
            seq=numero,
            payload={},
            conteudo_resumo="x",
            gravado_em=agora,
        )
    medidas = {
        "gravadas": 3,
        "reenvio_link": 7,
        "reenvio_fila": 5,
        "descartados:teto": 9,
        "descartados:disco": 4,
        "invalidos:imagem_cortada": 14,
        "invalidos:campo_ausente": 2,
        "conflitos:conteudo_diferente": 17,
    }
    for medida, quantidade in medidas.items():
        MedidaDeCaptura.objects.create(dispositivo=vivo, hora=hora, medida=medida, quantidade=quantidade)
    MedidaDeCaptura.objects.create(dispositivo=vivo, hora=hora, medida="latencia_ms", faixa=60, quantidade=3)
    RecusaDeCaptura.objects.create(
        dispositivo=None, dia=timezone.localdate(), motivo="nao_autenticado", quantidade=6
    )
