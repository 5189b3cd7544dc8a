"""Os campos das telas de acesso."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

CODIGO_CARACTERES = 20


class FormularioDeCodigo(forms.Form):
    """Um código: do aplicativo ou de recuperação."""

    codigo = forms.CharField(
        label="Código",
        max_length=CODIGO_CARACTERES,
        widget=UnfoldAdminTextInputWidget(
            attrs={
                "autocomplete": "one-time-code",
                "autofocus": "",
                "spellcheck": "false",
                "autocapitalize": "none",
            }
        ),
        error_messages={"required": "Escreva o código."},
    )


class FormularioDeSenha(forms.Form):
    """A senha de quem está na tela. Um erro conta para a tranca do login."""

    senha = forms.CharField(
        label="Sua senha",
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Escreva a sua senha."},
    )

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        self.request = request
        super().__init__(*args, **kwargs)

    def clean_senha(self) -> str:
        """Levanta `ValidationError` se a senha não é a da pessoa da sessão."""
        quem = self.request.user
        assert isinstance(quem, User)
        senha: str = self.cleaned_data["senha"]
        if authenticate(self.request, username=quem.get_username(), password=senha) is None:
            raise forms.ValidationError("A senha não confere.")
        return senha
