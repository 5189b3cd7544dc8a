"""As rotas da ingestão."""

from django.urls import path

from ingestao.capturas.views import (
    IndisponivelView,
    IngestaoDeCapturasView,
    PedidosView,
    PulsoView,
    QuadroView,
)
from ingestao.eventos.views import IngestaoView

urlpatterns = [
    path("evento/ingestao", IngestaoView.as_view(), name="evento-ingestao"),
    path("captura/ingestao", IngestaoDeCapturasView.as_view(), name="captura-ingestao"),
    path("captura/pulso", PulsoView.as_view(), name="captura-pulso"),
    path("captura/pedidos", PedidosView.as_view(), name="captura-pedidos"),
    path("captura/quadros/<str:pedido_id>", QuadroView.as_view(), name="captura-quadro"),
    path(
        "captura/quadros/<str:pedido_id>/indisponivel",
        IndisponivelView.as_view(),
        name="captura-indisponivel",
    ),
]
