"""As rotas da ingestão."""

from django.urls import path

from ingestao.coletor import coletor
from ingestao.demonstracao.views import demonstracao, gravados
from ingestao.eventos.views import IngestaoView

urlpatterns = [
    path("evento/ingestao", IngestaoView.as_view(), name="evento-ingestao"),
    path("coletor.js", coletor, name="coletor"),
    path("demonstracao/", demonstracao, name="demonstracao"),
    path("demonstracao/eventos", gravados, name="demonstracao-eventos"),
]
