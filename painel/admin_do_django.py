"""O aplicativo `admin` do Django com o site do painel. Fora de `apps.py`, que só pode ter o do painel."""

from django.contrib.admin.apps import AdminConfig


class SiteConfig(AdminConfig):
    """Troca o site padrão: login em dois passos e telas de acesso."""

    default_site = "painel.site.Site"
