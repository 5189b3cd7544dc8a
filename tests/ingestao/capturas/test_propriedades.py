"""A lei do efeito uma vez só: lotes em qualquer ordem, repetidos e repartidos, terminam nas mesmas linhas."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestao.models import Captura, MedidaDeCaptura
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, evento, jpeg
from tests.ingestao.capturas.conftest import contadores

pytestmark = pytest.mark.django_db

MANDADOS = [evento(), com_caixa(), evento(), com_caixa(), evento()]
RECORTES = {m["id_evento"]: jpeg(semente=n) for n, m in enumerate(MANDADOS) if m["caixa"]}
RUIM = evento(capturado_em="ontem")
LOTES = st.lists(st.lists(st.integers(0, len(MANDADOS)), min_size=1, max_size=8), max_size=8)


def retrato() -> list[tuple[Any, ...]]:
    """O que não pode depender da ordem nem da repetição."""
    return list(
        Captura.objects.order_by("pk").values_list(
            "pk", "seq", "payload", "conteudo_resumo", "recorte_sha256", "caixa_x", "quadro_sha256"
        )
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lotes=LOTES)
def test_qualquer_ordem_e_repeticao_termina_igual(aparelho: Aparelho, lotes: list[list[int]]) -> None:
    Captura.objects.all().delete()
    MedidaDeCaptura.objects.all().delete()
    todos = [*MANDADOS, RUIM]
    acks: dict[str, set[str]] = {}
    for tentativa, lote in enumerate([*lotes, list(range(len(todos)))], 1):
        eventos = [{**todos[n], "tentativa": tentativa} for n in lote]
        resposta = aparelho.postar(eventos, RECORTES).json()
        for resultado in resposta["resultados"]:
            acks.setdefault(resultado["id_evento"], set()).add(str(resultado))

    gravados = retrato()
    assert {str(linha[0]) for linha in gravados} == {m["id_evento"] for m in MANDADOS}
    assert [linha[1] for linha in gravados] == [
        m["seq"] for m in sorted(MANDADOS, key=lambda m: m["id_evento"])
    ]
    assert all(len(acks[m["id_evento"]]) == 1 for m in MANDADOS), "o mesmo ACK, sempre"
    somas = contadores(aparelho)
    chegadas = sum(n < len(MANDADOS) for lote in lotes for n in lote) + len(MANDADOS)
    assert somas["gravadas"] == somas["bytes"] == len(MANDADOS)
    assert somas.get("reenvio_link", 0) + somas.get("reenvio_fila", 0) == chegadas - len(MANDADOS)
