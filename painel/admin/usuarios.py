"""Usuários e grupos: quem entra no painel e o que pode."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UsuarioAdmin(UserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "first_name", "email", "is_active", "is_superuser", "last_login")
    list_filter_sheet = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: apagar levaria junto o histórico do que a pessoa fez. Desmarque “ativo”."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Quem não é superusuário não mexe em quem é: trocaria a senha dele e entraria no lugar."""
        if isinstance(obj, User) and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        lidos = ("last_login", "date_joined")
        return lidos if request.user.is_superuser else (*lidos, "is_superuser", "user_permissions")


@admin.register(Group)
class GrupoAdmin(GroupAdmin, ModelAdmin):
    pass
