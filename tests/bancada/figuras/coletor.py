"""`coletor`: o que o script custa à página, num Chromium de verdade: ao carregar, por evento e para entregar."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median

from playwright.sync_api import CDPSession, Page, sync_playwright

from ingestao.coletor import MINIFICADO, ler_script
from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from tests.bancada import banco
from tests.bancada.contexto import Bancada
from tests.bancada.medida import Medida, Rodada
from tests.bancada.relatorio import formatar
from tests.caos.servidor import esperar

UNIDADE = "ms/evento"
POR_TIPO = 90  # abaixo da rajada de cem por tipo: todos são capturados
AMOSTRAS = 5  # páginas novas por rodada; vale a mediana
ESPERA_DA_ENTREGA_MS = 2_500
TETO_CARGA_MS = 5.0
TETO_EVENTO_MS = 0.2

# Um script embutido roda na hora em que entra no documento: ler, compilar e executar.
CARREGAR = """({codigo, chave, servidor}) => {
    const script = document.createElement('script');
    Object.assign(script.dataset, {chave, servidor, intervaloMs: 1500});
    script.textContent = codigo;
    document.head.append(script);
}"""
PREPARAR = """() => {
    document.body.innerHTML = '<main><div><p>Total</p></div><div><button>Comprar agora</button></div></main>';
    const botao = document.querySelector('button'), erro = new Error('falhou ao salvar o pedido');
    window.provocar = {
        erro: () => dispatchEvent(new ErrorEvent('error', {message: erro.message, error: erro})),
        console: () => console.error('falha ao salvar', {pedido: 1042, itens: ['a', 'b']}),
        clique: () => botao.click(),
    };
}"""
PROVOCAR = "([tipo, quantos]) => { for (let i = 0; i < quantos; i++) provocar[tipo](); }"
TIPOS = ("erro", "console", "clique")


def medir(bancada: Bancada, nome: str) -> Medida:
    """Mede com e sem o coletor, alternando; levanta `AssertionError` acima dos tetos prometidos em docs/coletor.md."""
    rodadas = []
    for numero in range(1, bancada.rodadas + 1):
        with _chromium() as abrir:
            rodada = _medir_rodada(bancada, abrir)
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _medir_rodada(bancada: Bancada, abrir: Callable[[str], Page]) -> Rodada:
    raiz = f"http://127.0.0.1:{bancada.servidor.porta}"
    opcoes = {
        "codigo": MINIFICADO.read_text("utf-8"),
        "chave": CHAVE_DE_DEMONSTRACAO,
        "servidor": f"{raiz}/evento/ingestao",
    }
    cargas_ms, com_ms, sem_ms, entregas_ms = [], [], [], []
    banco.limpar(bancada.banco)
    for _ in range(AMOSTRAS):
        limpa = abrir(f"{raiz}/saude")
        sem_ms.append(_medir_eventos_ms(limpa))
        limpa.close()
        pagina = abrir(f"{raiz}/saude")
        vazia_ms = _medir_ms(pagina, partial(pagina.evaluate, CARREGAR, {**opcoes, "codigo": ";"}))
        cargas_ms.append(_medir_ms(pagina, partial(pagina.evaluate, CARREGAR, opcoes)) - vazia_ms)
        com_ms.append(_medir_eventos_ms(pagina))
        entregas_ms.append(_medir_ms(pagina, partial(pagina.wait_for_timeout, ESPERA_DA_ENTREGA_MS)))
        pagina.close()
    esperar(lambda: _contar(bancada) == AMOSTRAS * POR_TIPO * len(TIPOS), 30, passo_s=0.2)
    assert _contar(bancada) == AMOSTRAS * POR_TIPO * len(TIPOS), "nem todo evento provocado foi gravado"
    carga_ms, por_evento_ms, entrega_ms = median(cargas_ms), median(com_ms), median(entregas_ms)
    assert carga_ms < TETO_CARGA_MS, f"carregar custou {carga_ms:.1f} ms"
    assert por_evento_ms - median(sem_ms) < TETO_EVENTO_MS, f"um evento custou {por_evento_ms:.3f} ms"
    nota = (
        f"carga {formatar(carga_ms)} ms, entrega {formatar(entrega_ms)} ms por {POR_TIPO * len(TIPOS)} eventos, "
        f"{formatar(len(ler_script().comprimido))} bytes com gzip"
    )
    return Rodada(valor=por_evento_ms, referencia=median(sem_ms), nota=nota)


def _contar(bancada: Bancada) -> int:
    sql = "SELECT count(*) FROM ingestao_evento WHERE tipo IN ('ERRO_JS', 'CONSOLE', 'CLIQUE')"
    linha = bancada.banco.execute(sql).fetchone()
    return int(linha[0]) if linha else 0


def _medir_eventos_ms(pagina: Page) -> float:
    """Milissegundos por evento do tipo mais caro."""
    pagina.evaluate(PREPARAR)
    return max(
        _medir_ms(pagina, partial(pagina.evaluate, PROVOCAR, [tipo, POR_TIPO])) / POR_TIPO for tipo in TIPOS
    )


def _medir_ms(pagina: Page, fazer: Callable[[], object]) -> float:
    """CPU da thread principal enquanto `fazer` roda; com a máquina ocupada, o relógio mediria os vizinhos."""
    sessao = pagina.context.new_cdp_session(pagina)
    sessao.send("Performance.enable", {"timeDomain": "threadTicks"})
    antes_s = _ler_tarefas_s(sessao)
    fazer()
    return (_ler_tarefas_s(sessao) - antes_s) * 1e3


def _ler_tarefas_s(sessao: CDPSession) -> float:
    metricas = sessao.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metricas if m["name"] == "TaskDuration"))


@contextmanager
def _chromium() -> Iterator[Callable[[str], Page]]:
    with sync_playwright() as playwright:
        caminho = shutil.which("chromium") or shutil.which("chromium-browser")
        navegador = playwright.chromium.launch(
            executable_path=caminho, args=["--no-sandbox", "--disable-gpu"]
        )

        def abrir(url: str) -> Page:
            """Num contexto novo: sem nada guardado da anterior."""
            pagina = navegador.new_context().new_page()
            pagina.goto(url)
            return pagina

        yield abrir
        navegador.close()
