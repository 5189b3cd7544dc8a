"""O que se faz com um aparelho: criar, trocar o token, desligar. O token volta uma vez e não é guardado."""

from datetime import timedelta

from django.utils import timezone

from ingestao.capturas.autenticacao import gerar_token, resumir_token
from ingestao.models import Dispositivo

CARENCIA_DO_TOKEN_ANTERIOR = timedelta(days=7)  # tempo para levar o token novo ao aparelho, em campo


def criar_dispositivo(nome: str) -> tuple[Dispositivo, str]:
    """Cria um aparelho; devolve-o com o token. Levanta `ValidationError` para um nome que não serve."""
    token = gerar_token()
    dispositivo = Dispositivo(nome=nome.strip(), token_resumo=resumir_token(token))
    dispositivo.full_clean()
    dispositivo.save(force_insert=True)
    return dispositivo, token


def trocar_token(dispositivo: Dispositivo, carencia: timedelta = CARENCIA_DO_TOKEN_ANTERIOR) -> str:
    """Dá um token novo, e o anterior ainda vale pela carência. Um aparelho desligado volta, sem carência."""
    token = gerar_token()
    agora = timezone.now()
    if dispositivo.revogado_em is None:
        dispositivo.token_anterior_resumo = dispositivo.token_resumo
        dispositivo.token_anterior_ate = agora + carencia
    else:
        dispositivo.token_anterior_resumo, dispositivo.token_anterior_ate = "", None
    dispositivo.token_resumo = resumir_token(token)
    dispositivo.revogado_em = None
    dispositivo.save(
        update_fields=["token_resumo", "token_anterior_resumo", "token_anterior_ate", "revogado_em"]
    )
    return token


def revogar(dispositivo: Dispositivo) -> None:
    """Desliga o aparelho: as chamadas dele levam 403 e a fila dele espera. O token anterior também morre."""
    if dispositivo.revogado_em is None:
        dispositivo.revogado_em = timezone.now()
    dispositivo.token_anterior_ate = timezone.now()
    dispositivo.save(update_fields=["revogado_em", "token_anterior_ate"])
