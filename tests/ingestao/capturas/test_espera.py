"""O long poll: quinhentos à espera não param a porta, e o pedido chega a quem espera por ele."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson
import pytest
from django.db import connection, connections

from config import porta as modulo
from config.erros import ErroDaApi
from config.porta import porta
from config.rotas_diretas import proteger
from ingestao.capturas import espera
from ingestao.capturas.pedidos import abrir_pedido
from ingestao.models import Captura, Dispositivo, Pedido
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, jpeg

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sem_conexoes_esquecidas(monkeypatch: pytest.MonkeyPatch) -> None:
    """As threads da porta guardam a conexão delas; aqui a devolvem, para o banco de testes poder ser apagado."""

    def fechando(original: Callable[..., Any]) -> Callable[..., Any]:
        def rodar(*argumentos: Any) -> Any:
            try:
                return original(*argumentos)
            finally:
                connections.close_all()

        return rodar

    monkeypatch.setattr(modulo, "_rodar_django", fechando(modulo._rodar_django))
    monkeypatch.setattr(modulo, "proteger", lambda funcao: fechando(proteger(funcao)))
    diretas = [replace(rota, atender=fechando(rota.atender)) for rota in modulo._DIRETAS]
    monkeypatch.setattr(modulo, "_DIRETAS", diretas)


async def visitar(
    caminho: str,
    *,
    consulta: bytes = b"",
    token: str = "",
    partida: asyncio.Event | None = None,
    metodo: str = "GET",
    corpo: bytes = b"",
) -> tuple[int, Any]:
    """Uma visita à porta; `partida` é quando o aparelho desliga. Devolve status e JSON (0 se não respondeu)."""
    mandou = False
    enviadas: list[dict[str, Any]] = []

    async def receber() -> dict[str, Any]:
        nonlocal mandou
        if not mandou:
            mandou = True
            return {"type": "http.request", "body": corpo, "more_body": False}
        await (partida or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def enviar(mensagem: dict[str, Any]) -> None:
        enviadas.append(mensagem)

    escopo = {
        "type": "http",
        "method": metodo,
        "path": caminho,
        "query_string": consulta,
        "headers": [(b"authorization", f"Bearer {token}".encode()), (b"host", b"localhost")],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 5),
        "scheme": "http",
        "http_version": "1.1",
    }
    await porta(escopo, receber, enviar)
    return (enviadas[0]["status"], orjson.loads(enviadas[1]["body"])) if enviadas else (0, None)


def perguntar(aparelho: Aparelho, espera_s: float | str, **mais: Any) -> Any:
    return visitar("/captura/pedidos", consulta=f"espera_s={espera_s}".encode(), token=aparelho.token, **mais)


@pytest.fixture
def sala(monkeypatch: pytest.MonkeyPatch) -> espera.Sala:
    nova = espera.Sala()
    monkeypatch.setattr(espera, "sala", nova)
    monkeypatch.setattr(espera, "INTERVALO_S", 0.1)
    monkeypatch.setattr(modulo, "PRAZO_DA_RESPOSTA_S", 60)  # aqui cada chegada abre e fecha uma conexão
    return nova


async def encher(sala: espera.Sala, quantas: int) -> None:
    """Espera haver tantos na sala; falha se não chegam."""
    async with asyncio.timeout(120):
        while sala._quantas < quantas:
            await asyncio.sleep(0.01)


def test_sem_pedido_responde_vazio_no_fim_da_espera(aparelho: Aparelho, sala: espera.Sala) -> None:
    comeco = time.monotonic()
    status, corpo = asyncio.run(perguntar(aparelho, 0.4))
    assert (status, corpo["pedidos"]) == (200, [])
    assert time.monotonic() - comeco >= 0.4
    assert Dispositivo.objects.get().ultimo_contato_em is not None


def test_pedido_aberto_durante_a_espera_chega_logo_e_so_a_quem_e(
    aparelho: Aparelho, cadastrar: Callable[[str], Aparelho], operador: Any, sala: espera.Sala
) -> None:
    mandado = com_caixa()
    aparelho.postar([mandado], {mandado["id_evento"]: jpeg()})
    captura, vizinho = Captura.objects.get(), cadastrar("Vizinho")

    def abrir() -> Pedido:
        try:
            return abrir_pedido(captura, "Contesto.", operador)
        finally:
            connections.close_all()

    async def rodar() -> tuple[Any, Any, float]:
        espera_dele = asyncio.ensure_future(perguntar(aparelho, 25))
        do_vizinho = asyncio.ensure_future(perguntar(vizinho, 5))
        await encher(sala, 2)
        pedido = await asyncio.to_thread(abrir)
        comeco = time.monotonic()
        _, corpo = await espera_dele
        levou_s = time.monotonic() - comeco
        assert [p["id"] for p in corpo["pedidos"]] == [str(pedido.pk)]
        return corpo, (await do_vizinho)[1], levou_s

    _, do_vizinho, levou_s = asyncio.run(rodar())
    assert do_vizinho["pedidos"] == []
    assert levou_s < 10
    assert (sala._quantas, len(sala._esperas)) == (0, 0)


def test_quinhentos_a_espera_nao_ocupam_threads_nem_perguntam_um_por_um(
    aparelho: Aparelho, sala: espera.Sala, monkeypatch: pytest.MonkeyPatch
) -> None:
    consultas: list[int] = []
    listar = espera._listar
    monkeypatch.setattr(espera, "_listar", lambda ids: consultas.append(len(ids)) or listar(ids))

    async def rodar() -> list[int]:
        partida = asyncio.Event()
        # Numa máquina ocupada, as primeiras esperas não podem vencer antes de as últimas chegarem.
        monkeypatch.setattr(espera, "ESPERA_MAXIMA_S", 600.0)
        esperas = [asyncio.ensure_future(perguntar(aparelho, 600, partida=partida)) for _ in range(500)]
        await encher(sala, 500)
        antes, comeco = len(consultas), time.monotonic()
        pulsos = [
            (await visitar("/captura/pulso", token=aparelho.token, metodo="POST", corpo=b"{}"))[0]
            for _ in range(20)
        ]
        passos = (time.monotonic() - comeco) / espera.INTERVALO_S
        assert len(consultas) - antes <= passos + 2, "uma consulta por intervalo, para todos"
        partida.set()
        assert await asyncio.gather(*esperas) == [(0, None)] * 500, "quem desligou não recebe nada"
        return pulsos

    assert asyncio.run(rodar()) == [200] * 20
    assert (sala._quantas, len(sala._esperas)) == (0, 0)


def test_um_aparelho_com_muitas_esperas_nao_deixa_os_outros_de_fora() -> None:
    """A espera repetida mais antiga cede o lugar, vazia; com um lugar por aparelho, a sala cheia recusa."""
    insistente, outro, terceiro = uuid4(), uuid4(), uuid4()

    async def rodar(*_: Any) -> dict[Any, Any]:
        return {}

    async def encenar() -> None:
        sala = espera.Sala(maximo=2)
        esperas = [asyncio.ensure_future(sala.aguardar(insistente, 60, rodar)) for _ in range(2)]
        await asyncio.sleep(0)
        vizinha = asyncio.ensure_future(sala.aguardar(outro, 60, rodar))
        assert await esperas[0] == []
        with pytest.raises(ErroDaApi) as recusa:
            await sala.aguardar(terceiro, 60, rodar)
        assert recusa.value.codigo == "espera_cheia"
        assert not esperas[1].done() and not vizinha.done()
        for tarefa in (esperas[1], vizinha):
            tarefa.cancel()

    asyncio.run(encenar())


def test_sala_cheia_e_503_com_hora_de_voltar(aparelho: Aparelho, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(espera, "sala", espera.Sala(maximo=0))
    status, corpo = asyncio.run(perguntar(aparelho, 5))
    assert (status, corpo["codigo"]) == (503, "espera_cheia")


@pytest.mark.parametrize("espera_s", ["x", "-1", "nan", ""])
def test_espera_que_nao_e_numero(aparelho: Aparelho, espera_s: str) -> None:
    status, corpo = asyncio.run(perguntar(aparelho, espera_s))
    if espera_s == "":  # o mesmo que não dizer
        assert status == 200
    else:
        assert (status, corpo["codigo"]) == (400, "campo_invalido")
        assert aparelho.perguntar(espera_s).status_code == 400


def test_token_e_conferido_antes_de_esperar(db: None) -> None:
    status, corpo = asyncio.run(perguntar(Aparelho(os.urandom(1), "cap_nada"), 25))  # type: ignore[arg-type]
    assert (status, corpo["codigo"]) == (401, "token_desconhecido")


def test_banco_fora_do_ar_no_fim_da_espera_e_503(
    aparelho: Aparelho, sala: espera.Sala, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(espera, "_listar", lambda ids: None)
    status, corpo = asyncio.run(perguntar(aparelho, 0.5))
    assert (status, corpo["codigo"]) == (503, "armazenamento_indisponivel")


def test_banco_lento_na_chegada_e_503(aparelho: Aparelho, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modulo, "PRAZO_DA_RESPOSTA_S", 0.2)
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE ingestao_dispositivo IN ACCESS EXCLUSIVE MODE")
        try:
            status, corpo = asyncio.run(perguntar(aparelho, 5))
        finally:
            cursor.execute("ROLLBACK")
    assert (status, corpo["codigo"]) == (503, "armazenamento_lento")


def test_por_wsgi_a_espera_e_curta(aparelho: Aparelho) -> None:
    comeco = time.monotonic()
    assert aparelho.perguntar(25).json()["pedidos"] == []
    assert time.monotonic() - comeco < 15
