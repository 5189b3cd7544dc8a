"""Os lotes sorteados que os clientes mandam: eventos de todo tipo, recusas de propósito, gzip, pedaços."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.caos.aplicativos import DOMINIO

TIPOS = (
    *("ERRO_JS", "ERRO_JS", "PROMISE_REJEITADA", "CONSOLE", "CONSOLE", "REQUISICAO", "REQUISICAO", "CLIQUE"),
    *("CLIQUE", "PAGINA", "DESEMPENHO", "IDENTIFICACAO", "PULSO", "PERSONALIZADO"),
)
# Um grande de vez em quando: passa pelo COPY sozinho, e o reenvio dele também.
TAMANHOS = (1, 1, 2, 3, 5, 5, 8, 13, 40) * 4 + (250,)
SESSOES_POR_SITE = 60  # poucas de propósito: clientes diferentes criam e somam as mesmas
CHANCE_DE_RELOGIO_TORTO = 0.05
# Instantes fixos, ou o deslocamento do relógio do site.
HORAS_TORTAS: tuple[str | timedelta, ...] = (
    *(
        timedelta(hours=-1),
        timedelta(hours=1),
        timedelta(days=-20),
        timedelta(days=-400),
        timedelta(days=400),
    ),
    *("1970-01-01T00:00:00+00:00", "2099-12-31T23:59:59+00:00", "ontem"),
)
CABECALHOS = {"Origin": f"https://{DOMINIO}", "Content-Type": "text/plain;charset=UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Um aplicativo criado para a carga."""

    id: str
    chave: str
    franquia: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventoMandado:
    """O que o oráculo precisa lembrar de um evento válido."""

    evento_id: str
    tipo: str
    e_erro: bool
    ocorrido_em: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lote:
    """Uma requisição pronta. `recusa` é (status, código, eventos contados) quando ela inteira não serve."""

    site: Site
    sessao: str
    eventos: tuple[EventoMandado, ...]
    invalidos: Mapping[str, int] = field(default_factory=dict)
    corpo: bytes
    cabecalhos: Mapping[str, str]
    em_pedacos: bool = False
    recusa: tuple[int, str, int] | None = None


