"""Aonde um webhook pode ir: só a endereços públicos, e exatamente ao IP que foi conferido.

Quem cadastra a URL não pode usar o servidor para alcançar o que só ele alcança (banco, metadados da nuvem,
rede interna). O nome é resolvido uma vez, todos os endereços dele são conferidos, e a conexão vai a um deles
sem resolver de novo: um DNS que muda de resposta entre as duas não ganha nada.
"""

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

PORTAS = frozenset({80, 443, 8080, 8443})  # as de HTTP; as outras são de bancos, correio e serviços internos
PADRAO = {"http": 80, "https": 443}
URL_CARACTERES = 2_000

IP = ipaddress.IPv4Address | ipaddress.IPv6Address

# Públicos no papel, mas que respondem por dentro ou embrulham outro endereço; `is_global` os deixaria passar.
RECUSADAS = tuple(
    ipaddress.ip_network(rede)
    for rede in (
        "168.63.129.16/32",  # serviço interno do Azure
        "192.0.0.0/24",  # atribuições especiais (RFC 6890); nela ficam os metadados da Oracle
        "192.88.99.0/24",  # 6to4 (RFC 7526, aposentado)
        "2001::/23",  # atribuições especiais, Teredo entre elas
        "2002::/16",  # 6to4: embrulha um IPv4
        "64:ff9b::/32",  # NAT64: embrulha um IPv4
        "3fff::/20",  # documentação (RFC 9637)
        "5f00::/16",  # segment routing (RFC 9602)
        "fec0::/10",  # site-local, aposentado
    )
)


class EnderecoRecusado(Exception):
    """A URL não serve de destino; a frase diz o porquê."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alvo:
    """Uma URL conferida: com quem falar, em que porta, e o que pedir."""

    seguro: bool
    nome: str
    porta: int
    caminho: str


def ler_url(url: str, *, local: bool) -> Alvo:
    """Confere a escrita da URL, sem resolver nome nenhum. Levanta `EnderecoRecusado`.

    `local` libera o endereço da própria máquina, em qualquer porta: só para desenvolver.
    """
    if not url or len(url) > URL_CARACTERES or any(not c.isprintable() or c.isspace() for c in url):
        raise EnderecoRecusado("Escreva uma URL http(s), sem espaços.")
    try:
        partes = urlsplit(url)
        porta = partes.port
    except ValueError as erro:
        raise EnderecoRecusado("Esta URL não se consegue ler.") from erro
    if partes.scheme not in PADRAO:
        raise EnderecoRecusado("Só http ou https.")
    if "@" in partes.netloc:
        raise EnderecoRecusado("Sem usuário e senha na URL: a assinatura é que prova quem manda.")
    nome = _ler_nome(partes.hostname or "")
    porta = PADRAO[partes.scheme] if porta is None else porta
    if porta not in PORTAS and not local:
        raise EnderecoRecusado(f"Porta {porta} não: só {', '.join(map(str, sorted(PORTAS)))}.")
    consulta = f"?{quote(partes.query, safe='/?=&;:@!$()*+,%~-._')}" if partes.query else ""
    caminho = quote(partes.path or "/", safe="/;:@&=+$,!*()%~-._") + consulta
    return Alvo(seguro=partes.scheme == "https", nome=nome, porta=porta, caminho=caminho)


def resolver(alvo: Alvo, *, local: bool) -> str:
    """O IP a que conectar, depois de conferir todos os que o nome tem. Levanta `EnderecoRecusado` ou `OSError`.

    Um só endereço ruim recusa o nome: um serviço legítimo não mistura público e privado.
    """
    achados = socket.getaddrinfo(alvo.nome, alvo.porta, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    ips = list(dict.fromkeys(str(achado[4][0]) for achado in achados))
    for ip in ips:
        conferir_ip(ip, local=local)
    if not ips:
        raise EnderecoRecusado("O nome não tem endereço.")
    return ips[0]


def conferir_ip(texto: str, *, local: bool) -> None:
    """Levanta `EnderecoRecusado` se o endereço não é público (ou, com `local`, o da própria máquina)."""
    ip = ipaddress.ip_address(texto.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if local and ip.is_loopback:
        return
    publico = ip.is_global and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)
    if not publico or "%" in texto or _recusado(ip):
        raise EnderecoRecusado(f"O endereço {ip} não é público: avisos não vão a redes internas.")


def _recusado(ip: IP) -> bool:
    return any(ip.version == rede.version and ip in rede for rede in RECUSADAS)


def _ler_nome(nome: str) -> str:
    """O nome em ASCII (IDNA); um IP fica como está."""
    if not nome:
        raise EnderecoRecusado("Falta o nome do servidor na URL.")
    try:
        return nome if ":" in nome else nome.encode("idna").decode("ascii")
    except UnicodeError as erro:
        raise EnderecoRecusado("O nome do servidor não é válido.") from erro
