"""Uma sessão de administrador no servidor medido, sem passar pela tela de entrada, que limita tentativas.

Roda como programa, dentro do ambiente do servidor, e imprime o cookie.
"""

import subprocess
import sys

from tests.bancada.servidor import RAIZ, Servidor, ambiente_do_servidor

PRAZO_S = 60


def entrar(servidor: Servidor) -> str:
    """O valor do cookie de sessão de um superusuário; levanta `CalledProcessError` se não conseguiu."""
    saida = subprocess.run(
        [sys.executable, "-m", "tests.bancada.entrada"],
        env=ambiente_do_servidor(servidor.dados),
        cwd=RAIZ,
        check=True,
        stdout=subprocess.PIPE,
        timeout=PRAZO_S,
        text=True,
    ).stdout
    return saida.strip()


def _entrar() -> None:
    import django

    django.setup()
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
    from django.contrib.sessions.backends.db import SessionStore

    usuario = get_user_model().objects.filter(is_superuser=True).order_by("pk").first()
    sessao = SessionStore()
    sessao[SESSION_KEY] = str(usuario.pk)
    sessao[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    sessao[HASH_SESSION_KEY] = usuario.get_session_auth_hash()
    sessao.create()
    print(sessao.session_key)


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _entrar()
