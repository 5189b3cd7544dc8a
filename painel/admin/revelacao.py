"""Revelar: a página que mascara se mostra inteira a quem pode, por POST, e fica na trilha quem viu o quê."""

import copy
from collections.abc import Callable
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar_texto
from painel.admin.somente_leitura import PaginaPropria
from painel.models import Revelacao

PERMISSAO = "painel.revelar"
MOTIVO_CARACTERES = 500


def esta_revelado(request: HttpRequest) -> bool:
    """Diz se esta resposta mostra o que as outras mascaram: só a do POST que deixou trilha."""
    return bool(getattr(request, "revelado", False))


def leitor(request: HttpRequest) -> Callable[[str], str]:
    """Como mostrar um texto alheio nesta resposta: inerte sempre, e mascarado se não foi revelado."""
    if esta_revelado(request):
        return neutralizar
    return lambda texto: mascarar_texto(neutralizar(texto))


class ComRevelacao(PaginaPropria):
    """Uma página que mascara. `o_que_revela` completa a frase “mostra …” e vai para a trilha."""

    o_que_revela = ""

    def pode_revelar(self, request: HttpRequest) -> bool:
        """Diz se quem pede pode ver o que a página mascara."""
        return self.has_view_permission(request) and request.user.has_perm(PERMISSAO)

    def get_urls(self) -> list[URLPattern]:
        revelacao = self.admin_site.admin_view(require_POST(self.revelar))
        nome = f"{self.opts.app_label}_{self.opts.model_name}_revelacao"
        return [path("<path:object_id>/revelacao/", revelacao, name=nome), *super().get_urls()]

    def revelar(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A mesma página, sem máscara. A trilha é gravada antes: se não deu, nada se mostra."""
        if not self.pode_revelar(request):
            raise PermissionDenied
        registro = self.get_object(request, object_id)
        if registro is None:
            return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        motivo = request.POST.get("motivo", "").replace("\0", "").strip()[:MOTIVO_CARACTERES]
        with transaction.atomic():
            registrar(cast("User", request.user), registro, self.o_que_revela, motivo)
            self.log_change(request, registro, f"Revelou {self.o_que_revela}.")
        pagina = copy.copy(request)
        pagina.method = "GET"  # a página é a de ver; o POST foi só o pedido
        pagina.revelado = True  # type: ignore[attr-defined]
        return self.changeform_view(pagina, object_id)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        registro = kwargs.get("obj")
        context |= {
            "revelado": esta_revelado(request),
            "pode_revelar": self.pode_revelar(request),
            "o_que_revela": self.o_que_revela,
            "url_da_revelacao": self._endereco(registro, "revelacao") if registro else "",
            "url_sem_revelar": self._endereco(registro, "change") if registro else "",
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def _endereco(self, registro: Model, qual: str) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{qual}", args=[registro.pk])


def registrar(autor: User, registro: Model, o_que: str, motivo: str) -> Revelacao:
    """A linha da trilha: quem viu o quê, de qual registro, quando e por quê."""
    return Revelacao.objects.create(
        autor=autor,
        o_que=o_que,
        modelo=registro._meta.label_lower,
        registro_id=str(registro.pk),
        motivo=motivo,
    )
