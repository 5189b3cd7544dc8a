"""O formulário de um aplicativo: os domínios, um por linha."""

from collections.abc import Iterable

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from ingestao.eventos.origem import PadraoInvalido, conferir_padrao
from ingestao.models import Aplicativo


class UmPorLinha(forms.Field):
    """Padrões de domínio, um por linha; devolve-os na forma em que são comparados, sem repetir."""

    widget = UnfoldAdminTextareaWidget(
        attrs={"rows": 5, "spellcheck": "false", "placeholder": "exemplo.com.br"}
    )

    def prepare_value(self, value: str | Iterable[str] | None) -> str | None:
        return value if value is None or isinstance(value, str) else "\n".join(value)

    def to_python(self, value: str | None) -> list[str]:
        """Levanta `ValidationError` com uma frase por linha que não serve."""
        padroes, problemas = [], []
        for linha in filter(None, map(str.strip, (value or "").splitlines())):
            try:
                padroes.append(conferir_padrao(linha))
            except PadraoInvalido as erro:
                problemas.append(ValidationError(str(erro), code="dominio_invalido"))
        if problemas:
            raise ValidationError(problemas)
        return list(dict.fromkeys(padroes))

    def has_changed(self, initial: Iterable[str] | None, data: str | None) -> bool:
        try:
            return self.to_python(data) != list(initial or ())
        except ValidationError:
            return True


class FormularioDeAplicativo(forms.ModelForm):
    dominios = UmPorLinha(
        label="Domínios",
        help_text=(
            "Um por linha. De onde a chave vale: exemplo.com.br, exemplo.com.br:8443 ou "
            "*.exemplo.com.br (os subdomínios, sem a raiz)."
        ),
        error_messages={"required": "Escreva ao menos um domínio: sem ele nenhuma página é aceita."},
    )

    class Meta:
        model = Aplicativo
        fields = ("nome", "dominios", "franquia", "politica", "emails_de_aviso")
