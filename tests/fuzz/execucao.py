"""A corrida: os alvos em rodízio, cada um com a sua semente, até o tempo acabar; depois, as contas."""

import re
import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings

from tests.caos.servidor import ServidorLocal
from tests.fuzz.alvos import ALVOS, CRUS, Fabrica, Preparado, Teste
from tests.fuzz.contas import Contas
from tests.fuzz.visitante import Visitante, esta_de_pe

PARAMETRO = re.compile(r"(?:[?&;]|name=\")([A-Za-z_][A-Za-z0-9_]*)(?==|\")")
PARTE_DOS_CRUS = 0.15  # cada pedido cru espera o silêncio da conexão: são poucos por segundo
DEFEITOS_DEMAIS = 12  # daí em diante é o mesmo defeito, ou um servidor caído


@dataclass(slots=True)
class Corrida:
    """O que uma corrida deixou: os defeitos, cada um com o exemplo encolhido, e quanto se pediu."""

    semente: int
    defeitos: list[str] = field(default_factory=list)
    pedidos: int = 0
    crus: int = 0
    voltas: int = 0

    def resumo(self) -> str:
        """Uma linha com a semente e o que aconteceu."""
        return (
            f"semente={self.semente} defeitos={len(self.defeitos)} voltas={self.voltas} "
            f"pedidos={self.pedidos} crus={self.crus}"
        )


def rodar(
    servidor: ServidorLocal,
    *,
    semente: int,
    duracao_s: float,
    dizer: Callable[[str], None],
    alvos: Collection[str] = tuple(ALVOS),
    por_vez: float = 1,
) -> Corrida:
    """Prepara o servidor, corre os alvos, confere as contas, e acaba com os bytes crus. Não levanta pelo que achou.

    `por_vez` encurta cada vez de um alvo; a primeira volta sempre acaba, mesmo que o tempo não dê.
    """
    corrida, visitante = Corrida(semente), Visitante(servidor.porta)
    preparado = explorar(visitante, servidor.rodar_modulo("tests.fuzz.preparo"))
    contas = Contas(servidor, visitante)

    def correr(fabricas: Mapping[str, tuple[Fabrica, int]], parte: float) -> None:
        testes = {
            nome: _ajustar(fabrica(visitante, preparado), max(3, round(exemplos * por_vez)))
            for nome, (fabrica, exemplos) in fabricas.items()
        }
        _rodizio(corrida, visitante, testes, duracao_s * parte, dizer)

    correr({nome: ALVOS[nome] for nome in alvos}, 1 - PARTE_DOS_CRUS)
    corrida.defeitos += contas.conferir()
    correr({"bytes_crus": CRUS}, PARTE_DOS_CRUS)
    if not esta_de_pe(visitante):
        corrida.defeitos.append("o servidor não responde no fim")
    corrida.defeitos += contas.conferir_registro()
    corrida.pedidos, corrida.crus = visitante.total, visitante.cruas
    return corrida


def _rodizio(
    corrida: Corrida,
    visitante: Visitante,
    testes: Mapping[str, Teste],
    duracao_s: float,
    dizer: Callable[[str], None],
) -> None:
    """Os alvos, um depois do outro, até o tempo acabar; cada vez é uma semente, e a primeira volta é inteira."""
    fim = time.monotonic() + duracao_s
    volta = 0
    while (volta == 0 or time.monotonic() < fim) and len(corrida.defeitos) < DEFEITOS_DEMAIS:
        for nome, teste in testes.items():
            if volta and time.monotonic() > fim:
                break
            falha = _correr(teste, f"{corrida.semente}:{volta}:{nome}")
            if falha:
                corrida.defeitos.append(f"{nome} (volta {volta}): {falha}")
                dizer(corrida.defeitos[-1])
        volta += 1
        resta_s = max(0, fim - time.monotonic())
        dizer(f"{resta_s:.0f} s restantes; {visitante.total} pedidos, {visitante.cruas} crus")
    corrida.voltas += volta


def explorar(visitante: Visitante, preparado: dict[str, Any]) -> Preparado:
    """Acrescenta as listas do painel, com os parâmetros que cada uma mostra, e as páginas a que levam."""
    cabecas = {"Cookie": f"sessionid={preparado['sessao']}", "Accept": "text/html"}
    inicio = visitante.pedir("GET", "/admin/", cabecas).corpo.decode()
    listas: dict[str, list[str]] = {}
    paginas: set[str] = set()
    for rota in sorted(set(re.findall(r'href="(/admin/\w+/\w+/)"', inicio))):
        tela = visitante.pedir("GET", rota, cabecas).corpo.decode()
        listas[rota] = sorted(set(PARAMETRO.findall(tela)) - {"csrfmiddlewaretoken"})
        paginas |= set(re.findall(rf'href="({rota}[^"?#]+/)"', tela))
    return {**preparado, "listas": listas, "paginas": sorted(paginas)}


def _ajustar(teste: Teste, exemplos: int) -> Teste:
    return settings(
        max_examples=exemplos,
        deadline=None,
        database=None,  # o que se acha não depende do que outra corrida achou
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(teste)


def _correr(teste: Teste, semente: str) -> str:
    """Roda o teste com a semente; devolve a falha, com o menor exemplo dela, ou vazio."""
    try:
        seed(semente)(teste)()
    except Exception as erro:  # noqa: BLE001 - o defeito é o resultado da corrida, e ela segue
        achados = erro.exceptions if isinstance(erro, ExceptionGroup) else [erro]
        return "\n".join("".join(traceback.format_exception_only(achado)) for achado in achados)
    return ""
