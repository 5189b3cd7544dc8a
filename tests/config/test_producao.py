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


def test_os_cookies_da_producao_so_andam_por_https_e_nao_se_leem() -> None:
    programa = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
import django
django.setup()
from django.conf import settings as s
print(s.SESSION_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY, s.SESSION_COOKIE_SAMESITE, s.CSRF_COOKIE_SECURE,
      s.CSRF_COOKIE_SAMESITE, s.SESSION_COOKIE_DOMAIN)
from django.test import Client
resposta = Client(headers={"host": "lastro.exemplo.com.br", "x-forwarded-proto": "https"}).get("/admin/login/")
print(resposta["Strict-Transport-Security"])
print(resposta.cookies["csrftoken"].OutputString())
"""
    saida = rodar("-c", programa, LASTRO_ATRAS_DE_PROXY="1")
    flags, hsts, biscoito = saida.stdout.splitlines()
    assert flags == "True True Lax True Lax None", saida.stderr
    assert hsts == "max-age=31536000"
    assert "; Secure" in biscoito and "SameSite=Lax" in biscoito
