"""As rotas dos recibos."""

from django.urls import path

from dlr import views

# Há transportadora que acrescenta a barra final ao endereço que lhe deram.
COM_BARRA = [
    path("dlr/callback/<slug:slug>/", views.CallbackView.as_view(schema=None)),
    path("dlr/callback/<slug:slug>/<str:token>/", views.CallbackComTokenView.as_view(schema=None)),
]

urlpatterns = [
    *COM_BARRA,
    path("dlr/mensagens", views.MensagensView.as_view(), name="dlr-mensagens"),
    path("dlr/mensagens/<int:id_da_mensagem>", views.MensagemView.as_view(), name="dlr-mensagem"),
    path(
        "dlr/mensagens/<int:id_da_mensagem>/verificacoes",
        views.VerificacoesView.as_view(),
        name="dlr-verificacoes",
    ),
    path("dlr/relatorio", views.RelatorioView.as_view(), name="dlr-relatorio"),
    path("dlr/callback/<slug:slug>", views.CallbackView.as_view(), name="dlr-callback"),
    path(
        "dlr/callback/<slug:slug>/<str:token>",
        views.CallbackComTokenView.as_view(),
        name="dlr-callback-token",
    ),
]
