from django.apps import AppConfig
from django.db.models.signals import post_migrate


class PainelConfig(AppConfig):
    name = "painel"
    verbose_name = "Painel"

    def ready(self) -> None:
        """Registra as verificações de produção (o Django as procura por importação) e os papéis."""
        from painel import verificacoes  # noqa: F401
        from painel.permissoes import aplicar_papeis

        # Uma vez por `migrate`: o painel é o último aplicativo, e as permissões de todos já existem.
        post_migrate.connect(aplicar_papeis, sender=self)
