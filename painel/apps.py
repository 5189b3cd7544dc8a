from django.apps import AppConfig


class PainelConfig(AppConfig):
    name = "painel"
    verbose_name = "Painel"

    def ready(self) -> None:
        """Registra as verificações de produção (o Django as procura por importação)."""
        from painel import verificacoes  # noqa: F401
