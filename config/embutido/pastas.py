"""Onde os servidores guardam dados, binários e soquetes, sem afrouxar a permissão de pasta alguma.

Na regra, tudo fica em `<dados>`. Quando quem chama é root e o usuário sem privilégios não atravessa o
caminho (uma pasta sob um `/root` 0700, por exemplo), usa-se `/var/lib/lastro/<resumo do caminho>`, e
`<dados>/servidores-em` diz qual é: os dados não mudam de lugar se as permissões mudarem depois.
"""

import contextlib
import hashlib
import logging
import os
import shutil
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from .usuario import Usuario, alcanca, buscar_dono

registro = logging.getLogger(__name__)

RAIZ_SISTEMA = Path("/var/lib/lastro")
RAIZ_SOQUETES = Path("/tmp")  # existe em todo lugar e é curta; a pasta criada nela é 0700
MAX_PASTA_SOQUETE_BYTES = 85  # sun_path tem 104 (macOS) ou 108; sobra para "/.s.PGSQL.5432.lock"
PASTAS_DO_USUARIO = ("postgres", "valkey", "soquetes")
PONTEIRO = "servidores-em"
DONO = "dono"


class ErroDePasta(Exception):
    """Uma pasta não serve e mexer nela sozinho seria arriscado; a mensagem diz o que fazer."""


def resumir(caminho: Path) -> str:
    """Devolve 10 letras que identificam o caminho entre as instalações da máquina."""
    return hashlib.sha256(os.fsencode(caminho)).hexdigest()[:10]


