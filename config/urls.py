"""As rotas de cada aplicativo e os erros em JSON."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config.documentacao import Documentacao, Esquema
from painel import saude
from painel.inicio import views as inicio
from painel.metricas.views import metricas

urlpatterns = [
    path("", RedirectView.as_view(url="/admin/")),
    path("", include("ingestao.urls")),
    path("", include("dlr.urls")),
    path("admin/inicio/retrato", inicio.retratar, name="inicio_retrato"),
    path("admin/", admin.site.urls),
    path("saude", saude.saude),
    path("prontidao", saude.prontidao),
    path("metricas", metricas),
    path("api/esquema", Esquema.as_view(), name="esquema"),
    path("api/docs", Documentacao.as_view(url_name="esquema"), name="docs"),
]

handler400 = "config.erros.requisicao_invalida"
handler403 = "config.erros.proibido"
handler404 = "config.erros.pagina_nao_encontrada"
handler500 = "config.erros.erro_interno"
