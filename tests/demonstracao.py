"""A demonstração num servidor de teste: rodar o comando, e as senhas que ele sorteou."""

import subprocess
import sys

from tests.caos.servidor import RAIZ, ServidorLocal

PRAZO_S = 240  # leva 20 s; a máquina pode estar rodando o resto da suíte


def demonstrar(servidor: ServidorLocal, *opcoes: str) -> str:
    """Roda `manage.py demonstracao` ao lado do servidor e devolve o que ele imprimiu."""
    comando = [sys.executable, "manage.py", "demonstracao", *opcoes]
    fim = subprocess.run(
        comando, cwd=RAIZ, env=servidor.ambiente(), capture_output=True, text=True, timeout=PRAZO_S
    )
    assert fim.returncode == 0, fim.stderr
    return fim.stdout


def senha_de(servidor: ServidorLocal, usuario: str) -> str:
    """A senha que o servidor guardou para o usuário."""
    return (servidor.dados / f"senha-{usuario}.txt").read_text("utf-8").strip()
