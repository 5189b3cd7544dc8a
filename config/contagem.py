"""As respostas da porta, contadas por processo e somadas entre os processos web da máquina.

Um 503 não deixa rastro no banco (é a lei: nada guardado, nada contado), e é quando o banco está fora que mais
se quer saber quantos foram. Por isso a conta mora em arquivos mapeados na memória, um por processo (o modo
multiprocesso do prometheus-client): um `kill -9` não a perde, e qualquer processo web mostra a soma de todos. A
pasta leva o número do processo pai, o mesmo para todos os processos de uma web e os que ela repõe: quando a
web inteira recomeça, a conta recomeça do zero, como é de um contador do Prometheus.
"""

import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, Counter, values
from prometheus_client.multiprocess import MultiProcessCollector

RAIZ_DAS_CONTAS = Path(tempfile.gettempdir()) / f"lastro-contas-{os.getuid()}"
PASTA = RAIZ_DAS_CONTAS / str(os.getppid())
# A biblioteca escolhe o modo pela variável, ao ser importada, e quem a importou antes de nós já escolheu por ela.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(PASTA)
values.ValueClass = values.MultiProcessValue()
Enviar = Callable[[dict[str, Any]], Awaitable[None]]

FLUXOS = (("/evento/", "evento"), ("/captura/", "captura"), ("/dlr/", "dlr"), ("/admin", "painel"))
COM_MOTIVO = frozenset({"evento", "captura", "dlr"})
ARQUIVO_BYTES = 65_536  # o tamanho inicial da biblioteca; os rótulos que existem ocupam um décimo
ERRO_CARACTERES = 2_048  # os nossos erros são curtos; o que for maior não traz `codigo`

RESPOSTAS = Counter(
    "lastro_respostas",
    "Respostas HTTP por fluxo, status e, nas recusas, o código que o remetente recebeu.",
    ["fluxo", "status", "codigo"],
    registry=None,
)
_SOMAS: dict[tuple[str, int, str], Callable[[], None]] = {}  # achar a soma pelos rótulos custa mais que somar


def contando(caminho: str, enviar: Enviar) -> Enviar:
    """Devolve um `enviar` que conta a resposta antes de mandar o primeiro pedaço do corpo."""
    fluxo = next((nome for prefixo, nome in FLUXOS if caminho.startswith(prefixo)), "outro")
    status = 0

    async def contar_e_enviar(mensagem: dict[str, Any]) -> None:
        nonlocal status
        if mensagem["type"] == "http.response.start":
            status = mensagem["status"]
        elif status:
            contar(fluxo, status, mensagem.get("body", b""))
            status = 0
        await enviar(mensagem)

    return contar_e_enviar


def contar(fluxo: str, status: int, corpo: bytes) -> None:
    """Soma um à resposta. O disco cheio ou proibido não derruba quem recebe: só deixa de contar."""
    codigo = _ler_codigo(corpo) if status >= 400 and fluxo in COM_MOTIVO else ""
    with suppress(OSError):
        somar = _SOMAS.get((fluxo, status, codigo))
        if somar is None:
            somar = _SOMAS[fluxo, status, codigo] = _abrir_soma(fluxo, str(status), codigo)
        somar()


def ler_respostas() -> CollectorRegistry:
    """A soma de todos os processos web desta máquina, como o Prometheus a lê."""
    registro = CollectorRegistry()
    if PASTA.is_dir():
        MultiProcessCollector(registro, path=str(PASTA))
    return registro


def _ler_codigo(corpo: bytes) -> str:
    """O `codigo` de um erro nosso; vazio se não é um (a resposta que uma transportadora espera, por exemplo)."""
    if len(corpo) > ERRO_CARACTERES:
        return ""
    try:
        erro = orjson.loads(corpo)
    except orjson.JSONDecodeError:
        return ""
    codigo = erro.get("codigo") if isinstance(erro, dict) else None
    return codigo if isinstance(codigo, str) else ""


def _abrir_soma(*rotulos: str) -> Callable[[], None]:
    """O que soma um à conta destes rótulos. Levanta `OSError` se a pasta não pode ser nossa, ou não há espaço."""
    if not PASTA.is_dir():
        _abrir_pasta()
    _reservar_espaco()
    return RESPOSTAS.labels(*rotulos).inc


def _reservar_espaco() -> None:
    """Ocupa os blocos do arquivo deste processo antes de a biblioteca o mapear.

    Ela o cria esparso: com o disco cheio, escrever na memória mapeada mataria a web com SIGBUS, que ninguém apanha.
    """
    if hasattr(os, "posix_fallocate"):  # o macOS não tem
        arquivo = os.open(PASTA / f"counter_{os.getpid()}.db", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            os.posix_fallocate(arquivo, 0, ARQUIVO_BYTES)
        finally:
            os.close(arquivo)


def _abrir_pasta() -> None:
    """Cria a pasta, só do dono, e apaga as de webs que já não existem. Levanta `OSError` se ela não é nossa."""
    RAIZ_DAS_CONTAS.mkdir(mode=0o700, exist_ok=True)
    dono = RAIZ_DAS_CONTAS.lstat()
    if dono.st_uid != os.getuid() or RAIZ_DAS_CONTAS.is_symlink():
        raise PermissionError(f"{RAIZ_DAS_CONTAS} é de outro usuário")
    for pasta in RAIZ_DAS_CONTAS.iterdir():
        if pasta.name.isdigit() and not _vive(int(pasta.name)):
            shutil.rmtree(pasta, ignore_errors=True)
    PASTA.mkdir(mode=0o700, exist_ok=True)


def _vive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
