"""Uma integração, um jeito de chamar como a transportadora e como quem envia, e um jeito de aplicar a caixa."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from dlr import amarracao, autenticacao, porta
from dlr.dominio.estados import Estado
from dlr.dominio.recibo import Chamada, Item, Recibo
from dlr.formatos import padrao, registro
from dlr.formatos.contrato import Contexto
from dlr.models import EventoLogico, Excecao, Integracao, Mensagem
from dlr.processamento import CAIXA_DE_RECEPCOES
from ingestao.caixa import Balanco


@pytest.fixture(autouse=True)
def porta_limpa() -> Iterator[None]:
    """Nenhum teste herda a integração em cache nem a medida da caixa de outro."""
    esquecer()
    yield
    esquecer()


def esquecer() -> None:
    autenticacao.memoria.esquecer()
    porta.teto._medido_em = float("-inf")
    porta.teto._profundidade = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ligada:
    """Uma integração e o token que só aparece ao criá-la."""

    id: int
    slug: str
    token: str
    url: str

    @property
    def objeto(self) -> Integracao:
        return Integracao.objects.get(pk=self.id)


def criar(slug: str = "op", formato: str = "padrao", *opcoes: str) -> Ligada:
    """Cria pelo comando, como uma pessoa faria."""
    saida = StringIO()
    pares = ("--opcao", *opcoes) if opcoes else ()
    call_command("criar_integracao", "--slug", slug, "--formato", formato, *pares, stdout=saida)
    criada = json.loads(saida.getvalue())
    esquecer()
    return Ligada(id=criada["id"], slug=slug, token=criada["token"], url=criada["url_callback"])


@pytest.fixture
def integracao(db: None) -> Ligada:
    return criar()


Chamar = Callable[..., Any]


@pytest.fixture
def callback(client: Client, integracao: Ligada) -> Chamar:
    """Um callback em JSON (ou um corpo cru), pela porta."""

    def chamar(corpo: Any, *, em: Ligada | None = None, tipo: str = "application/json", **resto: Any) -> Any:
        cru = corpo if isinstance(corpo, bytes) else json.dumps(corpo).encode()
        return client.post((em or integracao).url, cru, content_type=tipo, **resto)

    return chamar


@pytest.fixture
def registrar(client: Client, integracao: Ligada) -> Chamar:
    """Registra mensagens e devolve a resposta."""

    def registrar(*mensagens: Any, em: Ligada | None = None) -> Any:
        return client.post(
            "/dlr/mensagens",
            json.dumps({"mensagens": list(mensagens)}),
            content_type="application/json",
            headers={"authorization": f"Bearer {(em or integracao).token}"},
        )

    return registrar


@pytest.fixture
def processar(db: None) -> Callable[[], Balanco]:
    """Aplica a caixa como a tarefa faria; falha se algo foi adiado ou estacionado."""
    return aplicar_caixa


def aplicar_caixa() -> Balanco:
    balanco = CAIXA_DE_RECEPCOES.esvaziar()
    assert (balanco.adiados, balanco.estacionados) == (0, 0)
    if balanco.seguimentos:
        amarracao.atar_soltos(timezone.now(), ids=balanco.seguimentos)
    return balanco


def enviada(id_interno: str, *ids: str, **campos: Any) -> dict[str, Any]:
    """Uma mensagem aceita, com os ids externos dados."""
    return {
        "id_interno": id_interno,
        "ids_externos": [{"valor": valor} for valor in ids],
        "destino": "+5511999990000",
        "aceita": True,
        **campos,
    }


def recibo(id_externo: str, estado: str, **campos: Any) -> dict[str, Any]:
    """Um recibo no formato padrão."""
    return {"id_externo": id_externo, "estado": estado, **campos}


def estado_de(id_interno: str) -> tuple[str | None, bool, str]:
    """(estado, final, motivo) da projeção."""
    projecao = Mensagem.objects.get(id_interno=id_interno).projecao
    return projecao.estado, projecao.final, projecao.motivo


def em_ordem() -> QuerySet[EventoLogico]:
    """Os eventos lógicos na ordem em que foram recebidos (o id é o da gravação, que é outra)."""
    return EventoLogico.objects.order_by("recepcao_id", "indice")


def abertas() -> list[str]:
    return sorted(Excecao.objects.filter(situacao="aberta").values_list("tipo", flat=True))


@pytest.fixture
def contar_idas(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Todo SQL que vai ao banco, também o do cursor do psycopg, que o Django não conta."""
    idas: list[str] = []
    original = psycopg.Cursor.execute

    def contar(cursor: Any, sql: Any, *args: Any, **kwargs: Any) -> Any:
        idas.append(str(sql))
        return original(cursor, sql, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", contar)
    return idas


def aprender(monkeypatch: pytest.MonkeyPatch) -> None:
    """O leitor de hoje (versão 2) conhece o estado FOO e lê também o texto solto "x1=DELIVERED"."""

    def ler(chamada: Chamada, contexto: Contexto) -> list[Item]:
        if chamada.corpo[:1] == b'"':
            id_externo, _, estado = json.loads(chamada.corpo).partition("=")
            return [Recibo(id_externo=id_externo, estado_bruto=estado, estado=Estado(estado))]
        return [
            replace(item, estado=Estado.REJECTED)
            if isinstance(item, Recibo) and item.estado_bruto == "FOO"
            else item
            for item in padrao.ler(chamada, contexto)
        ]

    monkeypatch.setitem(registro.POR_SLUG, "padrao", replace(padrao.FORMATO, versao=2, ler=ler))
    esquecer()
