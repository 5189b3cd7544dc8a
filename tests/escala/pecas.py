"""PgBouncer, sentinelas e RabbitMQ dos pacotes do sistema, em 127.0.0.1 e numa pasta temporária."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil

from config.embutido.usuario import decidir_usuario
from config.supervisao.processos import montar_lancamento
from tests.caos.servidor import esperar, porta_livre

PRAZO_S = 60
PARAR = 15


@contextmanager
def pasta_alcancavel() -> Iterator[Path]:
    """Pasta temporária que um usuário sem privilégio atravessa."""
    pasta = Path(tempfile.mkdtemp(prefix="lastro-escala-"))
    pasta.chmod(0o755)
    try:
        yield pasta
    finally:
        shutil.rmtree(pasta, ignore_errors=True)


@contextmanager
def processo(
    comando: Sequence[str], saida: Path, *, ambiente: Mapping[str, str] | None = None, identidade=None
) -> Iterator[subprocess.Popen[bytes]]:
    """Um processo que morre, com os filhos, no fim do bloco."""
    programa = shutil.which(comando[0], path=os.environ["PATH"] + ":/usr/sbin")
    assert programa is not None, f"falta instalar {comando[0]}: make escala"
    with saida.open("ab") as arquivo:
        filho = subprocess.Popen(
            montar_lancamento([programa, *comando[1:]], sinal_orfandade=PARAR, identidade=identidade),
            env={**os.environ, **(ambiente or {})},
            stdin=subprocess.DEVNULL,
            stdout=arquivo,
            stderr=arquivo,
            start_new_session=True,
        )
    try:
        yield filho
    finally:
        matar(filho)


def matar(filho: subprocess.Popen[bytes]) -> None:
    """SIGKILL no processo e nos descendentes dele, e espera."""
    if filho.poll() is None:
        descendentes = psutil.Process(filho.pid).children(recursive=True)
        filho.kill()
        for outro in descendentes:
            if outro.is_running():
                outro.kill()
    filho.wait(10)


def ouve(porta: int) -> bool:
    """Diz se alguém atende nesta porta."""
    with socket.socket() as tentativa:
        tentativa.settimeout(1)
        return tentativa.connect_ex(("127.0.0.1", porta)) == 0


@contextmanager
def pgbouncer(pasta: Path, banco_url: str, *, conexoes: int) -> Iterator[str]:
    """Um PgBouncer em modo transação, com `conexoes` ao banco; entrega a URL para usar no lugar da do banco."""
    partes = urlsplit(banco_url)
    soquetes = parse_qs(partes.query)["host"][0]
    porta = porta_livre()
    usuario = decidir_usuario(os.environ, os.geteuid())
    configuracao = pasta / "pgbouncer.ini"
    configuracao.write_text(
        f"[databases]\n* = host={soquetes} user={partes.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {porta}\nunix_socket_dir =\n"
        f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {conexoes}\n"
        f"max_client_conn = 500\nignore_startup_parameters = extra_float_digits,options\n"
    )
    identidade = (usuario.uid, usuario.gid) if usuario else None
    with processo(["pgbouncer", str(configuracao)], pasta / "pgbouncer.log", identidade=identidade):
        assert esperar(lambda: ouve(porta), PRAZO_S), (pasta / "pgbouncer.log").read_text()
        yield f"postgresql://{partes.username}@127.0.0.1:{porta}{partes.path}"


@contextmanager
def redis_vigiado(pasta: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Um mestre, uma réplica e três sentinelas; entrega a REDIS_URL e o processo do mestre."""
    mestre, replica = porta_livre(), porta_livre()
    comum = ["redis-server", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"]
    sentinelas = [porta_livre() for _ in range(3)]
    with (
        processo([*comum, "--port", str(mestre)], pasta / "mestre.log") as processo_do_mestre,
        processo(
            [*comum, "--port", str(replica), "--replicaof", f"127.0.0.1 {mestre}"], pasta / "replica.log"
        ),
        sentinela(pasta, sentinelas[0], mestre),
        sentinela(pasta, sentinelas[1], mestre),
        sentinela(pasta, sentinelas[2], mestre),
    ):
        for porta in (mestre, replica, *sentinelas):
            assert esperar(lambda porta=porta: ouve(porta), PRAZO_S)
        lista = ",".join(f"127.0.0.1:{porta}" for porta in sentinelas)
        yield f"sentinel://{lista}/principal", processo_do_mestre


@contextmanager
def sentinela(pasta: Path, porta: int, mestre: int) -> Iterator[None]:
    """Uma sentinela que declara o mestre caído em 2 s."""
    configuracao = pasta / f"sentinela-{porta}.conf"
    configuracao.write_text(
        f"port {porta}\nbind 127.0.0.1\ndir {pasta}\n"
        f"sentinel monitor principal 127.0.0.1 {mestre} 2\n"
        "sentinel down-after-milliseconds principal 2000\nsentinel failover-timeout principal 5000\n"
    )
    with processo(["redis-server", str(configuracao), "--sentinel"], pasta / f"sentinela-{porta}.log"):
        yield


@contextmanager
def rabbitmq(pasta: Path) -> Iterator[str]:
    """Um nó do RabbitMQ só deste teste; entrega a URL amqp."""
    porta, distribuicao = porta_livre(), porta_livre()
    casa = pasta / "rabbit"
    casa.mkdir()
    ambiente = {
        "HOME": str(casa),
        "RABBITMQ_NODENAME": f"lastro{os.getpid()}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(porta),
        "RABBITMQ_DIST_PORT": str(distribuicao),
        "RABBITMQ_MNESIA_BASE": str(casa / "dados"),
        "RABBITMQ_LOG_BASE": str(casa / "registros"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(casa / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(casa / "rabbitmq"),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(porta_livre()),
    }
    (casa / "plugins").write_text("[].\n")
    programa = max(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
    antes = {outro.pid for outro in psutil.process_iter()}
    try:
        with processo([str(programa)], pasta / "rabbit.log", ambiente=ambiente):
            assert esperar(lambda: ouve(porta), PRAZO_S), (pasta / "rabbit.log").read_text()
            yield f"amqp://guest:guest@127.0.0.1:{porta}//"
    finally:
        for outro in psutil.process_iter(["name", "environ"]):  # o epmd se solta do pai
            if outro.pid not in antes and (outro.info["environ"] or {}).get("HOME") == str(casa):
                outro.kill()