def carimbar(pasta: Path, motivo: str) -> Path:
    """Devolve o nome sob o qual se põe uma pasta de lado: motivo e instante, sem colidir."""
    return pasta.with_name(f"{pasta.name}.{motivo}-{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 1000}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lugar:
    """Onde ficam os dados dos servidores e com que usuário eles rodam (None: o de quem chamou)."""

    base: Path
    usuario: Usuario | None


def escolher_lugar(dados: Path, preferido: Usuario | None) -> Lugar:
    """Devolve o lugar desta instalação; o que já existe manda mais que a preferência de hoje."""
    if preferido is None:
        return Lugar(base=dados, usuario=None)
    ponteiro = dados / PONTEIRO
    if ponteiro.exists():
        base = _conferir_base(dados, Path(ponteiro.read_text("utf-8").strip()))
        return Lugar(base=base, usuario=_dono_da_base(base) or preferido)
    usuario = _dono_da_base(dados) or preferido
    if alcanca(usuario, dados):
        return Lugar(base=dados, usuario=usuario)
    if (dados / "postgres").exists():
        # Outra pasta aqui significaria um banco vazio no lugar do que a pessoa tinha.
        raise ErroDePasta(
            f"os dados estão em {dados}, mas o usuário {usuario.nome} já não atravessa até lá; "
            f"devolva a permissão de travessia (x) às pastas do caminho."
        )
    return Lugar(base=_criar_base(dados, ponteiro), usuario=preferido)


def _dono_da_base(base: Path) -> Usuario | None:
    return next(filter(None, (buscar_dono(base / nome) for nome in PASTAS_DO_USUARIO)), None)


def _criar_base(dados: Path, ponteiro: Path) -> Path:
    _criar_raiz()
    base = RAIZ_SISTEMA / resumir(dados)
    if base.exists():
        # Sem ponteiro, estes dados são de um <dados> que foi apagado: quem apagou espera começar do zero,
        # mas apagar um banco por dedução não é coisa que se faça.
        separada = carimbar(base, "antes")
        base.rename(separada)
        registro.warning("dados de uma pasta já apagada foram separados em %s", separada)
    base.mkdir()
    base.chmod(0o755)
    (base / DONO).write_text(f"{dados}\n", "utf-8")
    ponteiro.write_text(f"{base}\n", "utf-8")
    return base


def _conferir_base(dados: Path, base: Path) -> Path:
    if not (base / DONO).is_file():
        raise ErroDePasta(
            f"{dados / PONTEIRO} diz que os dados dos servidores estão em {base}, que não existe. "
            f"Restaure essa pasta, ou apague o arquivo para começar vazio."
        )
    dono = Path((base / DONO).read_text("utf-8").strip())
    if dono == dados:
        return base
    if (dono / PONTEIRO).exists():
        # Dois <dados> sobre o mesmo banco se derrubariam um ao outro.
        raise ErroDePasta(
            f"{dados} parece cópia de {dono}, que usa os mesmos dados em {base}. "
            f"Apague {dados / PONTEIRO} para que a cópia comece com servidores vazios."
        )
    (base / DONO).write_text(f"{dados}\n", "utf-8")  # a pasta foi movida: os dados vão junto
    return base


def _criar_raiz() -> None:
    with contextlib.suppress(FileExistsError):  # outro processo pode criá-la ao mesmo tempo
        RAIZ_SISTEMA.mkdir(parents=True)
        RAIZ_SISTEMA.chmod(0o755)  # pasta nossa e nova: não depende do umask de quem chamou
    estado = RAIZ_SISTEMA.lstat()
    if not stat.S_ISDIR(estado.st_mode) or estado.st_uid != os.geteuid() or estado.st_mode & 0o022:
        raise ErroDePasta(f"{RAIZ_SISTEMA} deveria ser uma pasta em que só root escreve; corrija ou apague.")


def criar_pasta_privada(pasta: Path, usuario: Usuario | None) -> None:
    """Cria a pasta 0700 do usuário, ou confere que a existente é assim; levanta ErroDePasta se não for."""
    uid = os.geteuid() if usuario is None else usuario.uid
    try:
        pasta.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        if usuario is not None:
            os.chown(pasta, usuario.uid, usuario.gid)
    # lstat: um link plantado por outro em /tmp levaria os soquetes para onde ele quisesse.
    estado = pasta.lstat()
    if not stat.S_ISDIR(estado.st_mode) or estado.st_uid != uid or stat.S_IMODE(estado.st_mode) & 0o077:
        raise ErroDePasta(
            f"{pasta} deveria ser uma pasta 0700 do uid {uid}, mas é de {estado.st_uid} com modo "
            f"{stat.S_IMODE(estado.st_mode):04o}. Se não é de outra pessoa, apague-a e tente de novo."
        )


def preparar_soquetes(base: Path, usuario: Usuario | None) -> Path:
    """Devolve a pasta 0700 dos soquetes: dentro da base, ou curta em /tmp se o caminho passar do limite."""
    pasta = base / "soquetes"
    if len(os.fsencode(pasta)) > MAX_PASTA_SOQUETE_BYTES:
        pasta = RAIZ_SOQUETES / f"lastro-{resumir(base)}"
    criar_pasta_privada(pasta, usuario)
    return pasta


def alcancar_binarios(
    origens: tuple[Path, ...], versao: str, programa: Path, usuario: Usuario | None
) -> Path:
    """Devolve onde o usuário consegue executar o programa, que está sob uma das origens.

    Se não alcança o original, copia as origens uma vez, lado a lado (os programas acham as bibliotecas por
    caminho relativo), para `/var/lib/lastro/binarios-<versao>`.
    """
    programa = programa.resolve()
    if alcanca(usuario, programa):
        return programa
    _criar_raiz()
    raiz_original = origens[0].resolve().parent
    destino = RAIZ_SISTEMA / f"binarios-{versao}"
    if not destino.exists():
        provisorio = RAIZ_SISTEMA / f"{destino.name}.{os.getpid()}"
        shutil.rmtree(provisorio, ignore_errors=True)
        provisorio.mkdir()
        for origem in origens:
            if origem.exists():
                shutil.copytree(origem, provisorio / origem.name, copy_function=_copiar_legivel)
        for pasta in (provisorio, *(p for p in provisorio.rglob("*") if p.is_dir())):
            pasta.chmod(0o755)
        _por_no_lugar(provisorio, destino)
    return destino / programa.relative_to(raiz_original)


def _por_no_lugar(provisorio: Path, destino: Path) -> None:
    try:
        provisorio.rename(destino)
    except OSError:
        if not destino.exists():
            raise
        shutil.rmtree(provisorio)  # outro processo acabou a mesma cópia antes: a dele serve


def _copiar_legivel(origem: str, copia: str) -> str:
    shutil.copyfile(origem, copia)
    executavel = os.stat(origem).st_mode & stat.S_IXUSR
    os.chmod(copia, 0o755 if executavel else 0o644)
    return copia
