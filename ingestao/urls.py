"""As rotas da ingestão."""

from django.urls import path

from ingestao.eventos.views import IngestaoView

urlpatterns = [path("evento/ingestao", IngestaoView.as_view(), name="evento-ingestao")]
