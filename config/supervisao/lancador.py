"""Último passo antes de um serviço: larga privilégios, pede para morrer com o pai e vira o programa.

Roda como arquivo (`python -I -S lancador.py PAI SINAL UID GID programa …`) e não importa nada do projeto:
parte em milissegundos e não depende de o usuário sem privilégios conseguir ler o Python, porque ele já
está carregado quando os privilégios caem.
"""

import ctypes  # no topo: depois de largar privilégios o Python pode estar numa pasta que não se alcança
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
SEM_TROCA = "-"  # no lugar de UID e GID: continuar como quem chamou


def largar_privilegios(uid: str, gid: str) -> None:
    """Assume uid e gid, sem grupos suplementares. A ordem importa: sem uid 0 não se troca de grupo."""
    if uid == SEM_TROCA:
        return
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))
    os.umask(0o077)


def morrer_com_o_pai(pai: int, sinal: int) -> None:
    """Pede ao Linux o sinal quando o pai morrer; se já morreu, sai. Em outro sistema não faz nada.

    Depois de largar privilégios, porque trocar de credenciais apaga o pedido.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, sinal, 0, 0, 0)
    if os.getppid() != pai:
        sys.exit(f"o supervisor {pai} morreu antes de o serviço começar")


def principal(argumentos: list[str]) -> None:
    pai, sinal, uid, gid, *comando = argumentos
    largar_privilegios(uid, gid)
    morrer_com_o_pai(int(pai), int(sinal))
    # O Python ignora SIGPIPE e o exec herdaria isso; o programa deve começar com os padrões.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvpe(comando[0], comando, os.environ)
    except OSError as falha:
        sys.exit(f"não foi possível executar {comando[0]}: {falha.strerror}")


if __name__ == "__main__":
    principal(sys.argv[1:])
