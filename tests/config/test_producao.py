"""Em modo de produção, `check --deploy` não tem o que dizer, e só o painel exige HTTPS."""

import os
import subprocess
import sys
from pathlib import Path

RAIZ = Path(__file__).resolve().parents[2]
PRODUCAO = {
    "LASTRO_LOCAL": "0",
    "LASTRO_SEGREDO": "k3-Zq8vT1mXw7Rb2Yc6Np9Ls4Hd0Jf5Ga-Ue_Ti%Vo" * 2,
    "LASTRO_HOSPEDEIROS": "lastro.exemplo.com.br",
    "DATABASE_URL": "postgresql:///nenhum",
    "REDIS_URL": "redis://127.0.0.1:1/0",
}


def rodar(*argumentos: str, **ambiente: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argumentos],
        cwd=RAIZ,
        env={**os.environ, **PRODUCAO, **ambiente},
        capture_output=True,
        text=True,
    )


def test_check_deploy_fica_limpo() -> None:
    saida = rodar("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert saida.returncode == 0, saida.stderr
    assert "no issues" in saida.stdout


def test_so_o_painel_e_mandado_para_https() -> None:
    programa = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from django.test import Client
cliente = Client(headers={"host": "lastro.exemplo.com.br"})
for rota in ("/admin/login/", "/saude", "/evento/ingestao"):
    print(cliente.get(rota).status_code)
print(cliente.get("/admin/login/", headers={"x-forwarded-proto": "https"}).status_code)
"""
    assert rodar("-c", programa).stdout.split() == ["301", "200", "405", "301"]
    assert rodar("-c", programa, LASTRO_ATRAS_DE_PROXY="1").stdout.split()[-1] == "200"
