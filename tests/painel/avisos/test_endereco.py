"""Um webhook não alcança o que só o servidor alcança, escreva-se a URL como for."""

import socket
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from painel.avisos import webhook
from painel.avisos.endereco import EnderecoRecusado, conferir_ip, ler_url, resolver
from tests.painel.avisos.conftest import Receptor

RUINS = """
127.0.0.1 127.8.8.8 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 169.254.169.254 169.254.170.2
100.64.0.1 100.100.100.200 168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.7 203.0.113.9 192.88.99.1
224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
::1 :: ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254
fec0::1 ff02::1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2001::1 2001:db8::1 3fff::1 100::1
""".split()


@pytest.mark.parametrize("ip", RUINS)
def test_endereco_que_nao_e_publico_e_recusado(ip: str) -> None:
    with pytest.raises(EnderecoRecusado, match="não é público"):
        conferir_ip(ip, local=False)


@pytest.mark.parametrize("ip", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700::1111"])
def test_endereco_publico_passa(ip: str) -> None:
    conferir_ip(ip, local=False)


@pytest.mark.parametrize("ip", sorted(set(RUINS) - {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"}))
def test_liberar_a_propria_maquina_nao_libera_a_rede(ip: str) -> None:
    with pytest.raises(EnderecoRecusado):
        conferir_ip(ip, local=True)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "exemplo.com.br/x",
        "ftp://exemplo.com.br/",
        "file:///etc/passwd",
        "gopher://exemplo.com.br/",
        "javascript:alert(1)",
        "https://",
        "https:///caminho",
        "https://ana:senha@exemplo.com.br/",
        "https://exemplo.com.br@127.0.0.1/",
        "https://exemplo.com.br:22/",
        "https://exemplo.com.br:6379/",
        "https://exemplo.com.br:0/",
        "https://exemplo.com.br:99999/",
        "https://exemplo.com.br:abc/",
        "https://exemplo.com.br/a b",
        "https://exemplo.com.br/\r\nX-Mau: 1",
        "https://exemplo.com.br/\x00",
        "https://exem\u202eplo.com.br/",
        "https://[::1",
        "https://.exemplo..com.br/",
        "https://exemplo.com.br/" + "a" * 2_000,
    ],
)
def test_url_que_nao_serve_e_recusada_na_escrita(url: str) -> None:
    with pytest.raises(EnderecoRecusado):
        ler_url(url, local=False)


def test_url_boa_vira_alvo_com_o_caminho_escapado() -> None:
    alvo = ler_url("https://Café.exemplo.com.br/olá?x=á&y=1#z", local=False)
    assert (alvo.seguro, alvo.nome, alvo.porta) == (True, "xn--caf-dma.exemplo.com.br", 443)
    assert alvo.caminho == "/ol%C3%A1?x=%C3%A1&y=1"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://localhost/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://0/",
        "http://localhost./",
        "http://LOCALHOST/",
        "http://127.0.0.1./",
        "http://①②⑦.0.0.1/",
        "http://0177.0.0.1/",
        "http://0x7f000001/",
        "http://[::]/",
        "http://[::127.0.0.1]/",
        "http://[0:0:0:0:0:ffff:127.0.0.1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[fe80::1%25lo]/",
        "http://0.0.0.0:8080/",
    ],
)
def test_a_propria_maquina_escrita_de_outro_jeito_e_recusada(url: str) -> None:
    with pytest.raises((EnderecoRecusado, socket.gaierror)):
        resolver(ler_url(url, local=False), local=False)
    resultado = webhook.postar(url, b"{}", {}, local=False)
    assert (resultado.sucesso, resultado.status) == (False, None)


def responder_dns(monkeypatch: pytest.MonkeyPatch, *respostas: list[str]) -> list[str]:
    """Troca o DNS (a rede de fora): a n-ésima pergunta recebe a n-ésima resposta. Devolve os nomes perguntados."""
    fila, perguntas, de_verdade = list(respostas), [], socket.getaddrinfo

    def getaddrinfo(nome: str, porta: int, *args: Any, **kwargs: Any) -> list[Any]:
        if nome[-1].isdigit():  # conectar a um IP também passa por aqui, e não é pergunta nenhuma
            return de_verdade(nome, porta, *args, **kwargs)
        perguntas.append(nome)
        familia = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(familia[":" in ip], socket.SOCK_STREAM, 6, "", (ip, porta)) for ip in fila.pop(0)]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return perguntas


@pytest.mark.parametrize("ips", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["8.8.8.8", "::1"], []])
def test_nome_que_resolve_para_dentro_e_recusado_mesmo_misturado(
    monkeypatch: pytest.MonkeyPatch, ips: list[str]
) -> None:
    conexoes: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: conexoes.append(a))
    responder_dns(monkeypatch, ips)
    resultado = webhook.postar("https://interno.exemplo.com.br/", b"{}", {}, local=False)
    assert (resultado.sucesso, conexoes) == (False, [])