class Fabrica:
    """Lotes de um cliente. A mesma semente dá a mesma sequência; só os instantes são os de agora."""

    def __init__(self, semente: str, sites: Sequence[Site]) -> None:
        self._sorteio = Random(semente)
        self._semente = semente
        self._sites = sites
        self._numero = 0

    def lote(self) -> Lote:
        """Um lote que a porta deve aceitar, às vezes com eventos inválidos ou repetidos no meio."""
        site, sessao, crus, mandados = self._sortear()
        invalidos: Counter[str] = Counter()
        if self._sorteio.random() < 0.05:
            crus.append(crus[0])
            mandados.append(mandados[0])
        if self._sorteio.random() < 0.1:
            crus.insert(0, {"evento_id": self._novo_id(), "tipo": "INVENTADO"})
            invalidos["tipo_invalido"] += 1
        if self._sorteio.random() < 0.05:
            crus.append({"tipo": "CLIQUE"})
            invalidos["evento_id_invalido"] += 1
        return self._embalar(site, sessao, crus, mandados, invalidos)

    def par_invertido(self) -> tuple[Lote, Lote]:
        """Dois lotes com os mesmos eventos, em ordens contrárias."""
        site, sessao, crus, mandados = self._sortear()
        return (
            self._embalar(site, sessao, crus, mandados, {}),
            self._embalar(site, sessao, crus[::-1], mandados[::-1], {}),
        )

    def lote_recusado(self) -> Lote:
        """Um lote que a porta deve recusar inteiro, e contar."""
        site, sessao, crus, mandados = self._sortear()
        lote = self._embalar(site, sessao, crus, mandados, {})
        caso = self._sorteio.choice(["chave", "origem", "json", "sessao"])
        quantos = len(crus)
        if caso == "chave":
            outro = Site(id=site.id, chave="pk_live_que_nao_existe", franquia=None)
            lote = self._embalar(outro, sessao, crus, mandados, {})
            return replace(lote, recusa=(401, "chave_desconhecida", quantos))
        if caso == "origem":
            cabecalhos = {**lote.cabecalhos, "Origin": "https://outro.exemplo"}
            return replace(lote, cabecalhos=cabecalhos, recusa=(403, "origem_nao_autorizada", quantos))
        if caso == "sessao":
            lote = self._embalar(site, "", crus, mandados, {})
            return replace(lote, recusa=(400, "sessao_invalida", quantos))
        cabecalhos = {n: v for n, v in lote.cabecalhos.items() if n != "Content-Encoding"}
        return replace(lote, corpo=b'{"chave":', cabecalhos=cabecalhos, recusa=(400, "json_invalido", 0))

    def _sortear(self) -> tuple[Site, str, list[dict[str, Any]], list[EventoMandado]]:
        site = self._sorteio.choice(self._sites)
        sessao = f"sessao-{self._sorteio.randrange(SESSOES_POR_SITE)}"
        crus = [self._evento() for _ in range(self._sorteio.choice(TAMANHOS))]
        mandados = [
            EventoMandado(
                evento_id=c["evento_id"],
                tipo=c["tipo"],
                e_erro=c.pop("e_erro"),
                ocorrido_em=c.get("ocorrido_em"),
            )
            for c in crus
        ]
        return site, sessao, crus, mandados

    def _evento(self) -> dict[str, Any]:
        evento_id, tipo = self._novo_id(), self._sorteio.choice(TIPOS)
        nivel = self._sorteio.choice(["error", "warn"])
        evento: dict[str, Any] = {
            "evento_id": evento_id,
            "tipo": tipo,
            "mensagem": f"falha no botão {self._sorteio.choice('ABCDEFGH')} do pedido {self._numero}",
            "url": f"https://{DOMINIO}/pagina/{self._numero % 50}",
            "texto": evento_id,
            "e_erro": tipo in ("ERRO_JS", "PROMISE_REJEITADA") or (tipo == "CONSOLE" and nivel == "error"),
        }
        if self._sorteio.random() < 0.8:
            evento["ocorrido_em"] = self._sortear_hora()
        if tipo == "CONSOLE":
            evento["nivel"] = nivel
        elif tipo == "IDENTIFICACAO":
            evento["usuario_id"] = f"pessoa-{self._numero}"
        elif tipo == "DESEMPENHO":
            evento |= {"metrica": "CARREGAMENTO", "valor": self._sorteio.randrange(100, 5000)}
        elif tipo == "PERSONALIZADO":
            evento["payload"] = {"itens": list(range(self._sorteio.randrange(20))), "nulo\x00": "\ud83d"}
        return evento

    def _sortear_hora(self) -> str:
        """A hora do navegador: quase sempre certa; às vezes de um relógio torto, no futuro ou no passado."""
        if self._sorteio.random() >= CHANCE_DE_RELOGIO_TORTO:
            return datetime.now(UTC).isoformat()
        torto = self._sorteio.choice(HORAS_TORTAS)
        return torto if isinstance(torto, str) else (datetime.now(UTC) + torto).isoformat()

    def _novo_id(self) -> str:
        self._numero += 1
        return f"{self._semente}:{self._numero}"

    def _embalar(
        self,
        site: Site,
        sessao: str,
        crus: list[dict[str, Any]],
        mandados: list[EventoMandado],
        invalidos: Mapping[str, int],
    ) -> Lote:
        conteudo = {"chave": site.chave, "sessao": {"sessao_externa": sessao}, "eventos": crus}
        corpo = json.dumps(conteudo).encode()
        cabecalhos = dict(CABECALHOS)
        if self._sorteio.random() < 0.2:
            corpo = gzip.compress(corpo, 1)
            cabecalhos["Content-Encoding"] = "gzip"
        return Lote(
            site=site,
            sessao=sessao,
            eventos=tuple(mandados),
            invalidos=dict(invalidos),
            corpo=corpo,
            cabecalhos=cabecalhos,
            em_pedacos=self._sorteio.random() < 0.1,
        )
