"""Ao menos um registro atrás de cada rota do painel, e alguém com um papel para abri-las."""

from collections.abc import Callable
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from dlr.models import Integracao, RecepcaoPendente, RecepcaoPorDia, RecepcaoPorMinuto, RecusaDeCallback
from ingestao.models import (
    Aplicativo,
    AvisoFranquia,
    Dispositivo,
    Lote,
    MedidaDeCaptura,
    RecusaDeCaptura,
    UsoPorMinuto,
)
from painel.avisos.rodada import rodar
from painel.models import Autenticador, Canal, DestinoDeAviso, LimiarDeAviso, Revelacao
from tests.ingestao.capturas.conftest import deposito
from tests.painel.aparelhos import Campo
from tests.painel.conftest import erro_js
from tests.painel.recibos import criar, passar_a_janela, recibo

__all__ = ["deposito"]  # os quadros vão para a pasta do teste


@pytest.fixture
def um_de_cada(mandar: Callable[..., int], aplicativo: Aplicativo) -> None:
    """Ao menos um registro atrás de cada rota."""
    mandar(erro_js(), {"evento_id": "x", "tipo": "X"}, usuario_id="u1")
    mandar({"evento_id": "p", "tipo": "PAGINA"}, aplicar=False)
    Lote.objects.update(estacionado_em=timezone.now(), tentativas=5, falha="DataError: x")
    ligada = criar()
    ligada.registrar("pedido-1", "abc1")
    ligada.receber(recibo("abc1"))
    ligada.receber(recibo("nunca"))
    passar_a_janela()
    ligada.receber(recibo("na-caixa"), aplicar=False)
    RecepcaoPendente.objects.update(estacionado_em=timezone.now(), tentativas=5)
    RecusaDeCallback.objects.create(dia=timezone.localdate(), motivo="sem_prova", quantidade=3)
    AvisoFranquia.objects.create(
        aplicativo=aplicativo,
        periodo=timezone.localdate().replace(day=1),
        percentual=80,
        quantidade=8,
        franquia=10,
        criado_em=timezone.now(),
    )
    outra = User.objects.create_user("carla", is_staff=True)
    Campo.montar(outra)
    Autenticador.objects.create(user=outra, name="aplicativo")
    LogEntry.objects.log_actions(outra.pk, [outra], CHANGE, "x")
    Revelacao.objects.create(autor=outra, o_que="x", modelo="dlr.mensagem", registro_id="1")
    Group.objects.create(name="Extra")
    AccessAttempt.objects.create(username="x", ip_address="10.0.0.1", failures_since_start=5)
    AccessLog.objects.create(username="x", ip_address="10.0.0.1")
    contar_e_avisar(aplicativo)


def contar_e_avisar(aplicativo: Aplicativo) -> None:
    """As contagens por trás dos gráficos, e um aviso com a entrega dele."""
    agora, integracao = timezone.now(), Integracao.objects.get()
    hora = agora.replace(minute=0, second=0, microsecond=0)
    camera = Dispositivo.objects.create(nome="Câmera", token_resumo="x" * 64)
    UsoPorMinuto.objects.get_or_create(aplicativo=aplicativo, minuto=hora, motivo="x")
    MedidaDeCaptura.objects.create(dispositivo=camera, hora=hora, medida="gravadas", quantidade=1)
    RecusaDeCaptura.objects.create(dispositivo=camera, dia=timezone.localdate(), motivo="x", quantidade=1)
    RecepcaoPorMinuto.objects.get_or_create(integracao=integracao, minuto=hora, motivo="x")
    RecepcaoPorDia.objects.get_or_create(integracao=integracao, dia=timezone.localdate())
    LimiarDeAviso.objects.create(tipo="fila", valor=60)
    sala = DestinoDeAviso(nome="Sala", canal=Canal.WEBHOOK, url="https://gancho.exemplo.com.br/x")
    sala.trocar_segredo()
    sala.save()
    rodar(agora)


def entrar_como(*papeis: str) -> Client:
    usuario = User.objects.create_user("bia", is_staff=True)
    usuario.groups.set(Group.objects.filter(name__in=papeis))
    cliente = Client(headers={"accept": "text/html"})
    cliente.force_login(usuario)
    return cliente


def chave_de(nome: str) -> Any:
    """A chave de um registro que a rota aceita."""
    modelo = "_".join(nome.split("_")[:2])
    if modelo == "auth_user":
        return User.objects.get(username="carla").pk
    if modelo == "auth_group":
        return Group.objects.get(name="Extra").pk
    registro = apps.get_model(*modelo.split("_"))._default_manager.first()
    assert registro is not None, modelo
    return registro.pk
