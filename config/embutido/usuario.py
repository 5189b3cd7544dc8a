"""Com que usuário do sistema os servidores rodam quando quem chama é root.

O PostgreSQL recusa rodar como root. Em vez de afrouxar permissões até que um usuário comum alcance as
pastas, escolhe-se o usuário aqui e pergunta-se se ele alcança; quem não alcança ganha outra pasta.
"""

import os
import pwd
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

VARIAVEL = "LASTRO_USUARIO_BANCO"
CANDIDATOS = ("postgres", "nobody")


class ErroDeUsuario(Exception):
    """Não há usuário sem privilégios que sirva; a mensagem diz o que fazer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usuario:
    """Usuário do sistema sem privilégios, sempre com entrada em passwd (o initdb a procura)."""

    nome: str
    uid: int
    gid: int


def decidir_usuario(
    ambiente: Mapping[str, str],
    uid_efetivo: int,
    buscar: Callable[[str], pwd.struct_passwd] = pwd.getpwnam,
) -> Usuario | None:
    """Devolve o usuário a adotar, ou None quando já não somos root e se roda como quem chamou.

    Levanta ErroDeUsuario se LASTRO_USUARIO_BANCO não existe ou é root, ou se nenhum candidato existe.
    """
    if uid_efetivo != 0:
        return None
    pedido = ambiente.get(VARIAVEL, "").strip()
    for nome in (pedido,) if pedido else CANDIDATOS:
        try:
            registro = buscar(nome)
        except KeyError:
            continue
        if registro.pw_uid != 0:
            return Usuario(nome=nome, uid=registro.pw_uid, gid=registro.pw_gid)
    tentados = pedido or ", ".join(CANDIDATOS)
    raise ErroDeUsuario(
        f"O PostgreSQL não roda como root e não há usuário comum com este nome: {tentados}. "
        f"Crie um e informe-o em {VARIAVEL}, ou use DATABASE_URL."
    )


def identificar(usuario: Usuario | None) -> tuple[int, int] | None:
    """Devolve (uid, gid) do usuário; None continua None."""
    return None if usuario is None else (usuario.uid, usuario.gid)


def buscar_dono(pasta: Path) -> Usuario | None:
    """Devolve o dono da pasta como Usuario; None se ela não existe, é de root ou de um uid sem nome.

    Pasta já feita manda mais que a preferência: instalar o pacote `postgres` depois da primeira execução
    não pode deixar sem dono os dados criados como `nobody`.
    """
    try:
        registro = pwd.getpwuid(pasta.stat().st_uid)
    except (OSError, KeyError):
        return None
    if registro.pw_uid == 0:
        return None
    return Usuario(nome=registro.pw_name, uid=registro.pw_uid, gid=registro.pw_gid)


def alcanca(
    usuario: Usuario | None,
    caminho: Path,
    ler_estado: Callable[[Path], os.stat_result] = os.stat,
) -> bool:
    """Diz se o usuário atravessa todas as pastas até o caminho, e o próprio caminho (bit de execução).

    None (nós mesmos) alcança sempre. Só o grupo primário conta: é com ele, sem suplementares, que os
    servidores são iniciados. O caminho deve vir resolvido, sem links simbólicos.
    """
    if usuario is None:
        return True
    return all(_atravessa(usuario, ler_estado(passo)) for passo in (caminho, *caminho.parents))


def _atravessa(usuario: Usuario, estado: os.stat_result) -> bool:
    # Como no núcleo: o dono é julgado só pelos bits do dono, o grupo só pelos do grupo.
    if estado.st_uid == usuario.uid:
        return bool(estado.st_mode & stat.S_IXUSR)
    if estado.st_gid == usuario.gid:
        return bool(estado.st_mode & stat.S_IXGRP)
    return bool(estado.st_mode & stat.S_IXOTH)
