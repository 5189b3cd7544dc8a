"""Conexões de verdade ao mesmo tempo: um reenvio não vira duas linhas, um quadro não se embaralha."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
from django.db import connections

from ingestao.models import AtoDeCaptura, Captura, Pedido, RelatoDeDescarte
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, evento, jpeg
from tests.ingestao.capturas.conftest import contadores

pytestmark = pytest.mark.django_db(transaction=True)

T = TypeVar("T")


def juntos(funcao: Callable[[Any], T], argumentos: Sequence[Any]) -> list[T]:
    """Chama com cada argumento numa thread própria, todas soltas no mesmo instante."""
    largada = threading.Barrier(len(argumentos))

    def correr(argumento: Any) -> T:
        largada.wait(30)
        try:
            return funcao(argumento)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(argumentos)) as threads:
        return list(threads.map(correr, argumentos))


def test_dois_reenvios_ao_mesmo_tempo_dao_uma_linha_e_a_mesma_resposta(aparelho: Aparelho) -> None:
    for rodada in range(5):
        mandados = [com_caixa() for _ in range(10)]
        recortes = {m["id_evento"]: jpeg() for m in mandados}
        ordens = [mandados, mandados[::-1], mandados[5:] + mandados[:5], mandados]

        respostas = juntos(lambda lote, recortes=recortes: aparelho.postar(lote, recortes), ordens)

        acks = [{r["id_evento"]: r for r in resposta.json()["resultados"]} for resposta in respostas]
        assert all(ack == acks[0] for ack in acks)
        assert {r["situacao"] for r in acks[0].values()} == {"gravado"}
        assert Captura.objects.count() == 10 * (rodada + 1)
    somas = contadores(aparelho)
    assert (somas["gravadas"], somas["reenvio_fila"]) == (50, 150)


def test_dois_aparelhos_com_o_mesmo_id_ao_mesmo_tempo(
    aparelho: Aparelho, cadastrar: Callable[[str], Aparelho]
) -> None:
    outro, mandado = cadastrar("Outro"), evento()
    respostas = juntos(lambda quem: quem.postar([mandado]), [aparelho, outro])
    situacoes = Counter(resposta.json()["resultados"][0]["situacao"] for resposta in respostas)
    assert situacoes == {"gravado": 1, "conflito": 1}
    assert Captura.objects.count() == 1


def test_latencias_e_reenvios_cruzados_nao_se_travam(aparelho: Aparelho) -> None:
    mandados = [evento() for _ in range(40)]
    aparelho.postar(mandados)
    latencias = [{"id_evento": m["id_evento"], "ms": 800} for m in mandados]
    lotes = [
        ([{**m, "tentativa": 2} for m in mandados[:20]], latencias[20:]),
        ([{**m, "tentativa": 2} for m in mandados[:19:-1]], latencias[:20]),
        ([evento() for _ in range(5)], latencias[::-1]),
        (mandados[::-1], latencias),
    ]
    respostas = juntos(lambda lote: aparelho.postar(lote[0], latencias=lote[1]), lotes)
    assert {resposta.status_code for resposta in respostas} == {200}
    assert contadores(aparelho)["latencia_ms"] == 40
    assert Captura.objects.filter(latencia_ms=800).count() == 40


def test_o_mesmo_relato_de_descarte_ao_mesmo_tempo_conta_uma_vez(aparelho: Aparelho) -> None:
    juntos(lambda _: aparelho.pulsar(descartados={"teto_de_tentativas": 3}, relato_id="delta-1"), range(6))
    assert contadores(aparelho)["descartados:teto_de_tentativas"] == 3
    assert RelatoDeDescarte.objects.count() == 1


def test_dois_envios_do_mesmo_quadro_um_avanca_e_o_arquivo_sai_inteiro(
    aparelho: Aparelho, contestar: Callable[[bytes], Pedido], deposito: Path
) -> None:
    conteudo = os.urandom(20_000)
    pedido = contestar(conteudo)

    def enviar(_: int) -> Counter[int]:
        status: Counter[int] = Counter()
        offset = 0
        while offset < len(conteudo):
            resposta = aparelho.enviar_pedaco(pedido.pk, offset, conteudo[offset : offset + 2_000])
            status[resposta.status_code] += 1
            offset = int(resposta["Upload-Offset"])
        return status

    total = sum(juntos(enviar, range(4)), Counter())

    assert set(total) <= {204, 409}
    assert total[204] == 10, "cada pedaço entrou uma vez"
    pedido.refresh_from_db()
    assert (deposito / pedido.arquivo).read_bytes() == conteudo
    assert AtoDeCaptura.objects.filter(pedido=pedido, ato="quadro_recebido").count() == 1


def test_dois_operadores_contestam_ao_mesmo_tempo_e_ha_um_pedido(
    aparelho: Aparelho, contestar: Callable[[bytes], Pedido], operador: Any
) -> None:
    from ingestao.capturas.pedidos import AtoRecusado, abrir_pedido, cancelar

    pedido = contestar(b"quadro")
    cancelar(pedido, "Para abrir de novo.", operador)

    def abrir(_: int) -> str:
        try:
            return abrir_pedido(pedido.captura, "Contesto.", operador).situacao
        except AtoRecusado as recusa:
            return recusa.codigo

    assert Counter(juntos(abrir, range(4))) == {"aberto": 1, "pedido_ja_aberto": 3}
