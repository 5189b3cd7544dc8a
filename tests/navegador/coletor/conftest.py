"""O coletor numa página de outra origem, com o servidor e o worker de verdade atrás de um proxy roteirizado."""

import fcntl
import secrets
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.caos.servidor import ServidorLocal, esperar
from tests.navegador.coletor.atravessador import Atravessador
from tests.navegador.coletor.site import Site

PASTA_NPM = Path(__file__).parent / "pagina_vue"
INTERVALO_MS = 100  # o padrão são três segundos; os testes não precisam esperar tanto
PRAZO_S = 20
CRIAR = (
    "INSERT INTO ingestao_aplicativo (id, nome, dominios, chave, chave_anterior, politica, emails_de_aviso,"
    " criado_em, deletado) VALUES (%s, 'Loja', '{127.0.0.1}', %s, '', 'SO_AVISAR', '', now(), false)"
)


@pytest.fixture(scope="package")
def npm(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> Path:
    """Os pacotes do `package-lock.json`, conferidos pelo hash. Sem npm, falha.

    Instala uma vez por corrida: o `npm ci` apaga a pasta antes, e outro processo do `-n` pode estar lendo dela.
    """
    instalado = tmp_path_factory.getbasetemp().parent / f"npm-{testrun_uid}"
    with instalado.with_suffix(".trava").open("w") as trava:
        fcntl.flock(trava, fcntl.LOCK_EX)
        if not instalado.exists():
            comando = ["npm", "ci", "--ignore-scripts", "--no-progress"]
            fim = subprocess.run(comando, cwd=PASTA_NPM, capture_output=True, text=True, timeout=120)
            assert fim.returncode == 0, fim.stderr
            instalado.touch()
    return PASTA_NPM


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def atravessador(servidor: ServidorLocal) -> Iterator[Atravessador]:
    with Atravessador(servidor.porta) as atravessador:
        yield atravessador


@pytest.fixture
def chave(servidor: ServidorLocal) -> str:
    """A chave de um aplicativo novo, direto no banco: o comando leva mais de um segundo."""
    nova = f"pk_live_{secrets.token_hex(12)}"
    with servidor.conectar() as conexao:
        conexao.execute(CRIAR, (uuid.uuid4(), nova))
    return nova


@pytest.fixture
def contexto(chromium: Browser) -> Iterator[BrowserContext]:
    contexto = chromium.new_context(viewport={"width": 1000, "height": 700})
    contexto.set_default_timeout(PRAZO_S * 1000)
    yield contexto
    contexto.close()


@pytest.fixture
def gravados(servidor: ServidorLocal, chave: str) -> Callable[..., list[dict[str, Any]]]:
    """Os eventos do aplicativo no banco, na ordem da captura; com `tipo`, só os dele."""

    def consultar(tipo: str = "%") -> list[dict[str, Any]]:
        linhas = servidor.consultar(
            "SELECT row_to_json(e) FROM ingestao_evento e JOIN ingestao_aplicativo a ON a.id = e.aplicativo_id"
            " WHERE a.chave = %s AND e.tipo LIKE %s ORDER BY e.ocorrido_em, length(e.evento_id), e.evento_id",
            (chave, tipo),
        )
        return [linha[0] for linha in linhas]

    return consultar


@pytest.fixture
def ate_gravar(gravados: Callable[..., list[dict[str, Any]]]) -> Callable[..., list[dict[str, Any]]]:
    """Espera haver `quantos` eventos do tipo e devolve-os; falha dizendo o que há."""

    def aguardar(tipo: str, quantos: int = 1) -> list[dict[str, Any]]:
        esperar(lambda: len(gravados(tipo)) >= quantos, PRAZO_S, passo_s=0.1)
        achados = gravados(tipo)
        assert len(achados) == quantos, [(e["tipo"], e["nome"], e["mensagem"]) for e in gravados()]
        return achados

    return aguardar


@pytest.fixture
def etiqueta(atravessador: Atravessador, chave: str) -> Callable[..., str]:
    """O que se cola na página; os argumentos são atributos, com `_` no lugar de `-`."""

    def montar(**atributos: str) -> str:
        todos = {"data_chave": chave, "data_intervalo_ms": str(INTERVALO_MS), **atributos}
        texto = " ".join(f'{nome.replace("_", "-")}="{valor}"' for nome, valor in todos.items())
        return f'<script defer src="http://127.0.0.1:{atravessador.porta}/coletor.js" {texto}></script>'

    return montar


@pytest.fixture
def abrir(site: Site, contexto: BrowserContext, etiqueta: Callable[..., str]) -> Callable[..., Page]:
    """Publica a página com o coletor e a abre; devolve-a com o coletor de pé.

    `corpo` é o HTML do body; `antes`, um script que roda antes do coletor; o resto são atributos da etiqueta.
    """

    def abrir(corpo: str = "", *, antes: str = "", caminho: str = "/loja", **atributos: str) -> Page:
        cabeca = f"<script>{antes}</script>" if antes else ""
        url = site.por(
            caminho,
            f"<!doctype html><meta charset=utf-8><title>Loja</title>{cabeca}{etiqueta(**atributos)}{corpo}",
        )
        pagina = contexto.new_page()
        pagina.goto(url)
        pagina.wait_for_function("window.lastro")
        return pagina

    return abrir
