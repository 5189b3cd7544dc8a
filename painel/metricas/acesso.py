"""Quem pode ler as métricas: quem traz o token, ou quem vem de uma rede permitida. Puro."""

import hmac
import ipaddress
from collections.abc import Sequence
from enum import Enum


class Acesso(Enum):
    """O veredito: entra, falta o token (há um cadastrado), ou não é daqui."""

    LIVRE = "livre"
    SEM_TOKEN = "sem_token"
    DE_FORA = "de_fora"


def decidir(*, token: str, autorizacao: str, ip: str, redes: Sequence[str], repassado: bool) -> Acesso:
    """Decide. `repassado` diz que um proxy trouxe a requisição: o IP é o dele, e a rede não prova nada."""
    if token and iguais(autorizacao, f"Bearer {token}"):
        return Acesso.LIVRE
    if not repassado and _da_rede(ip, redes):
        return Acesso.LIVRE
    return Acesso.SEM_TOKEN if token else Acesso.DE_FORA


def iguais(um: str, outro: str) -> bool:
    """Compara em tempo constante."""
    return hmac.compare_digest(um.encode(), outro.encode())


def _da_rede(ip: str, redes: Sequence[str]) -> bool:
    try:
        endereco = ipaddress.ip_address(ip)
    except ValueError:
        return False
    endereco = getattr(endereco, "ipv4_mapped", None) or endereco
    return any(endereco in ipaddress.ip_network(rede, strict=False) for rede in redes)
