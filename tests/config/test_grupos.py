"""A fila de grupos: quem chega durante um COMMIT segue no seguinte; quem desistiu não é atendido."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from config import grupos
from config.chegada import Chegada, Pedido
from config.grupos import Grupos

PRAZO_S = 20.0


def chegada(corpo: bytes) -> Chegada:
    return Chegada(metodo="POST", caminho="/", consulta=b"", cabecalhos={}, corpo=corpo)


class Comporta:
    """Um atendimento que para no primeiro grupo até ser aberto, e anota os corpos de cada grupo."""

    def __init__(self, responder: Callable[[Sequence[Pedido]], Sequence[Any]] | None = None) -> None:
        self.grupos: list[list[bytes]] = []
        self.entrou, self.aberta = threading.Event(), threading.Event()
        self._responder = responder or (lambda pedidos: [pedido.chegada.corpo for pedido in pedidos])

    def __call__(self, pedidos: Sequence[Pedido]) -> Sequence[Any]:
        self.grupos.append([pedido.chegada.corpo for pedido in pedidos])
        self.entrou.set()
        assert self.aberta.wait(PRAZO_S)
        return self._responder(pedidos)


async def com_o_primeiro_preso(comporta: Comporta, fila: Grupos, corpos: Sequence[bytes]) -> list[Any]:
    """Entrega b"0", espera que ele esteja sendo atendido, entrega os demais e só então abre."""
    tarefas = [asyncio.create_task(fila.entregar(chegada(b"0"), prazo_s=PRAZO_S))]
    assert await asyncio.to_thread(comporta.entrou.wait, PRAZO_S)
    tarefas += [asyncio.create_task(fila.entregar(chegada(corpo), prazo_s=PRAZO_S)) for corpo in corpos]
    await asyncio.sleep(0.05)
    comporta.aberta.set()
    return await asyncio.gather(*tarefas, return_exceptions=True)


def test_quem_chega_durante_um_grupo_segue_junto_no_seguinte_e_na_ordem() -> None:
    comporta = Comporta()
    respostas = asyncio.run(com_o_primeiro_preso(comporta, Grupos(comporta, "t"), [b"1", b"2", b"3"]))
    assert comporta.grupos == [[b"0"], [b"1", b"2", b"3"]]
    assert respostas == [b"0", b"1", b"2", b"3"]


def test_sem_fila_ninguem_espera_por_companhia() -> None:
    comporta = Comporta()
    comporta.aberta.set()
    fila = Grupos(comporta, "t")
    for n in range(3):
        assert asyncio.run(fila.entregar(chegada(b"%d" % n), prazo_s=PRAZO_S)) == b"%d" % n
    assert comporta.grupos == [[b"0"], [b"1"], [b"2"]]


def test_um_grupo_tem_teto_de_pedidos_e_de_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grupos, "PEDIDOS_POR_GRUPO", 3)
    monkeypatch.setattr(grupos, "GRUPO_BYTES", 10)
    comporta = Comporta()
    corpos = [b"a", b"b", b"c", b"d" * 9, b"e" * 9, b"f"]
    asyncio.run(com_o_primeiro_preso(comporta, Grupos(comporta, "t"), corpos))
    assert comporta.grupos == [[b"0"], corpos[:3], corpos[3:5], corpos[5:]]


def test_quem_desiste_na_fila_nunca_e_atendido_e_quem_desiste_no_grupo_e_visto_por_ele() -> None:
    desistencias: list[bool] = []
    comporta = Comporta(lambda pedidos: desistencias.extend(p.desistiu for p in pedidos) or list(pedidos))

    async def roteiro() -> None:
        fila = Grupos(comporta, "t")
        preso = asyncio.create_task(fila.entregar(chegada(b"preso"), prazo_s=0.2))
        assert await asyncio.to_thread(comporta.entrou.wait, PRAZO_S)
        na_fila = asyncio.create_task(fila.entregar(chegada(b"na fila"), prazo_s=0.1))
        paciente = asyncio.create_task(fila.entregar(chegada(b"paciente"), prazo_s=PRAZO_S))
        for impaciente in (preso, na_fila):
            with pytest.raises(TimeoutError):
                await impaciente
        comporta.aberta.set()
        await paciente

    asyncio.run(roteiro())
    assert comporta.grupos == [[b"preso"], [b"paciente"]]
    assert desistencias == [True, False]


@pytest.mark.parametrize(
    "estragado",
    [lambda pedidos: 1 / 0, lambda pedidos: [], lambda pedidos: None],
    ids=["levanta", "curto", "nada"],
)
def test_um_atendimento_com_defeito_falha_para_o_grupo_e_a_fila_continua(estragado: Any) -> None:
    vezes: list[int] = []

    def atender(pedidos: Sequence[Pedido]) -> Any:
        vezes.append(len(pedidos))
        return estragado(pedidos) if len(vezes) == 1 else ["certo"] * len(pedidos)

    async def roteiro() -> list[Any]:
        fila = Grupos(atender, "t")
        primeiro = asyncio.gather(fila.entregar(chegada(b"x"), prazo_s=PRAZO_S), return_exceptions=True)
        return [*await primeiro, await fila.entregar(chegada(b"y"), prazo_s=PRAZO_S)]

    erro, resposta = asyncio.run(roteiro())
    assert isinstance(erro, ZeroDivisionError | RuntimeError | TypeError)
    assert (resposta, vezes) == ("certo", [1, 1])
