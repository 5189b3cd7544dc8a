"""O segundo fator de quem entra no painel: o aplicativo autenticador e os códigos de recuperação.

São as tabelas do django-otp, com uma diferença: o banco sozinho não basta para gerar um código. O que
fica guardado só vira segredo (ou código conferido) junto da `LASTRO_SEGREDO`; trocá-la desfaz os
segundos fatores, e `manage.py remover_segundo_fator` deixa a pessoa entrar e ativar outro.
"""

import secrets

from django.db import transaction
from django.utils.crypto import salted_hmac
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

SEGREDO_BYTES = 20  # RFC 4226, 4: 160 bits, o que os aplicativos autenticadores esperam
CODIGOS = 10
CODIGO_CARACTERES = 10  # 50 bits de acaso: com a espera entre erros, adivinhar não é uma opção
_ALFABETO = "abcdefghjkmnpqrstuvwxyz23456789"  # sem i, l, o, 0 e 1, que se confundem no papel
_RESUMO_CARACTERES = 16  # o que cabe na coluna do django-otp


class Autenticador(TOTPDevice):
    """O aplicativo autenticador. `key` é uma semente: o segredo é o HMAC dela com a chave do servidor."""

    class Meta:
        proxy = True
        verbose_name = "segundo fator"
        verbose_name_plural = "segundos fatores"
        default_permissions = ()
        permissions = [("remover_segundo_fator", "Pode remover o segundo fator de outra pessoa")]

    @property
    def bin_key(self) -> bytes:
        """O segredo TOTP (RFC 6238), em bytes."""
        return salted_hmac("lastro.segundo_fator.v1", self.key, algorithm="sha256").digest()[:SEGREDO_BYTES]


class CodigosDeRecuperacao(StaticDevice):
    """Os códigos para quem perdeu o aparelho: cada um vale uma vez, e só o resumo fica guardado."""

    class Meta:
        proxy = True
        verbose_name = "códigos de recuperação"
        verbose_name_plural = "códigos de recuperação"
        default_permissions = ()

    @transaction.atomic
    def trocar(self) -> list[str]:
        """Descarta os códigos que havia e devolve `CODIGOS` novos, que não se mostram outra vez."""
        codigos = [_sortear() for _ in range(CODIGOS)]
        self.token_set.all().delete()
        StaticToken.objects.bulk_create(
            StaticToken(device=self, token=_resumir(self.user_id, codigo)) for codigo in codigos
        )
        return codigos

    def verify_token(self, token: str) -> bool:
        """Confere e gasta um código, com ou sem o hífen, em qualquer caixa."""
        return bool(super().verify_token(_resumir(self.user_id, token)))


def _sortear() -> str:
    letras = "".join(secrets.choice(_ALFABETO) for _ in range(CODIGO_CARACTERES))
    return f"{letras[:5]}-{letras[5:]}"


def _resumir(usuario_id: int, codigo: str) -> str:
    limpo = "".join(letra for letra in codigo.lower() if letra.isalnum())
    resumo = salted_hmac("lastro.recuperacao.v1", f"{usuario_id}:{limpo}", algorithm="sha256")
    return resumo.hexdigest()[:_RESUMO_CARACTERES]
