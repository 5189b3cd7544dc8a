"""O formulário de uma integração: redes uma por linha, segredos que só entram."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextareaWidget,
    UnfoldBooleanSwitchWidget,
)

from config.cofre import cifrar
from dlr.dominio.estados import Estado
from dlr.models import Integracao
from dlr.models.integracao import conferir_rede

SEGREDO_CARACTERES = 4_000  # cabe uma chave pública em PEM
# O campo do formulário e a coluna cifrada em que ele é guardado.
SEGREDOS = {"segredo": "segredo_cifrado", "senha": "senha_cifrada"}


class RedesUmaPorLinha(forms.Field):
    """IPs ou redes CIDR, um por linha; devolve a lista, sem repetir."""

    widget = UnfoldAdminTextareaWidget(
        attrs={"rows": 3, "spellcheck": "false", "placeholder": "203.0.113.0/24"}
    )

    def prepare_value(self, value: str | Iterable[str] | None) -> str | None:
        return value if value is None or isinstance(value, str) else "\n".join(value)

    def to_python(self, value: str | None) -> list[str]:
        """Levanta `ValidationError` com uma frase por linha que não serve."""
        redes: list[str] = []
        problemas: list[ValidationError] = []
        for linha in filter(None, map(str.strip, (value or "").splitlines())):
            try:
                conferir_rede(linha)
                redes.append(linha)
            except ValidationError as erro:
                problemas.append(erro)
        if problemas:
            raise ValidationError(problemas)
        return list(dict.fromkeys(redes))

    def has_changed(self, initial: Iterable[str] | None, data: str | None) -> bool:
        try:
            return self.to_python(data) != list(initial or ())
        except ValidationError:
            return True


class Segredo(forms.CharField):
    """Um segredo que entra e nunca volta: vazio mantém o que há."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}, render_value=False)
        super().__init__(required=False, strip=False, max_length=SEGREDO_CARACTERES, widget=widget, **kwargs)


class FormularioDeIntegracao(forms.ModelForm):
    redes = RedesUmaPorLinha(
        label="Redes permitidas",
        required=False,
        help_text="IPs ou redes, um por linha, exigidos além da prova. Vazio: de qualquer lugar.",
    )
    segredo = Segredo(
        label="Segredo da assinatura", help_text="O do fornecedor. Com ele, um token sozinho não basta."
    )
    senha = Segredo(label="Senha do Basic", help_text="Vale com o usuário acima.")
    apagar_segredo = forms.BooleanField(
        label="Apagar o segredo", required=False, widget=UnfoldBooleanSwitchWidget
    )
    apagar_senha = forms.BooleanField(
        label="Apagar a senha", required=False, widget=UnfoldBooleanSwitchWidget
    )

    class Meta:
        model = Integracao
        fields = (
            "slug",
            "nome",
            "formato",
            "fuso",
            "id_base",
            "id_zeros",
            "id_caixa",
            "janela_espera_s",
            "recibo_do_aparelho",
            "prazo_final_s",
            "usuario",
            "redes",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for nome, coluna in SEGREDOS.items():
            if self.instance.pk is None:
                continue
            ha = bool(getattr(self.instance, coluna))
            situacao = "Já cadastrado; vazio o mantém." if ha else "Não cadastrado."
            self.fields[nome].help_text = f"{situacao} {self.fields[nome].help_text}"

    def clean(self) -> dict[str, Any]:
        limpo = super().clean() or {}
        for nome in SEGREDOS:
            if limpo.get(nome) and limpo.get(f"apagar_{nome}"):
                self.add_error(nome, "Escreva um novo ou apague o que há, não os dois.")
        return limpo

    def colunas_dos_segredos(self) -> dict[str, str]:
        """As colunas cifradas que mudam: o que foi escrito, ou vazio para o que foi apagado."""
        colunas: dict[str, str] = {}
        for nome, coluna in SEGREDOS.items():
            if self.cleaned_data.get(nome):
                colunas[coluna] = cifrar(self.cleaned_data[nome])
            elif self.cleaned_data.get(f"apagar_{nome}"):
                colunas[coluna] = ""
        return colunas


class FormularioDeFinais(forms.Form):
    """Os estados que encerram a história, e por que mudaram."""

    finais = forms.MultipleChoiceField(
        label="Estados que encerram a história",
        choices=[(estado.value, estado.value) for estado in Estado],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        error_messages={"required": "Marque ao menos um: sem finais nenhuma mensagem termina."},
    )
    motivo = forms.CharField(
        label="Motivo",
        min_length=3,
        max_length=500,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Fica com a versão, com o seu nome e a hora.",
        error_messages={"required": "Escreva o motivo: ele fica com a versão."},
    )


class FormularioDeExperimento(forms.Form):
    """Uma chamada colada, para ver o que se leria dela."""

    corpo = forms.CharField(
        label="Corpo",
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 8, "spellcheck": "false"}),
    )
    consulta = forms.CharField(
        label="Consulta",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="O que vem depois do ? no endereço, nos formatos que chamam por GET.",
    )
    cabecalhos = forms.CharField(
        label="Cabeçalhos",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="Um por linha: Content-Type: application/json",
    )