def test_dns_que_muda_de_resposta_nao_ganha_nada(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conexão vai ao IP conferido: a segunda resposta, privada, nem chega a ser pedida."""
    conexoes: list[Any] = []

    def conectar(endereco: Any, timeout: float) -> socket.socket:
        conexoes.append(endereco)
        raise ConnectionRefusedError("fechada")

    perguntas = responder_dns(monkeypatch, ["8.8.8.8"], ["127.0.0.1"])
    monkeypatch.setattr(socket, "create_connection", conectar)
    webhook.postar("http://muda.exemplo.com.br/", b"{}", {}, local=False)
    assert (perguntas, conexoes) == (["muda.exemplo.com.br"], [("8.8.8.8", 80)])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirecionamento_nao_e_seguido(receptor: Receptor, status: int) -> None:
    receptor.respostas.append((status, {"Location": receptor.url + "/outro"}, b""))
    resultado = webhook.postar(receptor.url, b"{}", {}, local=True)
    assert (resultado.sucesso, resultado.status, len(receptor.recebidos)) == (False, status, 1)
    assert "Redirecionamento" in resultado.erro


def test_resposta_hostil_e_cortada_e_limpa(receptor: Receptor) -> None:
    receptor.respostas.append((500, {}, b"\x1b[31m<b>erro</b>\r\n\xff\xe2\x80\xae" + b"x" * 100_000))
    resultado = webhook.postar(receptor.url, b"{}", {}, local=True)
    assert (resultado.status, len(resultado.resposta)) == (500, webhook.TRECHO_CARACTERES)
    assert resultado.resposta.startswith("[31m<b>erro</b> \ufffd xx")


@pytest.fixture
def servir_cru() -> Any:
    """Um soquete que fala o que quiser com quem chegar."""
    soquete = socket.create_server(("127.0.0.1", 0))
    soltar = threading.Event()

    def servir(falar: Callable[[socket.socket, threading.Event], None]) -> str:
        def atender() -> None:
            conexao, _ = soquete.accept()
            with conexao:
                falar(conexao, soltar)

        threading.Thread(target=atender, daemon=True).start()
        return f"http://127.0.0.1:{soquete.getsockname()[1]}/"

    yield servir
    soltar.set()
    soquete.close()


def test_servidor_que_pinga_a_resposta_e_largado_no_prazo(
    servir_cru: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "PRAZO_S", 0.6)

    def pingar(conexao: socket.socket, soltar: threading.Event) -> None:
        conexao.recv(4096)
        conexao.sendall(b"HTTP/1.1 200 OK\r\n")
        while not soltar.wait(0.1):
            try:
                conexao.sendall(b"X-A: b\r\n")
            except OSError:
                return

    resultado = webhook.postar(servir_cru(pingar), b"{}", {}, local=True)
    assert (resultado.sucesso, resultado.status) == (False, None)
    assert resultado.erro


def test_quem_nao_fala_http_e_uma_falha_e_nao_um_defeito(servir_cru: Any) -> None:
    def falar(conexao: socket.socket, soltar: threading.Event) -> None:
        conexao.recv(4096)
        conexao.sendall(b"-ERR unknown command\r\n")

    resultado = webhook.postar(servir_cru(falar), b"{}", {}, local=True)
    assert (resultado.sucesso, resultado.status) == (False, None)


@pytest.mark.parametrize(
    ("nome_no_certificado", "sucesso"), [("gancho.exemplo", True), ("outro.exemplo", False)]
)
def test_https_vai_ao_ip_conferido_e_exige_o_certificado_do_nome(
    receptor: Receptor,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    nome_no_certificado: str,
    sucesso: bool,
) -> None:
    certificado = emitir_certificado(tmp_path, nome_no_certificado)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificado)
    receptor.servidor.socket = tls.wrap_socket(receptor.servidor.socket, server_side=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificado))
    responder_dns(monkeypatch, ["127.0.0.1"])
    url = f"https://gancho.exemplo:{receptor.servidor.server_port}/x"
    resultado = webhook.postar(url, b"{}", {}, local=True)
    assert (resultado.sucesso, len(receptor.recebidos)) == (sucesso, int(sucesso))
    assert ("Certificado recusado" in resultado.erro) != sucesso


def emitir_certificado(pasta: Path, nome: str) -> Path:
    """Um certificado que assina a si mesmo, com a chave, num arquivo PEM."""
    chave = ec.generate_private_key(ec.SECP256R1())
    sujeito = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, nome)])
    agora = datetime.now(UTC)
    certificado = (
        x509.CertificateBuilder(sujeito, sujeito, chave.public_key(), x509.random_serial_number())
        .not_valid_before(agora - timedelta(days=1))
        .not_valid_after(agora + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(nome)]), critical=False)
        .sign(chave, hashes.SHA256())
    )
    arquivo = pasta / "certificado.pem"
    arquivo.write_bytes(
        certificado.public_bytes(Encoding.PEM)
        + chave.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return arquivo


def test_quem_nao_fala_tls_nao_recebe_nada(servir_cru: Any) -> None:
    def falar(conexao: socket.socket, soltar: threading.Event) -> None:
        conexao.recv(4096)
        conexao.sendall(b"nada de TLS")

    url = servir_cru(falar).replace("http:", "https:")
    resultado = webhook.postar(url, b"{}", {}, local=True)
    assert (resultado.sucesso, "SSL" in resultado.erro) == (False, True)
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
