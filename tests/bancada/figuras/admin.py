"""`admin_10m`: quanto levam as listas do painel com dez milhões de eventos e um milhão de recepções.

O número é a mediana das listas; a nota de cada rodada diz qual foi a mais lenta. A referência são as mesmas
listas com as tabelas quase vazias: a razão é quanto elas sentem o volume.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from statistics import median

from tests.bancada import banco, transportadora
from tests.bancada.acervo_do_painel import encher
from tests.bancada.aplicativos import criar_aplicativos
from tests.bancada.contexto import Bancada
from tests.bancada.entrada import entrar
from tests.bancada.medida import Medida, Rodada
from tests.bancada.servidor import RAIZ, ambiente_do_servidor

UNIDADE = "ms"
EVENTOS = 10_000_000
RECEPCOES = 1_000_000
PARTE_RAPIDA = 100
APLICATIVOS = 20
INTEGRACOES = 3
PRAZO_S = 60
ALVO_MS = 300  # contrato das listas do painel

# O que se abre de cada lista; {aplicativo} e {integracao} são os primeiros do acervo.
LISTAS = (
    "ingestao/aplicativo/",
    "ingestao/sessao/",
    "ingestao/sessao/?aplicativo={aplicativo}",
    "ingestao/sessao/?aplicativo={aplicativo}&periodo=7d",
    "ingestao/sessao/?q=usuario-400",
    "ingestao/evento/",
    "ingestao/evento/?p=200",
    "ingestao/evento/?aplicativo={aplicativo}",
    "ingestao/evento/?aplicativo={aplicativo}&periodo=7d",
    "ingestao/evento/?tipo=CLIQUE",
    "ingestao/evento/?pessoa=usuario-400",
    "ingestao/evento/?q=inexistente&aplicativo={aplicativo}&periodo=7d",
    "ingestao/evento/?q=400-3",
    "ingestao/erro/",
    "ingestao/erro/?ordem=ocorrencias",
    "ingestao/erro/?estado=aberto&aplicativo={aplicativo}",
    "ingestao/uso/",
    "ingestao/recusa/",
    "ingestao/lote/",
    "dlr/excecao/",
    "dlr/excecao/?tipo=conflito_final&integracao={integracao}",
    "dlr/mensagem/",
    "dlr/mensagem/?integracao={integracao}&periodo=7d",
    "dlr/mensagem/?q=id4000",
    "dlr/mensagem/?estado=DELIVERED",
    "dlr/recepcao/",
    "dlr/recepcao/?integracao={integracao}",
    "dlr/eventologico/",
    "dlr/eventologico/?q=id4000",
    "dlr/integracao/",
    "dlr/recepcaopendente/",
)


class ListaNaoAbriu(Exception):
    """Uma lista não respondeu 200: medir o tempo de um erro não diz nada."""


def medir(bancada: Bancada, nome: str) -> Medida:
    """Com as tabelas vazias e depois cheias: a mediana das listas, por rodada."""
    banco.limpar(bancada.banco)  # o que outras figuras deixaram não é o vazio da referência
    transportadora.limpar(bancada.banco)
    aplicativos = [aplicativo.id for aplicativo in criar_aplicativos(bancada.servidor, APLICATIVOS)]
    integracoes = _criar_integracoes(bancada)
    cookie = entrar(bancada.servidor)
    enderecos = [lista.format(aplicativo=aplicativos[0], integracao=integracoes[0]) for lista in LISTAS]
    vazias = [_medir_listas(bancada, cookie, enderecos) for _ in range(bancada.rodadas)]
    parte = PARTE_RAPIDA if bancada.rapida else 1
    encher(
        bancada.banco,
        aplicativos=aplicativos,
        integracoes=integracoes,
        eventos=EVENTOS // parte,
        recepcoes=RECEPCOES // parte,
        avisar=bancada.avisar,
    )
    _medir_listas(bancada, cookie, enderecos)  # traz à memória o que o uso normal manteria nela
    rodadas = []
    for numero, vazia in enumerate(vazias, start=1):
        cheia = _medir_listas(bancada, cookie, enderecos)
        rodada = Rodada(valor=median(cheia.values()), referencia=median(vazia.values()), nota=_anotar(cheia))
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _medir_listas(bancada: Bancada, cookie: str, enderecos: list[str]) -> dict[str, float]:
    """Endereço → ms até o último byte, numa conexão só; levanta `ListaNaoAbriu`."""
    conexao = http.client.HTTPConnection("127.0.0.1", bancada.servidor.porta, timeout=PRAZO_S)
    tempos = {}
    try:
        for endereco in enderecos:
            comeco_s = time.perf_counter()
            conexao.request("GET", f"/admin/{endereco}", headers={"Cookie": f"sessionid={cookie}"})
            resposta = conexao.getresponse()
            resposta.read()
            if resposta.status != 200:
                raise ListaNaoAbriu(f"/admin/{endereco} respondeu {resposta.status}")
            tempos[endereco] = (time.perf_counter() - comeco_s) * 1_000
    finally:
        conexao.close()
    return tempos


def _anotar(tempos: Mapping[str, float]) -> str:
    """A lista mais lenta e quantas passaram do alvo."""
    pior = max(tempos, key=lambda endereco: tempos[endereco])
    passaram = sum(ms > ALVO_MS for ms in tempos.values())
    return f"a mais lenta {pior}, {tempos[pior]:.0f} ms; {passaram} de {len(tempos)} acima de {ALVO_MS} ms"


def _criar_integracoes(bancada: Bancada) -> list[int]:
    ids = []
    for numero in range(INTEGRACOES):
        saida = subprocess.run(
            [
                sys.executable,
                "manage.py",
                "criar_integracao",
                "--slug",
                f"painel-{numero}",
                "--formato",
                "padrao",
            ],
            cwd=RAIZ,
            env=ambiente_do_servidor(bancada.servidor.dados),
            check=True,
            stdout=subprocess.PIPE,
            timeout=PRAZO_S,
        ).stdout
        ids.append(int(json.loads(saida)["id"]))
    return ids
