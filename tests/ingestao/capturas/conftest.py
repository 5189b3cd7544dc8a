"""Aparelhos, contestações abertas e o depósito de quadros numa pasta do teste."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.db.models import Sum

from ingestao.capturas.dispositivos import criar_dispositivo
from ingestao.capturas.pedidos import abrir_pedido
from ingestao.models import Captura, MedidaDeCaptura, Pedido
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, jpeg, quadro, resumir


@pytest.fixture
def cadastrar(db: None) -> Callable[[], Aparelho]:
    """Cadastra um aparelho novo."""

    def cadastrar(nome: str = "Portaria") -> Aparelho:
        dispositivo, token = criar_dispositivo(nome)
        return Aparelho(dispositivo.pk, token)

    return cadastrar


@pytest.fixture
def aparelho(cadastrar: Callable[[], Aparelho]) -> Aparelho:
    return cadastrar()


@pytest.fixture
def operador(db: None) -> Any:
    return get_user_model().objects.create_user("operador")


@pytest.fixture(autouse=True)
def deposito(tmp_path: Path, settings: Any) -> Path:
    """Os quadros deste teste ficam na pasta dele."""
    pasta = tmp_path / "quadros"
    settings.STORAGES = {
        **settings.STORAGES,
        "quadros": {
            "BACKEND": "ingestao.capturas.deposito.QuadrosEmDisco",
            "OPTIONS": {"location": str(pasta), "file_permissions_mode": 0o600},
        },
    }
    storages._storages.pop("quadros", None)
    return pasta


@pytest.fixture
def contestar(aparelho: Aparelho, operador: Any) -> Callable[[bytes], Pedido]:
    """Grava uma captura cujo quadro são estes bytes e abre um pedido dele."""

    def contestar(conteudo: bytes) -> Pedido:
        mandado = com_caixa(quadro=quadro(bytes=len(conteudo), sha256=resumir(conteudo)))
        resposta = aparelho.postar([mandado], {mandado["id_evento"]: jpeg()})
        assert resposta.json()["resultados"][0]["situacao"] == "gravado"
        captura = Captura.objects.get(pk=mandado["id_evento"])
        return abrir_pedido(captura, "O motorista nega a passagem.", operador)

    return contestar


def contadores(aparelho: Aparelho) -> dict[str, int]:
    """As medidas do aparelho, somadas por nome."""
    medidas = MedidaDeCaptura.objects.filter(dispositivo_id=aparelho.id).order_by()
    return dict(medidas.values_list("medida").annotate(total=Sum("quantidade")))
