from django.apps import AppConfig


class DlrConfig(AppConfig):
    name = "dlr"
    verbose_name = "Recibos (DLR)"
