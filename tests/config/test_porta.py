"""A porta ASGI: junta o corpo, limita, e traduz para o Django sem perder nem forjar cabeçalho."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from config import porta as modulo
from config import recebimento
from config.chegada import Chegada, Pedido, Resposta
from config.grupos import Grupos
from config.porta import porta
from config.rotas_diretas import RotaDireta, proteger

Mensagens = list[dict[str, Any]]


def visitar(
    caminho: str,
    pedacos: list[bytes | float | None],
    *,
    metodo: str = "POST",
    cabecalhos: list[tuple[bytes, bytes]] | None = None,
) -> Mensagens:
    """Uma visita: cada pedaço é bytes, uma espera em segundos, ou None (desconectou)."""
    fila = list(pedacos)
    enviadas: Mensagens = []

    async def receber() -> dict[str, Any]:
        while fila and isinstance(fila[0], float):
            await asyncio.sleep(fila.pop(0))  # type: ignore[arg-type]
        if not fila:
            await asyncio.sleep(3600)
        pedaco = fila.pop(0)
        if pedaco is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pedaco, "more_body": bool(fila)}

    async def enviar(mensagem: dict[str, Any]) -> None:
        enviadas.append(mensagem)

    escopo = {
        "type": "http",
        "method": metodo,
        "path": caminho,
        "query_string": b"a=1",
        "headers": cabecalhos or [],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 5),
        "scheme": "http",
        "http_version": "1.1",
    }
    asyncio.run(porta(escopo, receber, enviar))
    return enviadas


def rota(
    caminho: str,
    atender: Callable[..., Any] = lambda pedidos: [Resposta(status=202)] * len(pedidos),
    *,
    metodos: tuple[str, ...] = ("POST",),
    contar_recusa: Callable[..., Any] = lambda *recusa: None,
    cors: bool = True,
) -> RotaDireta:
    """Uma rota direta com teto de 1 MiB."""
    protegido = proteger(atender)
    return RotaDireta(
        caminho=re.compile(caminho),
        metodos=frozenset(metodos),
        atender=protegido,
        contar_recusa=contar_recusa,
        teto_bytes=1024 * 1024,
        cors=cors,
        grupos=Grupos(protegido, "teste"),
    )


@pytest.fixture
def django_de_mentira(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """No lugar do Django, um WSGI que anota o ambiente e devolve o tamanho do corpo."""
    vistos: list[dict[str, Any]] = []

    class Resposta:
        streaming = False
        content = b"ok"

        def close(self) -> None:
            vistos[-1]["fechada"] = True

    def aplicacao(ambiente: dict[str, Any], iniciar: Callable[..., Any]) -> Resposta:
        vistos.append({**ambiente, "corpo": ambiente["wsgi.input"].read()})
        iniciar("202 Accepted", [("Content-Type", "text/plain")])
        return Resposta()

    monkeypatch.setattr(modulo, "_django", aplicacao)
    monkeypatch.setattr(modulo, "_DIRETAS", [rota("/outra"), rota("/evento/ingestao", metodos=())])
    return vistos


def test_corpo_em_pedacos_chega_inteiro_ao_django(django_de_mentira: list[dict[str, Any]]) -> None:
    enviadas = visitar("/evento/ingestao", [b"um", b"", b"dois"])
    assert [m.get("status", m.get("body")) for m in enviadas] == [202, b"ok"]
    (visto,) = django_de_mentira
    assert (visto["corpo"], visto["CONTENT_LENGTH"], visto["fechada"]) == (b"umdois", "6", True)


@pytest.mark.parametrize(
    ("mandado", "chega"),
    [
        ("application/json; charset=bz2_codec", "application/json"),
        ("text/plain;charset=UTF-8", "text/plain"),
        ('text/plain; Charset="utf-7"; format=flowed', "text/plain; format=flowed"),
        ("multipart/form-data; boundary=a; charset=idna", "multipart/form-data; boundary=a"),
        ("application/json", "application/json"),
    ],
)
def test_o_remetente_nao_escolhe_o_codec_com_que_o_django_le(
    django_de_mentira: list[dict[str, Any]], mandado: str, chega: str
) -> None:
    visitar("/evento/ingestao", [b"{}"], cabecalhos=[(b"content-type", mandado.encode())])
    assert django_de_mentira[0]["CONTENT_TYPE"] == chega


def test_corpo_alem_do_teto_chega_com_um_byte_a_mais_e_nada_alem(
    django_de_mentira: list[dict[str, Any]],
) -> None:
    megabyte = 1024 * 1024
    visitar("/evento/ingestao", [b"x" * megabyte] * 5)
    assert len(django_de_mentira[0]["corpo"]) == megabyte + 1


def test_quem_desiste_no_meio_nao_chega_ao_django_e_tem_resposta(
    django_de_mentira: list[dict[str, Any]],
) -> None:
    comeco, corpo = visitar("/evento/ingestao", [b'{"chave"', None])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (400, "corpo_incompleto")
    assert django_de_mentira == []


def test_memoria_de_corpos_e_limitada_e_devolvida(
    django_de_mentira: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recebimento.GERAL, "maximo_bytes", 10)
    monkeypatch.setattr(recebimento, "PEQUENO_BYTES", 4)
    for _ in range(3):
        assert visitar("/evento/ingestao", [b"x" * 10])[0]["status"] == 202
    comeco, corpo = visitar("/evento/ingestao", [b"x" * 6, b"x" * 5])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (503, "porta_cheia")
    assert recebimento.GERAL.usados_bytes == 0
    monkeypatch.setattr(recebimento.GERAL, "maximo_bytes", 0)
    assert visitar("/evento/ingestao", [b"x" * 4])[0]["status"] == 202, "os pequenos passam sempre"


def test_django_que_nao_volta_e_503_no_prazo(monkeypatch: pytest.MonkeyPatch) -> None:
    solta = threading.Event()
    monkeypatch.setattr(modulo, "PRAZO_DA_RESPOSTA_S", 0.05)
    monkeypatch.setattr(modulo, "_DIRETAS", [])
    monkeypatch.setattr(modulo, "_rodar_django", lambda ambiente: solta.wait(5))
    comeco, corpo = visitar("/evento/ingestao", [b"{}"])
    solta.set()
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (503, "armazenamento_lento")


def test_django_que_quebra_antes_da_view_e_500_na_forma(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def quebrar(ambiente: dict[str, Any], iniciar: Callable[..., Any]) -> None:
        raise LookupError("codec")

    monkeypatch.setattr(modulo, "_DIRETAS", [])
    monkeypatch.setattr(modulo, "_django", quebrar)
    comeco, corpo = visitar("/evento/ingestao", [b"{}"])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (500, "erro_interno")
    assert [linha.message for linha in caplog.records] == ["defeito antes da view"]


def test_quem_se_cala_leva_408(
    django_de_mentira: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recebimento, "SILENCIO_MAXIMO_S", 0.05)
    comeco, corpo = visitar("/evento/ingestao", [b"{", 1.0, b"}"])
    assert comeco["status"] == 408
    assert orjson.loads(corpo["body"])["codigo"] == "corpo_incompleto"
    assert django_de_mentira == []


def test_quem_pinga_sem_parar_tem_um_prazo_total(
    django_de_mentira: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recebimento, "CORPO_MAXIMO_S", 0.1)
    comeco, _ = visitar("/evento/ingestao", [b"x", 0.04, b"x", 0.04, b"x", 0.04, b"x", 0.04, b"x"])
    assert comeco["status"] == 408


def test_espera_cheia_e_503_com_retry_after(
    django_de_mentira: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modulo, "ESPERA_MAXIMA", 0)
    comeco, corpo = visitar("/evento/ingestao", [b"{}"])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (503, "porta_cheia")
    assert dict(comeco["headers"])[b"retry-after"] == b"5"


def test_cabecalho_com_sublinhado_nao_se_passa_por_outro(django_de_mentira: list[dict[str, Any]]) -> None:
    visitar(
        "/evento/ingestao",
        [b""],
        cabecalhos=[
            (b"origin", b"https://a.com"),
            (b"x_forwarded_proto", b"https"),
            (b"content-length", b"999"),
            (b"cookie", b"a=1"),
            (b"cookie", b"b=2"),
            (b"x-y", b"1"),
            (b"x-y", b"2"),
        ],
    )
    visto = django_de_mentira[0]
    assert "HTTP_X_FORWARDED_PROTO" not in visto
    assert (visto["CONTENT_LENGTH"], visto["HTTP_COOKIE"], visto["HTTP_X_Y"]) == ("0", "a=1; b=2", "1,2")


def test_caminho_com_acento_chega_como_wsgi_pede(django_de_mentira: list[dict[str, Any]]) -> None:
    visitar("/olá", [b""], metodo="GET")
    assert django_de_mentira[0]["PATH_INFO"].encode("latin-1").decode() == "/olá"
    assert django_de_mentira[0]["QUERY_STRING"] == "a=1"


def test_resposta_transmitida_sai_em_pedacos_e_e_fechada(monkeypatch: pytest.MonkeyPatch) -> None:
    fechadas: list[bool] = []

    class Transmitida:
        streaming = True

        def __iter__(self) -> Any:
            return iter([b"a", b"b"])

        def close(self) -> None:
            fechadas.append(True)

    def aplicacao(ambiente: dict[str, Any], iniciar: Callable[..., Any]) -> Transmitida:
        iniciar("200 OK", [])
        return Transmitida()

    monkeypatch.setattr(modulo, "_django", aplicacao)
    enviadas = visitar("/x", [b""], metodo="GET")
    assert [m["body"] for m in enviadas[1:]] == [b"a", b"b", b""]
    assert fechadas == [True]


def test_rota_direta_recebe_a_chegada_inteira_e_responde_com_cors(monkeypatch: pytest.MonkeyPatch) -> None:
    vistas: list[Chegada] = []

    def direta(pedidos: list[Pedido]) -> list[Resposta]:
        vistas.extend(pedido.chegada for pedido in pedidos)
        return [Resposta(status=429, corpo=b"x", espera_s=7)] * len(pedidos)

    monkeypatch.setattr(modulo, "_DIRETAS", [rota(r"/x/(?P<slug>\w+)", direta)])
    cabecalhos = [
        (b"origin", b"https://o"),
        (b"x-y", b"1"),
        (b"x-y", b"2"),
        (b"x_forwarded_proto", b"https"),
    ]
    comeco, corpo = visitar("/x/op", [b"a", b"b"], cabecalhos=cabecalhos)
    assert (comeco["status"], corpo["body"]) == (429, b"x")
    (vista,) = vistas
    assert (vista.metodo, vista.caminho, vista.consulta, vista.corpo) == ("POST", "/x/op", b"a=1", b"ab")
    assert vista.cabecalhos == {"origin": "https://o", "x-y": "1,2"}
    assert (vista.ip, vista.servidor, vista.partes) == ("127.0.0.1", "127.0.0.1", {"slug": "op"})
    saida = dict(comeco["headers"])
    assert saida[b"retry-after"] == b"7"
    assert saida[b"access-control-allow-origin"] == b"*"
    assert saida[b"access-control-expose-headers"] == b"Retry-After"
    monkeypatch.setattr(modulo, "_DIRETAS", [rota("/y", direta, cors=False)])
    comeco, _ = visitar("/y", [b"a"], cabecalhos=cabecalhos)
    assert b"access-control-allow-origin" not in dict(comeco["headers"]), "só a dos sites"


def test_corpo_que_nao_veio_e_contado_e_leva_cors_na_rota_dos_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    contadas: list[tuple[Any, ...]] = []
    direta = rota("/x", contar_recusa=lambda *recusa: contadas.append(recusa))
    monkeypatch.setattr(modulo, "_DIRETAS", [direta])
    comeco, _ = visitar("/x", [b"a", None])
    assert dict(comeco["headers"])[b"access-control-allow-origin"] == b"*"
    assert [recusa[:2] for recusa in contadas] == [(400, "corpo_incompleto")]
    comeco, _ = visitar("/y", [b"a", None])
    assert b"access-control-allow-origin" not in dict(comeco["headers"])
    assert len(contadas) == 1


def test_saude_nao_ocupa_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modulo, "_threads", None)
    comeco, corpo = visitar("/saude", [b""], metodo="GET")
    assert (comeco["status"], orjson.loads(corpo["body"])) == (200, {"situacao": "viva"})


def test_grande_que_espera_demais_pela_vez_leva_503(monkeypatch: pytest.MonkeyPatch) -> None:
    solta = threading.Event()
    monkeypatch.setattr(modulo, "PRAZO_DA_RESPOSTA_S", 0.05)
    monkeypatch.setattr(modulo, "_vez_dos_grandes", asyncio.Semaphore(0))
    monkeypatch.setattr(modulo, "_DIRETAS", [rota("/x", lambda pedidos: solta.wait(5))])
    comeco, corpo = visitar("/x", [b"x" * (recebimento.GRANDE_BYTES + 1)])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (503, "porta_cheia")


def test_defeito_numa_rota_direta_e_500_em_json_sem_traco(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(modulo, "_DIRETAS", [rota("/x", lambda pedidos: 1 / 0)])
    comeco, corpo = visitar("/x", [b""])
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (500, "erro_interno")
    assert b"ZeroDivision" not in corpo["body"]
    assert "defeito numa rota direta" in caplog.text


def test_rota_direta_lenta_e_503_no_prazo(monkeypatch: pytest.MonkeyPatch) -> None:
    solta = threading.Event()
    monkeypatch.setattr(modulo, "PRAZO_DA_RESPOSTA_S", 0.05)
    monkeypatch.setattr(modulo, "_DIRETAS", [rota("/x", lambda pedidos: solta.wait(5))])
    comeco, corpo = visitar("/x", [b"{}"])
    solta.set()
    assert (comeco["status"], orjson.loads(corpo["body"])["codigo"]) == (503, "armazenamento_lento")


def test_ciclo_de_vida_e_respondido() -> None:
    recebidas = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    enviadas: Mensagens = []

    async def receber() -> dict[str, Any]:
        return next(recebidas)

    async def enviar(mensagem: dict[str, Any]) -> None:
        enviadas.append(mensagem)

    rodar: Awaitable[None] = porta({"type": "lifespan"}, receber, enviar)
    asyncio.run(rodar)  # type: ignore[arg-type]
    assert [m["type"] for m in enviadas] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
