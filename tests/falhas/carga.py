"""Lotes simples e contas: o que os testes desta pasta mandam e como conferem o que ficou."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.caos.envio import Resposta, SemResposta, postar
from tests.caos.fluxo_eventos import contar_pendentes
from tests.caos.lotes import CABECALHOS, Site
from tests.caos.servidor import ServidorLocal, esperar

PRAZO_PARA_ESVAZIAR_S = 30

T = TypeVar("T")

SQL_TOTAIS = """
    SELECT e.linhas, s.eventos, u.eventos, e.erros, s.erros, r.ocorrencias
    FROM (SELECT count(*) AS linhas, count(erro_id) AS erros
            FROM ingestao_evento WHERE aplicativo_id = %(site)s) e,
        (SELECT coalesce(sum(quantidade_eventos), 0)::bigint AS eventos,
                coalesce(sum(quantidade_erros), 0)::bigint AS erros
            FROM ingestao_sessao WHERE aplicativo_id = %(site)s) s,
        (SELECT coalesce(sum(quantidade_eventos), 0)::bigint AS eventos
            FROM ingestao_uso WHERE aplicativo_id = %(site)s) u,
        (SELECT coalesce(sum(quantidade), 0)::bigint AS ocorrencias
            FROM ingestao_erro WHERE aplicativo_id = %(site)s) r
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totais:
    """As contas de um site. Com tudo certo, as três primeiras são iguais, e as três últimas também."""

    linhas: int
    nas_sessoes: int
    no_uso: int
    linhas_de_erro: int
    erros_nas_sessoes: int
    ocorrencias: int


def contas_de(eventos: int, erros: int = 0) -> Totais:
    """As contas de um site com tantos eventos gravados, dos quais tantos são erros."""
    return Totais(
        linhas=eventos,
        nas_sessoes=eventos,
        no_uso=eventos,
        linhas_de_erro=erros,
        erros_nas_sessoes=erros,
        ocorrencias=erros,
    )


def totais(servidor: ServidorLocal, site: Site) -> Totais:
    """As contas do site, direto do banco."""
    with servidor.conectar() as conexao:
        linha = conexao.execute(SQL_TOTAIS, {"site": site.id}).fetchone()
    assert linha is not None
    return Totais(**dict(zip(Totais.__slots__, linha, strict=True)))


def montar(
    site: Site, ids: Sequence[str], *, sessao: str = "s", tipo: str = "CLIQUE", **campos: Any
) -> bytes:
    """O corpo de um lote com um evento por id."""
    fixos = {"tipo": tipo, **campos}
    eventos = [{"evento_id": id_, "mensagem": f"falha {id_}", "texto": id_, **fixos} for id_ in ids]
    return json.dumps(
        {"chave": site.chave, "sessao": {"sessao_externa": sessao}, "eventos": eventos}
    ).encode()


def mandar(servidor: ServidorLocal, corpo: bytes, **opcoes: Any) -> Resposta:
    """Manda um lote numa conexão nova."""
    return postar(servidor.porta, corpo, CABECALHOS, **opcoes)


def mandar_medindo(servidor: ServidorLocal, corpo: bytes, **opcoes: Any) -> tuple[Resposta, float]:
    """A resposta e quanto ela demorou, em segundos."""
    comeco = time.monotonic()
    resposta = mandar(servidor, corpo, **opcoes)
    return resposta, time.monotonic() - comeco


def em_paralelo(acao: Callable[[Any], T], itens: Sequence[Any], *, threads: int) -> list[T]:
    """A ação sobre cada item, em tantas threads; os resultados na ordem dos itens."""
    with ThreadPoolExecutor(threads) as equipe:
        return list(equipe.map(acao, itens))


def ja_esvaziou(servidor: ServidorLocal) -> bool:
    return contar_pendentes(servidor) == 0


def esperar_esvaziar(servidor: ServidorLocal) -> None:
    """Espera a caixa esvaziar sozinha; falha se não esvaziou no prazo."""
    assert esperar(lambda: ja_esvaziou(servidor), PRAZO_PARA_ESVAZIAR_S, passo_s=0.05), (
        f"restam {contar_pendentes(servidor)} lotes\n{servidor.fim_da_saida()}"
    )


class Vigia(threading.Thread):
    """Manda um lote de cada vez enquanto o bloco durar, e guarda o status e a espera de cada um."""

    def __init__(self, servidor: ServidorLocal, site: Site, prefixo: str, intervalo_s: float = 0.05) -> None:
        super().__init__(daemon=True)
        self._servidor, self._site, self._prefixo = servidor, site, prefixo
        self._intervalo_s = intervalo_s
        self._fim = threading.Event()
        self.mandados: list[str] = []
        self.status: list[int | None] = []
        self.esperas_s: list[float] = []

    def run(self) -> None:
        while not self._fim.wait(self._intervalo_s):
            id_ = f"{self._prefixo}{len(self.mandados)}"
            self.mandados.append(id_)
            comeco = time.monotonic()
            try:
                self.status.append(mandar(self._servidor, montar(self._site, [id_])).status)
            except SemResposta:
                self.status.append(None)
            self.esperas_s.append(time.monotonic() - comeco)

    def __enter__(self) -> "Vigia":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._fim.set()
        self.join(30)
