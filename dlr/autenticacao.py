"""Quem está chamando: token, Basic, assinatura do fornecedor e lista de IP; e o Bearer das rotas de quem envia."""

import base64
import binascii
import hmac
import ipaddress
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from config.cofre import SegredoIlegivel, decifrar
from dlr.cofre import resumir_token
from dlr.dominio.recibo import Chamada
from dlr.formatos.contrato import Credencial, iguais
from dlr.integracoes import Elenco
from dlr.leitura import IntegracaoVista
from dlr.models import Integracao

VALIDADE_S = 2.0  # uma mudança na integração vale em segundos


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegracaoNaPorta:
    """O que a porta precisa: a vista, as credenciais decifradas e as redes permitidas."""

    vista: IntegracaoVista
    token_resumo: str
    credencial: Credencial
    redes: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    segredo_ilegivel: bool


class NaoAutentico(Exception):
    """A chamada não prova de quem é. `status` 401 (faltou prova) ou 403 (prova ou origem errada)."""

    def __init__(self, status: int, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.status = status
        self.codigo = codigo
        self.detalhe = detalhe


class _Memoria:
    def __init__(self) -> None:
        self._trava = threading.Lock()
        self._por_slug: dict[str, tuple[float, IntegracaoNaPorta | None]] = {}

    def buscar(self, slug: str) -> tuple[bool, IntegracaoNaPorta | None]:
        with self._trava:
            vence_em, vista = self._por_slug.get(slug, (float("-inf"), None))
        return time.monotonic() < vence_em, vista

    def guardar(self, slug: str, vista: IntegracaoNaPorta | None) -> None:
        with self._trava:
            if len(self._por_slug) > 1_000:  # slugs inventados não crescem na memória
                self._por_slug.clear()
            self._por_slug[slug] = (time.monotonic() + VALIDADE_S, vista)

    def esquecer(self) -> None:
        with self._trava:
            self._por_slug.clear()


memoria = _Memoria()


def buscar_integracao(slug: str) -> IntegracaoNaPorta | None:
    """A integração ativa do slug, com cache de segundos; None se não há."""
    valida, vista = memoria.buscar(slug)
    if not valida:
        integracao = Integracao.objects.filter(slug=slug, deletado=False).first()
        vista = None if integracao is None else _montar(integracao)
        memoria.guardar(slug, vista)
    return vista


def _montar(integracao: Integracao) -> IntegracaoNaPorta:
    ilegivel = False
    try:
        segredo, senha = decifrar(integracao.segredo_cifrado), decifrar(integracao.senha_cifrada)
    except SegredoIlegivel:
        segredo = senha = ""
        ilegivel = True
    return IntegracaoNaPorta(
        vista=Elenco([integracao.pk]).vista(integracao.pk),
        token_resumo=integracao.token_resumo,
        credencial=Credencial(token="", segredo=segredo, usuario=integracao.usuario, senha=senha),
        redes=tuple(ipaddress.ip_network(rede, strict=False) for rede in integracao.redes),
        segredo_ilegivel=ilegivel,
    )


def conferir_callback(
    chamada: Chamada, integracao: IntegracaoNaPorta, *, token_do_caminho: str | None, ip: str, agora: datetime
) -> None:
    """Levanta `NaoAutentico` se a chamada não prova que vem da transportadora.

    A rede, quando configurada, é exigida sempre. Além dela basta uma prova: o token (caminho ou Bearer), o
    Basic, ou a assinatura do fornecedor. Com assinatura configurada (há `segredo`), ela é exigida: um token
    vazado não basta.
    """
    if integracao.redes and not _ip_permitido(ip, integracao):
        raise NaoAutentico(
            403, "origem_nao_permitida", "Este endereço não está entre as redes da integração."
        )
    if integracao.segredo_ilegivel:
        raise NaoAutentico(403, "segredo_ilegivel", "O segredo da integração precisa ser cadastrado de novo.")
    formato = integracao.vista.formato
    if formato.conferir_assinatura is not None and integracao.credencial.segredo:
        confere = formato.conferir_assinatura(chamada, integracao.credencial, agora)
        if confere is None:
            raise NaoAutentico(401, "assinatura_ausente", "Faltou a assinatura do fornecedor.")
        if not confere:
            raise NaoAutentico(403, "assinatura_invalida", "A assinatura do fornecedor não confere.")
        return
    token = token_do_caminho or _bearer(chamada.cabecalhos)
    if token is not None:
        if hmac.compare_digest(resumir_token(token), integracao.token_resumo):
            return
        raise NaoAutentico(403, "token_invalido", "O token não é o desta integração.")
    basico = _basic(chamada.cabecalhos)
    if basico is not None and integracao.credencial.senha:
        if iguais(basico[0], integracao.credencial.usuario) and iguais(
            basico[1], integracao.credencial.senha
        ):
            return
        raise NaoAutentico(403, "basic_invalido", "Usuário ou senha não conferem.")
    raise NaoAutentico(401, "sem_prova", "Faltou o token, o Basic ou a assinatura da integração.")


def buscar_por_bearer(autorizacao: str) -> Integracao | None:
    """A integração ativa dona do `Authorization: Bearer …`, ou None."""
    token = _bearer({"authorization": autorizacao})
    if token is None:
        return None
    return Integracao.objects.filter(token_resumo=resumir_token(token), deletado=False).first()


def _bearer(cabecalhos: Mapping[str, str]) -> str | None:
    esquema, _, valor = cabecalhos.get("authorization", "").partition(" ")
    return valor.strip() or None if esquema.lower() == "bearer" else None


def _basic(cabecalhos: Mapping[str, str]) -> tuple[str, str] | None:
    esquema, _, valor = cabecalhos.get("authorization", "").partition(" ")
    if esquema.lower() != "basic":
        return None
    try:
        usuario, separador, senha = base64.b64decode(valor.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return (usuario, senha) if separador else ("", "")


def _ip_permitido(ip: str, integracao: IntegracaoNaPorta) -> bool:
    try:
        endereco = ipaddress.ip_address(ip)
    except ValueError:
        return False
    mapeado = getattr(endereco, "ipv4_mapped", None)  # um soquete IPv6 mostra assim quem veio por IPv4
    return any((mapeado or endereco) in rede for rede in integracao.redes)
