"""Usuários, papéis e grupos: quem entra no painel e o que pode."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.admin import ModelAdmin
from unfold.dataclasses import UnfoldAction
from unfold.decorators import action, display
from unfold.enums import ActionVariant
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminCheckboxSelectMultiple

from painel.acesso import segundo_fator
from painel.models import Autenticador
from painel.permissoes import PAPEIS

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class UsuarioAdmin(UserAdmin, ModelAdmin):
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "papeis", "email", "is_active", "com_segundo_fator", "last_login")
    list_filter_sheet = False
    actions_detail = ("remover_segundo_fator",)
    filter_horizontal = ()
    # Sem permissões avulsas: o que a pessoa pode vem dos papéis, e é por eles que se confere quem pode o quê.
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Pessoa", {"fields": ("first_name", "last_name", "email")}),
        ("Acesso", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Datas", {"fields": ("last_login", "date_joined")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        autenticadores = Autenticador.objects.filter(user=OuterRef("pk"), confirmed=True)
        usuarios = super().get_queryset(request).prefetch_related("groups")
        return usuarios.annotate(tem_segundo_fator=Exists(autenticadores))

    @display(description="Papéis")
    def papeis(self, usuario: User) -> str:
        grupos = sorted(grupo.name for grupo in usuario.groups.all())
        return ", ".join(["Superusuário", *grupos] if usuario.is_superuser else grupos) or "nenhum"

    @display(description="Segundo fator", label={True: "success", False: ""})
    def com_segundo_fator(self, usuario: User) -> tuple[bool, str]:
        tem = usuario.tem_segundo_fator  # type: ignore[attr-defined]
        return tem, "ativo" if tem else "não"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nunca: apagar levaria junto o histórico do que a pessoa fez. Desmarque “ativo”."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Quem não é superusuário não mexe em quem é: trocaria a senha dele e entraria no lugar."""
        if isinstance(obj, User) and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def has_remocao_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("painel.remover_segundo_fator")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Dar papéis é de quem cuida deles; sem isto, quem edita usuários daria a si qualquer um."""
        lidos = ("last_login", "date_joined")
        if request.user.is_superuser:
            return lidos
        de_papel = () if request.user.has_perm("auth.change_group") else ("groups",)
        return (*lidos, "is_superuser", "user_permissions", *de_papel)

    def formfield_for_manytomany(
        self, db_field: Any, request: HttpRequest, **opcoes: Any
    ) -> ModelMultipleChoiceField | None:
        """Os papéis são poucos: uma caixa para cada."""
        if db_field.name == "groups":
            opcoes["widget"] = UnfoldAdminCheckboxSelectMultiple()
        return super().formfield_for_manytomany(db_field, request, **opcoes)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[UnfoldAction]:
        """Remover o segundo fator só aparece quando há um."""
        pessoa = self.get_object(request, object_id)  # None também para uma chave que nem número é
        tem = pessoa is not None and segundo_fator.buscar_autenticador(pessoa) is not None
        return super().get_actions_detail(request, object_id) if tem else []

    @action(
        description="Remover o segundo fator",
        url_path="remover-segundo-fator",
        permissions=["remocao"],
        icon="phonelink_erase",
        variant=ActionVariant.DANGER,
    )
    def remover_segundo_fator(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """GET diz o que vai acontecer; POST remove e deixa na trilha de quem removeu."""
        usuario = cast("User | None", self.get_object(request, object_id))
        if usuario is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_change_permission(request, usuario):
            raise PermissionDenied
        if request.method != "POST":
            contexto = {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "original": usuario,
                "title": usuario.get_username(),
            }
            return TemplateResponse(request, "painel/acesso/confirmar_remocao.html", contexto)
        autor = cast("User", request.user)
        if segundo_fator.remover(usuario, autor, "Removeu o segundo fator desta pessoa."):
            messages.success(request, f"Segundo fator de {usuario} removido: ela entra só com a senha.")
        else:
            messages.warning(request, f"{usuario} não tinha segundo fator: nada mudou.")
        return redirect("admin:auth_user_change", usuario.pk)


@admin.register(Group)
class GrupoAdmin(GroupAdmin, ModelAdmin):
    """Os papéis são da tabela em `painel/permissoes.py` e só se leem; outros grupos se criam à vontade."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not _e_papel(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return not _e_papel(obj) and super().has_delete_permission(request, obj)


def _e_papel(grupo: Any) -> bool:
    return isinstance(grupo, Group) and grupo.name in PAPEIS
