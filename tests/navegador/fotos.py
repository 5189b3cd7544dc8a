"""Fotografa todas as telas do painel com os dados da demonstração, em duas larguras e nos dois temas.

    python -m tests.navegador.fotos --saida /tmp/fotos               # sobe um servidor, enche-o e o encerra no fim
    python -m tests.navegador.fotos --saida /tmp/fotos --url http://127.0.0.1:8000 --senha … --so erro

As telas são achadas seguindo os links do painel: uma foto por forma de endereço, a primeira que aparece.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.caos.servidor import RAIZ, ServidorLocal
from tests.navegador.conftest import ARGUMENTOS_DO_CHROMIUM

LARGURAS = {"largo": (1280, 900), "estreito": (390, 844)}
TEMAS = {"claro": "light", "escuro": "dark"}
SEMENTES = ("/admin/", "/admin/segundo-fator/", "/admin/password_change/", "/admin/nao-existe/")
TELAS_NO_MAXIMO = 150
ALTURA_MAXIMA_PX = 4_000  # mais que isto ninguém olha numa foto
UM_REGISTRO = re.compile(r"/(\d+|[0-9a-f-]{36})(?=/|$)")


def ler_pedido() -> argparse.Namespace:
    leitor = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    leitor.add_argument("--saida", type=Path, required=True)
    leitor.add_argument("--url", default="", help="um servidor já de pé, com a demonstração")
    leitor.add_argument("--usuario", default="admin")
    leitor.add_argument("--senha", default="")
    leitor.add_argument("--so", default="", help="só os endereços que contêm este trecho")
    return leitor.parse_args()


def encher(servidor: ServidorLocal) -> str:
    """Roda a demonstração pequena no servidor; devolve a senha do admin."""
    comando = [sys.executable, "manage.py", "demonstracao", "--usuarios"]
    subprocess.run(comando, cwd=RAIZ, env=servidor.ambiente(), check=True)
    return (servidor.dados / "senha-admin.txt").read_text("utf-8").strip()


def entrar(pagina: Page, url: str, usuario: str, senha: str) -> None:
    """Entra pela tela de login."""
    pagina.goto(f"{url}/admin/login/")
    pagina.fill("input[name=username]", usuario)
    pagina.fill("input[name=password]", senha)
    pagina.click("button[type=submit]")
    pagina.wait_for_url(f"{url}/admin/")


def achar_telas(pagina: Page, url: str) -> Iterator[str]:
    """Os endereços das telas, um por forma, seguindo os links de cada uma."""
    a_ver, vistas = list(SEMENTES), set[str]()
    while a_ver and len(vistas) < TELAS_NO_MAXIMO:
        rota = a_ver.pop(0)
        if (forma := UM_REGISTRO.sub("/N", rota)) in vistas:
            continue
        vistas.add(forma)
        pagina.goto(f"{url}{rota}")
        yield rota
        enderecos = pagina.eval_on_selector_all("a[href]", "links => links.map(a => a.href)")
        partes = [urlsplit(e) for e in enderecos if e.startswith(f"{url}/admin/")]
        a_ver += [p.path for p in partes if "logout" not in p.path and not p.query]


def fotografar(pagina: Page, url: str, rota: str, arquivo: Path) -> None:
    """Uma foto da página inteira, até a altura máxima, depois de os gráficos se desenharem."""
    pagina.goto(f"{url}{rota}", wait_until="load")
    pagina.evaluate("document.querySelectorAll('img[loading=lazy]').forEach(i => { i.loading = 'eager'; })")
    pagina.wait_for_load_state("networkidle")
    altura = min(ALTURA_MAXIMA_PX, pagina.evaluate("document.documentElement.scrollHeight"))
    largura = pagina.viewport_size["width"] if pagina.viewport_size else LARGURAS["largo"][0]
    recorte = {"x": 0, "y": 0, "width": largura, "height": altura}
    pagina.screenshot(path=arquivo, full_page=True, clip=recorte)  # type: ignore[arg-type]


def nomear(rota: str) -> str:
    """O endereço num nome de arquivo."""
    return UM_REGISTRO.sub("/um", rota).strip("/").replace("/", ".") or "raiz"


def abrir(navegador: Browser, largura: str, tema: str, estado: object = None) -> BrowserContext:
    """Uma janela numa largura e num tema; `estado` traz os cookies de quem já entrou."""
    largo, alto = LARGURAS[largura]
    return navegador.new_context(
        viewport={"width": largo, "height": alto},
        color_scheme=TEMAS[tema],  # type: ignore[arg-type]
        locale="pt-BR",
        timezone_id="America/Sao_Paulo",
        storage_state=estado,  # type: ignore[arg-type]
    )


def main() -> None:
    pedido = ler_pedido()
    pedido.saida.mkdir(parents=True, exist_ok=True)
    with ExitStack() as pilha:
        url, senha = pedido.url.rstrip("/"), pedido.senha
        if not url:
            servidor = pilha.enter_context(ServidorLocal())
            url, senha = f"http://127.0.0.1:{servidor.porta}", encher(servidor)
        caminho = shutil.which("chromium") or shutil.which("chromium-browser")
        playwright = pilha.enter_context(sync_playwright())
        navegador = playwright.chromium.launch(executable_path=caminho, args=ARGUMENTOS_DO_CHROMIUM)
        primeira = abrir(navegador, "largo", "claro")
        pagina = primeira.new_page()
        entrar(pagina, url, pedido.usuario, senha)
        telas = [rota for rota in achar_telas(pagina, url) if pedido.so in rota]
        estado = primeira.storage_state()
        for largura in LARGURAS:
            for tema in TEMAS:
                fora = abrir(navegador, largura, tema).new_page()
                fotografar(fora, url, "/admin/login/", pedido.saida / f"admin.login.{largura}.{tema}.png")
                dentro = abrir(navegador, largura, tema, estado).new_page()
                for rota in telas:
                    fotografar(dentro, url, rota, pedido.saida / f"{nomear(rota)}.{largura}.{tema}.png")
                print(f"{largura}, {tema}: {len(telas) + 1} telas em {pedido.saida}", flush=True)


if __name__ == "__main__":
    main()
