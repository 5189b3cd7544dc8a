from django.apps import AppConfig


class IngestaoConfig(AppConfig):
    name = "ingestao"
    verbose_name = "Ingestão"
